"""What a forecast is asked: labelled samples, the group action on them, their coverage, the target."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, final

import torch
from jaxtyping import Bool, Int64, Shaped
from torch import Tensor

from symscope.data import (
    ACTIONS,
    Action,
    LabelledData,
    MeasuredData,
    TargetAction,
    check_action,
    is_builtin_action,
    parse_action,
    parse_named_action,
    point_coordinates,
    sample_kind,
)
from symscope.errors import InputError
from symscope.forecasting._coverage import Cases, Coverage, ElementWords, given_coverage, parse_coverage
from symscope.forecasting._orbit_points import orbit_from_upright, sample_points
from symscope.forecasting._prediction_task import PredictionTask, task_of
from symscope.forecasting._target_rows import row_action
from symscope.forecasting._targets import Targets, group_names, grouped
from symscope.forecasting._task_wording import target_text
from symscope.groups import FiniteGroup
from symscope.numerics import checked, explained
from symscope.spectral import class_masks
from symscope.user_code import user_errors

AnyData = TypeVar("AnyData", bound=LabelledData | MeasuredData)
ACTION_TRIALS = 4  # samples on which a user's action is tried
MOST_OUTPUTS = 2**16  # classes below it are numbers of outputs, as they are
SERIES = re.compile(r"\b(shift|flip)")  # moves series too, taken as images of one row
MOST_SEEN = 3  # different coverages whose elements are named
FEWEST = 2  # samples of a class: with one, the forecast's uncertainty cannot be estimated


@checked
@final
@dataclass(frozen=True, eq=False)
class Question:
    """Samples, the group action on them, and what the training data lacks; made by `as_question`.

    Attributes:
        data: Samples with their classes, or with the groups their numbers put them into.
        action: Group action on the samples.
        standardised: Whether each point is centred and scaled to a mean square of 1; clouds by the mean of
            their points, which commutes with turning them.
        family: Name of the action if finer or coarser groups act in the same way, for example "rotation".
        targets: Numbers to predict; None for classification.
        names: Names of classes 0, 1, ...; None where they are numbered.
        coverage: Elements of each sample that the training data holds; None for the sweep, in which each
            class in turn lacks the identity.
        elements: Element in which the data holds each sample; None if all are upright.
        new_data: New samples to be asked about; None to keep some of the data apart.
        target: Accuracy, or share of the variation explained, that is good enough.
        sources: Position of each sample where the data comes from, for messages.
        target_action: Group action on rows of numbers to predict; None where no element changes them.
        target_shape: Shape of the numbers of one sample, before they were flattened to rows.
    """

    data: LabelledData
    action: Action
    standardised: bool
    family: str | None
    targets: Targets | None = None
    names: tuple[str, ...] | None = None
    coverage: Coverage | None = None
    elements: Int64[Tensor, "m"] | None = None
    new_data: LabelledData | None = None
    target: float = 0.9
    sources: Int64[Tensor, "m"] | None = None
    target_action: Action | None = None
    target_shape: tuple[int, ...] = ()

    def __repr__(self) -> str:
        asked = "each class in turn" if self.coverage is None else self.coverage.text
        return f"Question({self.data.name}, {self.group.name} {self.action.name}, {asked})"

    @property
    def task(self) -> PredictionTask:
        """Classification or regression."""
        return task_of(self.targets)

    @property
    def outputs(self) -> int:
        """How many outputs a network needs."""
        return max(self.data.classes) + 1 if self.targets is None else self.targets.values.shape[2]

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, or of the groups of numbers, in tables."""
        classes = self.data.classes
        if self.targets is not None:
            return group_names(len(classes), self.targets.moves)
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
        return tuple(self.action.element_name(g) for g in self.group.elements)

    def missing_masks(self, samples: Int64[Tensor, "k"]) -> Bool[Tensor, "sets k n"]:
        """Points that are left out of these samples: all at once, or each class in turn its identity."""
        if self.coverage is None:
            return class_masks(self.data.labels[samples], self.group, self.group.identity)
        return ~self.coverage.seen[samples][None]

    @property
    def target_text(self) -> str:
        """The target in words."""
        return target_text(self.target)

    @property
    def degrees(self) -> float | None:
        """Degrees from one element to the next where the group turns samples, else None."""
        plain = (self.family or "").partition(":")[0]
        if plain not in ("rotation", "dihedral", "points") or self.group.matrices is not None:
            return None
        return 360 / (self.group.order if self.group.cyclic_factors is not None else self.group.order // 2)

    @property
    def kind(self) -> str:
        """What the samples are: "image", "series", "points", "set", "graph" or "other"."""
        return sample_kind(self.action, self.shape)

    @property
    def symmetric(self) -> str:
        """What a network with the symmetry is: "invariant", or "equivariant" where targets change."""
        return "invariant" if self.target_action is None else "equivariant"

    @property
    def coordinates(self) -> int | None:
        """Columns of a sample that are coordinates, which are centred and scaled together."""
        return point_coordinates(self.action, self.shape)

    @property
    def group_words(self) -> str:
        """The group as the user wrote it: the finite part that acts, and of what."""
        return self.action.note.partition(":")[0].partition(",")[0] or self.group.name

    @property
    def group_notes(self) -> tuple[str, ...]:
        """What the finite group stands for, what that is exact for, and which of its elements are seen."""
        if not self.action.note:
            return ()
        notes = [f"{self.action.note}."]
        if self.coverage is not None:
            rows = [row for row in self.coverage.seen.unique(dim=0) if not bool(row.all())]
            if 0 < len(rows) <= MOST_SEEN:
                names = self.element_names
                seen = " or ".join(", ".join(names[g] for g in row.nonzero()[:, 0]) for row in rows)
                notes.append(f"Of these elements '{self.coverage.text}' holds {seen}.")
        return tuple(notes)

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
    seen: Cases | None = None,
    missing: Cases | None = None,
    target: float = 0.9,
    elements: Shaped[Tensor, "m"] | Sequence[str] | None = None,
    new: LabelledData | None = None,
    seed: int = 0,
    target_action: TargetAction | None = None,
) -> Question:
    """Data, action, coverage and target, checked against each other.

    Args:
        data: Samples with class numbers, or with numbers to predict.
        action: An `Action`, or its name as `parse_named_action` understands it.
        standardise: Whether to centre each point and scale it to a mean square of 1, after the action; None
            does so for images and series, not for point sets, vectors and graphs.
        class_names: Names of classes 0, 1, ... in tables; their numbers when not given.
        seen: Elements that the training data holds of some classes; the others hold all.
        missing: Elements that it lacks of some classes; with neither, the sweep over all classes.
        target: Accuracy, or share of the variation explained, that is good enough.
        elements: Element, or angle, in which the data holds each sample, each of them once.
        new: New samples to be asked about.
        seed: Seed for coverage at random.
        target_action: How elements change numbers to predict, as `data.target_of` takes it; it must be
            said for vectors of two or three numbers and for maps.

    Raises:
        InputError: One class only, a class of one sample or without a name, numbers that are all the same,
            samples that are constant, coverage of what is not there or in which nothing is missing, or an
            action that does not fit the samples, changes their shape, or is clearly none of its group
            (`data.check_action`); or a target action that is missing, no representation, or of another group.
    """
    if not 0 < target <= 1:
        raise InputError(f"target: expected an accuracy (or share) above 0 and at most 1, got {target}.")
    if not isinstance(data, (LabelledData, MeasuredData)):
        raise InputError(
            f"data: expected LabelledData or MeasuredData, got {type(data).__name__}; see data.as_samples."
        )
    if isinstance(data, MeasuredData) and class_names is not None:
        raise InputError(f"class_names: {data.name} has numbers to predict, no classes; leave them out.")
    if isinstance(action, str) and SERIES.search(action):
        data, new = _with_rows(data), None if new is None else _with_rows(new)
    family, acting = _action_of(action, data)
    targets, moving = None, None
    shape: tuple[int, ...] = ()
    if isinstance(data, MeasuredData):
        moving, shape = row_action(target_action, data, acting), data.target_shape
        data, targets = grouped(data, moving)
    elif target_action is not None and target_action != "same":
        raise InputError(
            f"target action: {data.name} has classes, which no transformation changes; leave it out, or say "
            "that these are numbers to predict: task='regression' (--task regression)."
        )
    names = None if class_names is None else _checked_names(class_names, data.classes)
    _check_class_sizes(data, names)
    usual = sample_kind(acting, data.x.shape[1:]) in ("image", "series")
    standardised = usual if standardise is None else standardise
    if min(data.classes) < 0 or max(data.classes) >= MOST_OUTPUTS:
        names = tuple(str(label) for label in data.classes)
        seen, missing = (_by_name(cases) for cases in (seen, missing))
        data = replace(data, labels=_places(data))
    sources = data.indices
    data = replace(data, indices=None)  # positions in what was given
    question = Question(
        data,
        acting,
        standardised,
        family,
        targets,
        names,
        target=target,
        sources=sources,
        target_action=moving,
        target_shape=shape,
    )
    coverage, own = _coverage(question, seen, missing, elements, seed)
    if own is not None and targets is not None and targets.moves:
        targets = replace(targets, values=orbit_from_upright(targets.values, own, acting.group))
    question = replace(
        question, coverage=coverage, elements=own, new_data=_new_data(question, new), targets=targets
    )
    sample_points(question, data.take(torch.tensor([0])))  # refuses what the action cannot take
    if not is_builtin_action(acting):
        tried = torch.linspace(0, len(data) - 1, min(ACTION_TRIALS, len(data))).long()
        with user_errors(f"action {acting.name}: its function"):
            check_action(acting, data.x[tried])
    return question


