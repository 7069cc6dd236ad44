"""What a forecast is asked: items, what acts on them, and the orbits of some of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from symscope.data import (
    Action,
    ElementByElement,
    LabelledData,
    MeasuredData,
    check_action,
    custom_action,
    default_tolerance,
    fixing_elements,
    parse_action,
)
from symscope.errors import InputError
from symscope.forecasting._targets import Targets, group_names, grouped
from symscope.forecasting._task import CLASSIFICATION, REGRESSION, Task
from symscope.groups import FiniteGroup, parse
from symscope.networks import user_error

TRIED = 4  # items on which a user's action is tried
FEWEST = 2  # items of a class: with one there is nothing to say how sure the forecast is


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """Items and what acts on them; made by `as_problem`.

    Attributes:
        data: The items with their classes, or with the groups their numbers put them into.
        action: What acts on them.
        standardised: Whether each point is centred and scaled to a mean square of 1.
        family: Name of the action if finer or coarser groups act in the same way, for example "rotation".
        targets: The numbers to predict; None where classes are asked for.
        names: What the user calls classes 0, 1, ...; None calls them by their numbers.
    """

    data: LabelledData
    action: Action
    standardised: bool
    family: str | None
    targets: Targets | None = None
    names: tuple[str, ...] | None = None

    @property
    def task(self) -> Task:
        """Classes or numbers."""
        return CLASSIFICATION if self.targets is None else REGRESSION

    @property
    def outputs(self) -> int:
        """How many outputs a network needs."""
        return max(self.data.classes) + 1 if self.targets is None else self.targets.values.shape[1]

    @property
    def class_names(self) -> tuple[str, ...]:
        """What tables call the classes, or the groups of numbers."""
        classes = self.data.classes
        if self.targets is not None:
            return group_names(len(classes))
        return tuple(str(label) if self.names is None else self.names[label] for label in classes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one item."""
        return tuple(self.data.x.shape[1:])

    @property
    def group(self) -> FiniteGroup:
        """What acts."""
        return self.action.group

    @property
    def element_names(self) -> tuple[str, ...]:
        """What tables call the elements: angles for rotations, else the group's own names."""
        plain = (self.family or "").partition(":")[0]
        if plain == "rotation" and self.group.cyclic_factors is not None:
            return tuple(f"{360 * k / self.group.order:g}°" for k in self.group.elements)
        return tuple(self.group.labels)

    @property
    def smallest_class(self) -> int:
        """Items in the class that has fewest."""
        return int(self.data.labels.unique(return_counts=True)[1].min())


@final
@dataclass(frozen=True, eq=False)
class Draw:
    """Some items of every class, or of every group of numbers, and their orbits.

    Attributes:
        points: `points[s, g]` is element g on item s, as the network sees it.
        images: The same before standardisation.
        labels: The class or group of each item.
        stabilisers: For each item the elements that keep it; None if only the identity does.
        targets: The numbers of each item; None where classes are asked for.
    """

    points: Float[Tensor, "m n *s"]
    images: Float[Tensor, "m n *s"]
    labels: Int64[Tensor, "m"]
    stabilisers: tuple[Int64[Tensor, "_"], ...] | None
    targets: Targets | None = None

    @property
    def task(self) -> Task:
        """Classes or numbers."""
        return CLASSIFICATION if self.targets is None else REGRESSION

    @property
    def flat(self) -> Float[Tensor, "p *s"]:
        """All points, orbit after orbit."""
        return self.points.flatten(0, 1)

    @property
    def one_hot(self) -> Float[Tensor, "m c"]:
        """The classes of the items as rows of an identity matrix, columns in increasing order of class."""
        return torch.nn.functional.one_hot(self.positions).to(self.points.dtype)

    @property
    def positions(self) -> Int64[Tensor, "m"]:
        """The place of each item's class or group among those that occur."""
        return torch.searchsorted(self.labels.unique(), self.labels)

    @property
    def classes(self) -> int:
        """How many classes or groups occur."""
        return len(self.labels.unique())

    @property
    def outputs(self) -> Float[Tensor, "m c"]:
        """What a perfect network says of each item: `one_hot`, or the standardised numbers."""
        return self.one_hot if self.targets is None else self.targets.standardised.to(self.points.dtype)

    @property
    def columns(self) -> Int64[Tensor, "c"]:
        """The network's outputs that `outputs` are about: those of classes that occur, or all."""
        return self.labels.unique() if self.targets is None else torch.arange(self.outputs.shape[1])

    def scores(self, prediction: Float[Tensor, "p c"], items: Int64[Tensor, "p"]) -> Float64[Tensor, "p"]:
        """How good predictions at points of these items are; 1 is perfect."""
        return self.task.scores(prediction, self, items)


