"""What a forecast is asked: labelled samples, the group action on them, the missing cases, the target."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from symscope.data import ACTIONS, Action, LabelledData, MeasuredData, check_action, parse_action
from symscope.errors import InputError
from symscope.forecasting._prediction_task import CLASSIFICATION, REGRESSION, PredictionTask
from symscope.forecasting._resample import is_builtin_action, sample_kind, sample_points
from symscope.forecasting._short_repr import short_repr
from symscope.forecasting._targets import Targets, group_names, grouped
from symscope.groups import FiniteGroup, parse
from symscope.numerics import checked, explained
from symscope.spectral import class_masks
from symscope.user_code import user_errors

ACTION_TRIALS = 4  # samples on which a user's action is tried
MOST_OUTPUTS = 2**16  # classes below it are numbers of outputs, as they are
FEWEST = 2  # samples of a class: with one, the forecast's uncertainty cannot be estimated

Missing = Mapping[int, Sequence[int]] | None


@checked
@final
@dataclass(frozen=True, eq=False)
class Question:
    """Samples, the group action on them, and what the training data lacks; made by `as_question`.

    Attributes:
        data: Samples with their classes, or with the groups their numbers put them into.
        action: Group action on the samples.
        standardised: Whether each point is centred and scaled to a mean square of 1.
        family: Name of the action if finer or coarser groups act in the same way, for example "rotation".
        targets: Numbers to predict; None for classification.
        names: Names of classes 0, 1, ...; None where they are numbered.
        missing: Elements that the training data lacks of some classes, all at once; None for the sweep, in
            which each class in turn lacks the identity.
        target: Accuracy, or share of the variation explained, that is good enough.
    """

    data: LabelledData
    action: Action
    standardised: bool
    family: str | None
    targets: Targets | None = None
    names: tuple[str, ...] | None = None
    missing: Missing = None
    target: float = 0.9

    __repr__ = short_repr

    @property
    def task(self) -> PredictionTask:
        """Classification or regression."""
        return CLASSIFICATION if self.targets is None else REGRESSION

    @property
    def outputs(self) -> int:
        """How many outputs a network needs."""
        return max(self.data.classes) + 1 if self.targets is None else self.targets.values.shape[1]

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, or of the groups of numbers, in tables."""
        classes = self.data.classes
        if self.targets is not None:
            return group_names(len(classes))
        return tuple(self.class_label(label) for label in classes)

    def class_label(self, label: int) -> str:
        """The user's name of a class, or its number where classes have none."""
        return str(label) if self.names is None else self.names[label]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return tuple(self.data.x.shape[1:])

    @property
    def group(self) -> FiniteGroup:
        """The group that acts."""
        return self.action.group

    @property
    def element_names(self) -> tuple[str, ...]:
        """Names of the elements in tables: angles for rotations, else the group's own names."""
        plain = (self.family or "").partition(":")[0]
        if plain == "rotation" and self.group.cyclic_factors is not None:
            return tuple(f"{360 * k / self.group.order:g}°" for k in self.group.elements)
        return tuple(self.group.labels)

    @property
    def kind(self) -> str:
        """What the samples are: "image", "series", "points", "graph" or "other"."""
        return sample_kind(self.action, self.shape)

    @property
    def smallest_class(self) -> int:
        """Samples in the class that has fewest."""
        return int(self.data.labels.unique(return_counts=True)[1].min())