def _with_rows(data: AnyData) -> AnyData:
    """Series as images of one row."""
    return data if data.x.ndim > 2 else replace(data, x=data.x[:, None])


def _checked_names(names: Sequence[str], classes: Sequence[int]) -> tuple[str, ...]:
    """Distinct names for classes 0, 1, ..."""
    if len(set(names)) < len(names) or min(classes) < 0 or max(classes) >= len(names):
        raise InputError(
            f"class_names: expected a name of its own for each class, 0 to {max(classes)}, got "
            f"{len(set(names))} different names for classes {min(classes)} to {max(classes)}."
        )
    return tuple(names)


def _by_name(cases: Cases | None) -> Cases | None:
    """Cases with classes by name: their numbers become others."""
    if not isinstance(cases, Mapping):
        return cases
    return {str(label): elements for label, elements in cases.items()}


def _places(data: LabelledData) -> Int64[Tensor, "m"]:
    """Classes as 0, 1, ... in their order: no network has an output -1."""
    return torch.searchsorted(torch.tensor(data.classes, device=data.labels.device), data.labels)


def _coverage(
    question: Question,
    seen: Cases | None,
    missing: Cases | None,
    elements: Shaped[Tensor, "m"] | Sequence[str] | None,
    seed: int,
) -> tuple[Coverage | None, Int64[Tensor, "m"] | None]:
    """The coverage in words, or as the data has its samples; and the element of each sample."""
    group, labels = question.group, question.data.labels.cpu()
    words = ElementWords(group, question.element_names, question.degrees)
    if elements is not None:
        if seen is not None or missing is not None:
            raise InputError("coverage: the data says in which element each sample is; leave the words out.")
        if len(elements) != len(labels):
            raise InputError(
                f"elements: expected one for each of the {len(labels)} samples, got {len(elements)}."
            )
        own = torch.tensor([words.element(one) for one in _plain_list(elements)])
        return given_coverage(own, group.order), own
    names = dict(zip(question.class_names, question.data.classes, strict=True))
    coverage = parse_coverage(labels, words, names, seen, missing, seed, question.task.words.one)
    if coverage is not None and bool(coverage.seen.all()):
        raise InputError(
            f"coverage ({coverage.text}): nothing is missing, so that there is nothing to forecast; name "
            "what the training data lacks."
        )
    return coverage, None