def as_problem(
    data: LabelledData | MeasuredData,
    action: Action | str,
    standardise: bool | None = None,
    class_names: Sequence[str] | None = None,
) -> Problem:
    """Data and action, checked against each other.

    Args:
        data: Items with class numbers, or with numbers to predict.
        action: An `Action`, or its name as `named_action` reads it.
        standardise: Centre each point and scale it to a mean square of 1, after the action; None does so for
            images and not for vectors and graphs.
        class_names: What tables call classes 0, 1, ...; their numbers when not given.

    Raises:
        InputError: One class only, a class of one item or without a name, numbers that are all the same,
            items that are constant, or an action that does not fit them, changes their shape, or is clearly
            none of its group (`data.laws.check_action`).
    """
    targets = None
    if isinstance(data, MeasuredData):
        if class_names is not None:
            raise InputError(f"class_names: {data.name} has numbers to predict, no classes; leave them out.")
        data, targets = grouped(data)
    if not isinstance(data, LabelledData):
        raise InputError(
            f"data: expected LabelledData or MeasuredData, got {type(data).__name__}; see symscope.data: "
            "mnist_sample, mnist, load_arrays, load_measured, from_dataset, measured_dataset."
        )
    names = None if class_names is None else _checked_names(class_names, data.classes)
    labels, counts = data.labels.unique(return_counts=True)
    if len(labels) < 2:
        raise InputError(f"{data.name}: expected two classes or more, got one, {int(labels[0])}.")
    alone = labels[counts < FEWEST].tolist()
    if alone:
        called = alone[0] if names is None else names[alone[0]]
        raise InputError(
            f"{data.name}: class {called} has one item; expected {FEWEST} or more of each, or nothing "
            "can be said about how sure a forecast is. Add items, or leave the class out; if these are not "
            "classes but numbers to predict, say so (MeasuredData, or --task regression)."
        )
    shape = tuple(data.x.shape[1:])
    family = None
    if isinstance(action, str):
        family, action = named_action(action, shape)
    elif isinstance(action, Action) and isinstance(action.name, str):
        family = action.name if action.name in ("rotation", "shift-x", "shift-y", "dihedral") else None
    if not isinstance(action, Action):
        raise InputError(
            f"action: expected a name such as 'C8 rotation' or a symscope.data.Action, got "
            f"{type(action).__name__}; make one with data.custom_action(group, function, sample_ndim)."
        )
    if action.group.order < 2:
        raise InputError(f"action: expected two elements or more, got {action.group.name}.")
    if len(shape) < action.sample_ndim:
        raise InputError(
            f"the action {action.name} moves samples with {action.sample_ndim} axes, the items of "
            f"{data.name} have shape {shape}."
        )
    images = action.sample_ndim == 2 and action.name != "nodes"
    problem = Problem(data, action, images if standardise is None else standardise, family, targets, names)
    _points(problem, data.take(torch.tensor([0])))  # refuses what the action cannot take
    if not is_ours(action):
        items = torch.linspace(0, len(data) - 1, min(TRIED, len(data))).long()
        with users_own(action):
            check_action(action, data.x[items])
    return problem


def _checked_names(names: Sequence[str], classes: Sequence[int]) -> tuple[str, ...]:
    """Names of their own for classes 0, 1, ..."""
    if len(set(names)) < len(names) or min(classes) < 0 or max(classes) >= len(names):
        raise InputError(
            f"class_names: expected a name of its own for each class, 0 to {max(classes)}, got "
            f"{len(set(names))} different names for classes {min(classes)} to {max(classes)}."
        )
    return tuple(names)


def named_action(text: str, shape: tuple[int, ...]) -> tuple[str | None, Action]:
    """An action from a few words: a group and how it acts, either of which may be left out.

    `C8` and `C8 rotation` turn images, `D4` also mirrors them, `C14xC14` shifts, `flip` is `C2 flip`,
    `S4 nodes` permutes the nodes of graphs; `rotation` alone is `C8 rotation`.

    Returns:
        The name of the family of actions, and the action.

    Raises:
        InputError: More than two words, or as `parse` and `parse_action`.

    >>> named_action("C8", (28, 28))[0], named_action("flip", (28, 28))[1].group.name
    ('rotation', 'C2')
    """
    words = text.replace(",", " ").split()
    if not 1 <= len(words) <= 2:
        raise InputError(f"action: expected a group and how it acts, such as 'C8 rotation', got {text!r}.")
    how, group = None, None
    for word in words:
        if re.match(r"[A-Z]", word):
            group = word
        else:
            how = word.removesuffix("s") if word in ("shifts", "rotations", "flips") else word
    if group is None:
        group = {"rotation": "C8", "dihedral": "D4", "shift": "C2xC2"}.get(
            (how or "").partition(":")[0], "C2"
        )
    if how is None:
        how = _usual(group)
    action = parse_action(how, group, shape[-2:])
    plain = how.partition(":")[0]
    if plain == "rotation" and not group.startswith("C"):
        plain = "dihedral"
    if plain == "shift" and "x" not in group:
        plain = "shift-x"
    return (how if plain in ("rotation", "dihedral", "shift-x", "shift-y") else None), action


def _usual(group: str) -> str:
    known = parse(group)
    factors = getattr(known, "cyclic_factors", None)
    if factors is not None and len(factors) == 2:
        return "shift"
    if group.startswith("D"):
        return "dihedral"
    return "rotation" if group.startswith("C") else "nodes"


