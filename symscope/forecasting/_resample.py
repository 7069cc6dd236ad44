"""Some samples of every class and their orbits, as a network sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from symscope.data import LabelledData, default_tolerance, fixing_elements
from symscope.errors import InputError
from symscope.forecasting._orbit_points import sample_points
from symscope.forecasting._prediction_task import PredictionTask, task_of
from symscope.forecasting._short_repr import short_repr
from symscope.forecasting._targets import Targets, kept_targets
from symscope.numerics import checked, explained

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
        return task_of(self.targets)

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
    def outputs(self) -> Float[Tensor, "p c"]:
        """What a perfect network predicts: `one_hot` or standardised numbers, of each sample.

        Of each point, sample after sample, where numbers change with the element.
        """
        if self.targets is None:
            return self.one_hot
        return self.targets.standardised.flatten(0, 1).to(self.points.dtype)

    @property
    def point_outputs(self) -> Float[Tensor, "p c"]:
        """The same of each point, sample after sample."""
        rows, points = self.outputs, self.points.shape[0] * self.points.shape[1]
        return rows if len(rows) == points else rows.repeat_interleave(self.points.shape[1], 0)

    @property
    def columns(self) -> Int64[Tensor, "c"]:
        """The network's outputs that `outputs` are about: those of classes that occur, or all."""
        return self.labels.unique() if self.targets is None else torch.arange(self.outputs.shape[1])

    def scores(
        self, prediction: Float[Tensor, "p c"], samples: Int64[Tensor, "p"], elements: Int64[Tensor, "p"]
    ) -> Float64[Tensor, "p"]:
        """How good predictions at points, samples under elements, are; 1 is perfect."""
        return self.task.scores(prediction, self, samples, elements)


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
    if targets is not None:
        targets = kept_targets(question, targets, fixing, chosen.indices.cpu())
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