@explained
def as_question(
    data: LabelledData | MeasuredData,
    action: Action | str,
    standardise: bool | None = None,
    class_names: Sequence[str] | None = None,
    missing: Missing = None,
    target: float = 0.9,
) -> Question:
    """Data, action, missing cases and target, checked against each other.

    Args:
        data: Samples with class numbers, or with numbers to predict.
        action: An `Action`, or its name as `parse_named_action` understands it.
        standardise: Whether to centre each point and scale it to a mean square of 1, after the action; None
            does so for images and series, not for point sets, vectors and graphs.
        class_names: Names of classes 0, 1, ... in tables; their numbers when not given.
        missing: Elements that the training data lacks of some classes; None for the sweep over all classes.
        target: Accuracy, or share of the variation explained, that is good enough.

    Raises:
        InputError: One class only, a class of one sample or without a name, numbers that are all the same,
            samples that are constant, missing cases that are not there, or an action that does not fit the
            samples, changes their shape, or is clearly none of its group (`data.check_action`).
    """
    if not 0 < target <= 1:
        raise InputError(f"target: expected an accuracy (or share) above 0 and at most 1, got {target}.")
    targets = None
    if isinstance(data, MeasuredData):
        if class_names is not None:
            raise InputError(f"class_names: {data.name} has numbers to predict, no classes; leave them out.")
        data, targets = grouped(data)
    if not isinstance(data, LabelledData):
        raise InputError(
            f"data: expected LabelledData or MeasuredData, got {type(data).__name__}; see data.as_samples."
        )
    names = None if class_names is None else _checked_names(class_names, data.classes)
    _check_class_sizes(data, names)
    family, acting = _action_of(action, data)
    usual = sample_kind(acting, data.x.shape[1:]) in ("image", "series")
    standardised = usual if standardise is None else standardise
    one = (CLASSIFICATION if targets is None else REGRESSION).words.one
    missing_masks(torch.tensor(data.classes), acting.group, missing, one)
    if min(data.classes) < 0 or max(data.classes) >= MOST_OUTPUTS:
        data, names, missing = _numbered(data, missing)
    question = Question(data, acting, standardised, family, targets, names, missing, target)
    sample_points(question, data.take(torch.tensor([0])))  # refuses what the action cannot take
    if not is_builtin_action(acting):
        tried = torch.linspace(0, len(data) - 1, min(ACTION_TRIALS, len(data))).long()
        with user_errors(f"action {acting.name}: its function"):
            check_action(acting, data.x[tried])
    return question


def _checked_names(names: Sequence[str], classes: Sequence[int]) -> tuple[str, ...]:
    """Distinct names for classes 0, 1, ..."""
    if len(set(names)) < len(names) or min(classes) < 0 or max(classes) >= len(names):
        raise InputError(
            f"class_names: expected a name of its own for each class, 0 to {max(classes)}, got "
            f"{len(set(names))} different names for classes {min(classes)} to {max(classes)}."
        )
    return tuple(names)


def _numbered(data: LabelledData, missing: Missing) -> tuple[LabelledData, tuple[str, ...], Missing]:
    """Classes as 0, 1, ... in their order, and what they were as names: no network has an output -1."""
    classes = data.classes
    labels = torch.searchsorted(torch.tensor(classes, device=data.labels.device), data.labels)
    if missing is not None:
        missing = {classes.index(label): elements for label, elements in missing.items()}
    return replace(data, labels=labels), tuple(str(label) for label in classes), missing


def _check_class_sizes(data: LabelledData, names: Sequence[str] | None) -> None:
    labels, counts = data.labels.unique(return_counts=True)
    if len(labels) < 2:
        raise InputError(f"{data.name}: expected two classes or more, got one, {int(labels[0])}.")
    alone = labels[counts < FEWEST].tolist()
    if alone:
        name = alone[0] if names is None else names[alone[0]]
        raise InputError(
            f"{data.name}: class {name} has one sample; expected {FEWEST} or more of each, or the forecast's "
            "uncertainty cannot be estimated. Add samples, or leave the class out; if these are not classes "
            "but numbers to predict, use MeasuredData, or --task regression."
        )