def own_action(
    group: FiniteGroup, function: Callable[[int, Tensor], Tensor], shape: tuple[int, ...]
) -> Action:
    """A user's function `(g, x) -> g x` on whole samples of a shape, as an action of a stated group.

    >>> from symscope.groups import cyclic
    >>> own_action(cyclic(2), lambda g, x: -x if g else x, (3,)).sample_ndim
    1
    """
    return custom_action(group, function, len(shape), getattr(function, "__name__", "custom"))


def drawn(problem: Problem, per_class: int, seed: int) -> Draw:
    """So many items of every class or group, and their orbits.

    Args:
        problem: What is asked.
        per_class: Items of each.
        seed: Of the draw.

    Raises:
        InputError: A class with too few items, or orbits the action cannot make.
    """
    chosen = problem.data.per_class(per_class, seed)
    images, points = _points(problem, chosen)
    flat = images.flatten(2)
    kept, closed = fixing_elements(
        flat, flat[:, problem.group.identity], problem.group, default_tolerance(flat.dtype)
    )
    free = all(len(elements) == 1 for elements in kept)
    stabilisers = None if free or not bool(closed.all()) else tuple(kept)
    return Draw(points, images, chosen.labels, stabilisers, _drawn_targets(problem, chosen))


def _drawn_targets(problem: Problem, chosen: LabelledData) -> Targets | None:
    if problem.targets is None:
        return None
    assert chosen.indices is not None
    targets = problem.targets.take(chosen.indices.cpu())
    if targets.variance <= 1e-12:
        raise InputError(
            f"{problem.data.name}: the {len(chosen)} items drawn all have the same numbers to predict, so "
            "that there is nothing to tell apart; draw more of each group (per_class)."
        )
    return targets


def is_ours(action: Action) -> bool:
    """Whether an action is made of symscope's own functions alone, which are known to be actions.

    >>> from symscope.data import rotation
    >>> from symscope.groups import cyclic
    >>> is_ours(rotation(8)), is_ours(own_action(cyclic(2), torch.mul, (3,)))
    (True, False)
    """
    made = action.transform
    function = made.function if isinstance(made, ElementByElement) else getattr(made, "func", made)
    return str(getattr(function, "__module__", "")).startswith("symscope.")


@contextmanager
def users_own(action: Action) -> Iterator[None]:
    """Whatever an action's own function raises is the user's to see."""
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise user_error(f"action {action.name}: its function", error) from error


def acted(action: Action, x: Float[Tensor, "m *s"]) -> Float[Tensor, "m n *s"]:
    """Every element on every item, channels moved together.

    Raises:
        InputError: The action's own function fails, or changes the shape.
    """
    with users_own(action):
        moved = action.orbit(x)
    if moved.shape != (len(x), action.group.order, *x.shape[1:]):
        raise InputError(
            f"action {action.name}: expected samples to keep their shape {tuple(x.shape[1:])}, got "
            f"{tuple(moved.shape[2:])}; crop or pad inside the action."
        )
    if not bool(moved.isfinite().all()):
        raise InputError(f"action {action.name}: it made values that are not finite.")
    return moved


def _points(problem: Problem, items: LabelledData) -> tuple[Float[Tensor, "m n *s"], Float[Tensor, "m n *s"]]:
    """Orbits as they are, and as the network sees them."""
    images = acted(problem.action, items.x)
    return images, prepared(images, problem.standardised, problem.data.name, items.indices)


def prepared(
    images: Float[Tensor, "m n *s"],
    standardised: bool,
    name: str,
    indices: Int64[Tensor, "m"] | None = None,
) -> Float[Tensor, "m n *s"]:
    """Each point centred and of mean square 1, if asked for.

    Args:
        images: Orbits of some items.
        standardised: Whether it is asked for.
        name: What a message calls the data.
        indices: Where each item is in the data; None where they are only known as those drawn.

    Raises:
        InputError: A point that is constant.

    >>> prepared(torch.tensor([[[1.0, 3.0]]]), True, "two").tolist()
    [[[-1.0, 1.0]]]
    """
    if not standardised:
        return images
    flat = images.flatten(2)
    largest, limits = flat.abs().amax(2, keepdim=True), torch.finfo(flat.dtype)
    extreme = (largest > limits.max**0.25) | (largest < limits.tiny**0.25)  # squares would leave the range
    flat = torch.where(extreme, flat / largest.clamp_min(limits.tiny), flat)
    centred = flat - flat.mean(2, keepdim=True)
    size = centred.norm(dim=2, keepdim=True) / math.sqrt(flat.shape[2])
    constant = (size <= 1e-12 * flat.abs().amax(2, keepdim=True)).flatten(1).any(1)
    if bool(constant.any()):
        at = int(constant.nonzero()[0])
        which = f"{at} of those drawn" if indices is None else str(int(indices[at]))
        raise InputError(f"{name}: item {which} is constant, as it is or transformed; leave it out.")
    return (centred / size).reshape(images.shape)