def _plain_list(elements: Shaped[Tensor, "m"] | Sequence[str]) -> list[str]:
    """Elements as words; whole numbers that are no angles are element numbers."""
    values = elements.tolist() if isinstance(elements, Tensor) else list(elements)
    return [f"{value:g}" if isinstance(value, (int, float)) else str(value) for value in values]


def _new_data(question: Question, new: LabelledData | None) -> LabelledData | None:
    """New samples of the same shape and classes."""
    if new is None:
        return None
    if new.x.shape[1:] != question.data.x.shape[1:]:
        raise InputError(
            f"new: expected samples of shape {question.shape}, as the data, got {tuple(new.x.shape[1:])}."
        )
    foreign = sorted(set(new.classes) - set(question.data.classes))
    if foreign:
        raise InputError(f"new: class {foreign[0]} is not in the data, which has {question.data.classes}.")
    return replace(new, x=new.x.to(question.data.x.dtype), indices=None)


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
            "but numbers to predict, say so: task='regression' (--task regression)."
        )


def _action_of(action: Action | str, data: LabelledData | MeasuredData) -> tuple[str | None, Action]:
    """The family of an action that is given or named, and the action, which must fit the data."""
    shape, family = tuple(data.x.shape[1:]), None
    if isinstance(action, str):
        family, action = parse_named_action(action, shape)
    elif isinstance(action, Action) and isinstance(action.name, str):
        known = ("rotation", "shift-x", "shift-y", "dihedral", "points")
        family = action.name if action.name.removesuffix(":3") in known else None
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