def _action_of(action: Action | str, data: LabelledData) -> tuple[str | None, Action]:
    """The family of an action that is given or named, and the action, which must fit the data."""
    shape, family = tuple(data.x.shape[1:]), None
    if isinstance(action, str):
        family, action = parse_named_action(action, shape)
    elif isinstance(action, Action) and isinstance(action.name, str):
        family = action.name if action.name in ("rotation", "shift-x", "shift-y", "dihedral") else None
        if action.name in ACTIONS and is_builtin_action(action):
            parse_action(action.name, action.group, shape)  # refuses shapes that it does not move as meant
    if not isinstance(action, Action):
        raise InputError(
            f"action: expected a name such as 'C8 rotation' or a symscope.data.Action, got "
            f"{type(action).__name__}; make one with data.custom_action(group, function, sample_ndim)."
        )
    if action.group.order < 2:
        raise InputError(f"action: expected two elements or more, got {action.group.name}.")
    if len(shape) < action.sample_ndim:
        raise InputError(
            f"the action {action.name} moves samples with {action.sample_ndim} axes, the samples of "
            f"{data.name} have shape {shape}."
        )
    return family, action


def parse_named_action(text: str, shape: tuple[int, ...]) -> tuple[str | None, Action]:
    """An action from a few words: a group and how it acts, either of which may be left out.

    `C8` and `C8 rotation` turn images, `D4` also mirrors them, `C14xC14` shifts, `flip` is `C2 flip`,
    `S4 nodes` permutes the nodes of graphs; `rotation` alone is `C8 rotation`.

    Returns:
        The name of the family of actions, and the action.

    Raises:
        InputError: More than two words, or as `parse` and `parse_action`.

    >>> parse_named_action("C8", (28, 28))[0], parse_named_action("flip", (28, 28))[1].group.name
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
        how = _usual_action(group)
    action = parse_action(how, group, shape)
    plain = how.partition(":")[0]
    if plain == "rotation" and not group.startswith("C"):
        plain = "dihedral"
    if plain == "shift" and "x" not in group:
        plain = "shift-x"
    return (how if plain in ("rotation", "dihedral", "shift-x", "shift-y") else None), action


def _usual_action(group: str) -> str:
    known = parse(group)
    factors = getattr(known, "cyclic_factors", None)
    if factors is not None and len(factors) == 2:
        return "shift"
    if group.startswith("D"):
        return "dihedral"
    return "rotation" if group.startswith("C") else "nodes"


@explained
def missing_masks(
    labels: Int64[Tensor, "m"], group: FiniteGroup, missing: Missing, one: str = "class"
) -> Bool[Tensor, "sets m n"]:
    """The missing sets: each class without its identity in turn, or the cases a user names, all at once.

    Args:
        labels: Class of each sample.
        group: Group that acts.
        missing: Elements missing of classes; None for the sweep.
        one: Word for a class in messages.

    Raises:
        InputError: A class or element that is not there, or a class that would never be seen.

    >>> from symscope.groups import cyclic
    >>> missing_masks(torch.tensor([3, 5]), cyclic(2), {5: [1]}).int().tolist()
    [[[0, 0], [0, 1]]]
    """
    if missing is None:
        return class_masks(labels, group, group.identity)
    if not missing:
        raise InputError(f"missing: expected at least one {one}, got none.")
    mask = torch.zeros(len(labels), group.order, dtype=torch.bool)
    present = labels.unique().tolist()
    for label, elements in missing.items():
        if label not in present:
            raise InputError(f"missing: {one} {label} is not in the data; it has {present}.")
        chosen = sorted(set(elements))
        if not chosen or chosen[0] < 0 or chosen[-1] >= group.order:
            raise InputError(
                f"missing: expected elements of {group.name}, 0 to {group.order - 1}, for {one} {label}; got "
                f"{list(elements)}."
            )
        if len(chosen) == group.order:
            raise InputError(
                f"missing: every transformation of {one} {label} is missing, so it cannot be learned at all; "
                "leave one in."
            )
        rows = (labels == label).nonzero()[:, 0].cpu()
        mask[rows[:, None], torch.tensor(chosen)] = True
    return mask[None]
