"""Some samples of every class and their orbits, as a network sees them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from symscope.data import Action, LabelledData, default_tolerance, fixing_elements
from symscope.errors import InputError
from symscope.forecasting._prediction_task import CLASSIFICATION, REGRESSION, PredictionTask
from symscope.forecasting._short_repr import short_repr
from symscope.forecasting._targets import Targets
from symscope.groups import FiniteGroup
from symscope.numerics import checked, explained, out_of_range
from symscope.user_code import user_errors

if TYPE_CHECKING:
    from symscope.forecasting._question import Question


@checked
@final
@dataclass(frozen=True, eq=False)
class Resample:
    """Some samples of every class, or of every group of numbers, and their orbits.

    Attributes:
        points: `points[s, g]` is element g on sample s, as the network sees it.
        images: Points before standardisation.
        labels: Class or group of each sample.
        stabilisers: Elements that fix each sample; None if only the identity does.
        indices: Position of each sample in the data.
        targets: Numbers of each sample; None for classification.
    """

    points: Float[Tensor, "m n *s"]
    images: Float[Tensor, "m n *s"]
    labels: Int64[Tensor, "m"]
    stabilisers: tuple[Int64[Tensor, "_"], ...] | None
    indices: Int64[Tensor, "m"]
    targets: Targets | None = None

    __repr__ = short_repr

    @property
    def task(self) -> PredictionTask:
        """Classification or regression."""
        return CLASSIFICATION if self.targets is None else REGRESSION

    @property
    def flat(self) -> Float[Tensor, "p *s"]:
        """All points, orbit after orbit."""
        return self.points.flatten(0, 1)

    @property
    def one_hot(self) -> Float[Tensor, "m c"]:
        """The classes of the samples as rows of an identity matrix, columns in increasing order of class."""
        return torch.nn.functional.one_hot(self.positions).to(self.points.dtype)

    @property
    def positions(self) -> Int64[Tensor, "m"]:
        """The place of each sample's class or group among those that occur."""
        return torch.searchsorted(self.labels.unique(), self.labels)

    @property
    def classes(self) -> int:
        """How many classes or groups occur."""
        return len(self.labels.unique())

    @property
    def outputs(self) -> Float[Tensor, "m c"]:
        """What a perfect network predicts for each sample: `one_hot`, or the standardised numbers."""
        return self.one_hot if self.targets is None else self.targets.standardised.to(self.points.dtype)

    @property
    def columns(self) -> Int64[Tensor, "c"]:
        """The network's outputs that `outputs` are about: those of classes that occur, or all."""
        return self.labels.unique() if self.targets is None else torch.arange(self.outputs.shape[1])

    def scores(self, prediction: Float[Tensor, "p c"], samples: Int64[Tensor, "p"]) -> Float64[Tensor, "p"]:
        """How good predictions at points of these samples are; 1 is perfect."""
        return self.task.scores(prediction, self, samples)


@explained
def draw_resample(question: Question, per_class: int, seed: int) -> Resample:
    """So many samples of every class or group, and their orbits.

    Args:
        question: Data and action.
        per_class: Samples of each class.
        seed: Seed for drawing samples.

    Raises:
        InputError: A class with too few samples, or orbits the action cannot make.
    """
    chosen = question.data.per_class(per_class, seed)
    images, points = sample_points(question, chosen)
    flat = images.flatten(2)
    fixing, closed = fixing_elements(
        flat, flat[:, question.group.identity], question.group, default_tolerance(flat.dtype)
    )
    free = all(len(elements) == 1 for elements in fixing)
    stabilisers = None if free or not bool(closed.all()) else tuple(fixing)
    assert chosen.indices is not None
    targets = _resample_targets(question, chosen)
    return Resample(points, images, chosen.labels, stabilisers, chosen.indices.cpu(), targets)


def _resample_targets(question: Question, chosen: LabelledData) -> Targets | None:
    if question.targets is None:
        return None
    assert chosen.indices is not None
    targets = question.targets.take(chosen.indices.cpu())
    if targets.variance <= 1e-12:
        raise InputError(
            f"{question.data.name}: the {len(chosen)} samples drawn all have the same numbers to predict, so "
            "that there is nothing to tell apart; draw more of each group (per_class)."
        )
    return targets


def sample_points(
    question: Question, samples: LabelledData, fresh: bool = False
) -> tuple[Float[Tensor, "m n *s"], Float[Tensor, "m n *s"]]:
    """The orbits of samples as they are, and as the network sees them.

    Args:
        question: Action, and the element in which the data holds each sample.
        samples: Samples of the question's data.
        fresh: Whether they are new ones instead, which are upright.
    """
    moved = action_orbit(question.action, samples.x)
    if question.elements is not None and samples.indices is not None and not fresh:
        moved = _from_upright(moved, question.elements[samples.indices.cpu()], question.group)
    images = _in_range(moved, question.standardised, question.data.name)
    shown = samples.indices
    if not fresh and shown is not None and question.sources is not None:
        shown = question.sources[shown]
    return images, standardise_points(images, question.standardised, question.data.name, shown)


def _from_upright(
    moved: Float[Tensor, "m n *s"], elements: Int64[Tensor, "m"], group: FiniteGroup
) -> Float[Tensor, "m n *s"]:
    """Orbits of samples that the data holds in these elements, counted from the upright: `g h^-1` on h x."""
    back = [[group.multiply(g, group.inverse(h)) for g in group.elements] for h in elements.tolist()]
    return moved[torch.arange(len(moved))[:, None], torch.tensor(back)]


def _in_range(images: Float[Tensor, "m n *s"], standardised: bool, name: str) -> Float[Tensor, "m n *s"]:
    """Orbits whose squares, and those of kernels, stay within the range of their type.

    A sample that will be standardised is divided by its largest number, which changes no point.

    Raises:
        InputError: Numbers too large or too small that are to stay as they are.
    """
    largest = images.flatten(1).abs().amax(1)
    extreme, allowed = out_of_range(largest)
    if not bool(extreme.any()):
        return images
    if not standardised:
        raise InputError(
            f"{name}: expected samples whose largest number is {allowed}, so that their squares are numbers "
            f"too, got {float(largest[extreme][0]):.0e}; multiply the data by a constant."
        )
    return images / torch.where(extreme, largest, 1).reshape(-1, *[1] * (images.ndim - 1))


def action_orbit(action: Action, x: Float[Tensor, "m *s"]) -> Float[Tensor, "m n *s"]:
    """Every element on every sample, channels moved together.

    Raises:
        InputError: The action's own function fails, or changes the shape.
    """
    with user_errors(f"action {action.name}: its function"):
        moved = action.orbit(x)
    if moved.shape != (len(x), action.group.order, *x.shape[1:]):
        raise InputError(
            f"action {action.name}: expected samples to keep their shape {tuple(x.shape[1:])}, got "
            f"{tuple(moved.shape[2:])}; crop or pad inside the action."
        )
    if not bool(moved.isfinite().all()):
        raise InputError(f"action {action.name}: it made values that are not finite.")
    return moved


def standardise_points(
    images: Float[Tensor, "m n *s"],
    standardised: bool,
    name: str,
    indices: Int64[Tensor, "m"] | None = None,
) -> Float[Tensor, "m n *s"]:
    """Each point centred and scaled to a mean square of 1, if wanted.

    Args:
        images: Orbits of some samples.
        standardised: Whether to do so.
        name: Name of the data in messages.
        indices: Position of each sample in the data; None where only its place in the resample is known.

    Raises:
        InputError: A point that is constant.

    >>> standardise_points(torch.tensor([[[1.0, 3.0]]]), True, "two").tolist()
    [[[-1.0, 1.0]]]
    """
    if not standardised:
        return images
    flat = images.flatten(2)
    centred = flat - flat.mean(2, keepdim=True)
    size = centred.norm(dim=2, keepdim=True) / math.sqrt(flat.shape[2])
    constant = (size <= 1e-12 * flat.abs().amax(2, keepdim=True)).flatten(1).any(1)
    if bool(constant.any()):
        at = int(constant.nonzero()[0])
        which = f"{at} of those drawn" if indices is None else str(int(indices[at]))
        raise InputError(f"{name}: sample {which} is constant, as it is or transformed; leave it out.")
    return (centred / size).reshape(images.shape)
