"""What a trained network answers: its scores by class and element, on known and on new samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from symscope.numerics import checked, explained, may_be_infinite


@checked
@final
@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Mean scores by class and element: accuracy, or the share of the numbers' variation explained.

    Attributes:
        total: Sum of the scores of each cell.
        count: Points in each cell.
    """

    total: Float64[Tensor, "c n"]
    count: Int64[Tensor, "c n"]

    @property
    def mean(self) -> Float64[Tensor, "c n"]:
        """NaN where there is no point."""
        return self.total / self.count

    def __repr__(self) -> str:
        return f"ScoreTable(mean {float(self.total.sum() / self.count.sum()):.2f} of {int(self.count.sum())})"

    def __add__(self, other: ScoreTable) -> ScoreTable:
        return ScoreTable(self.total + other.total, self.count + other.count)

    def at(self, cells: Bool[Tensor, "c n"]) -> ScoreTable:
        """The same in these cells alone."""
        return ScoreTable(self.total * cells, self.count * cells)


@final
@dataclass(frozen=True, eq=False)
class TablePrediction:
    """Predicted scores by class and element, and by class.

    Attributes:
        table: Score in each cell; NaN where it was not asked.
        class_score: Mean over the cells of each class; NaN where none was asked.
        class_low: Lower end of the 95 % interval of each class.
        class_high: Upper end.
        interval: 95 % interval of the mean over classes.
    """

    table: Float64[Tensor, "c n"]
    class_score: Float64[Tensor, "c"]
    class_low: Float64[Tensor, "c"]
    class_high: Float64[Tensor, "c"]
    interval: tuple[float, float]

    def __repr__(self) -> str:
        return f"TablePrediction({self.mean:.2f} [{self.interval[0]:.2f}, {self.interval[1]:.2f}])"

    @property
    def mean(self) -> float:
        """Mean over classes."""
        return float(self.class_score.nanmean())


@final
@dataclass(frozen=True, eq=False)
class MissingCase:
    """One sample at an element that the training data lacks, and what a trained network makes of it.

    Attributes:
        sample: Position among the new samples, or among the known ones where there are no new ones.
        point: Sample as the network sees it.
        position: Place of its class among those of the data.
        element: Element that was applied.
        output: Outputs of the network that are about classes, or standardised numbers.
        score: 1 or 0; for numbers the share explained.
        margin: How sure it is: output of its class minus the largest other; for numbers the score.
        wanted: Standardised numbers it should give; None for classes.
    """

    sample: int
    point: Float[Tensor, "*s"]
    position: int
    element: int
    output: Float[Tensor, "c"]
    score: float
    margin: float
    wanted: Float[Tensor, "t"] | None

    def __repr__(self) -> str:
        return f"MissingCase(class at {self.position}, element {self.element}, score {self.score:.2f})"


@final
@dataclass(frozen=True, eq=False)
class TrainedAnswer:
    """Scores of one trained network, or of several together.

    Attributes:
        known: Known samples at points that the training data lacks.
        new: New samples at elements that their class lacks; empty without new samples.
        covered: New samples (known ones, where there are none) at elements that their class has.
        averaged: New samples (or known ones) where outputs are averaged over the group, in the cells that
            are asked of their class.
        fit: Known samples at points of the training data.
        near: How often the nearest point of the training data, as the last layer sees it, has the class of a
            new sample at what its class lacks; empty where no last layer was fitted.
        sure: Mean probability of its class there.
        cases: Some missing cases that fail and some that work, the surest of each class.
        asymmetry: Distance of outputs from their mean over the group, over the norm of that mean.
        steps: Steps of one training.
        trainings: How many networks.
        weights: Trained weights by name, of the first network; None where they were not asked for.
        plain: Whether a training with the batch and learning rate of a whole one took the place of a
            compressed one that diverged, at least once.
    """

    known: ScoreTable
    new: ScoreTable
    covered: ScoreTable
    averaged: ScoreTable
    fit: ScoreTable
    near: ScoreTable
    sure: ScoreTable
    cases: tuple[MissingCase, ...]
    asymmetry: float
    steps: int
    trainings: int = 1
    weights: dict[str, Tensor] | None = None
    plain: bool = False

    def __add__(self, other: TrainedAnswer) -> TrainedAnswer:
        return TrainedAnswer(
            self.known + other.known,
            self.new + other.new,
            self.covered + other.covered,
            self.averaged + other.averaged,
            self.fit + other.fit,
            self.near + other.near,
            self.sure + other.sure,
            self.cases + other.cases,
            max(self.asymmetry, other.asymmetry),
            self.steps,
            self.trainings + other.trainings,
            self.weights,
            self.plain or other.plain,
        )

    def __repr__(self) -> str:
        return f"TrainedAnswer({self.headline}, {self.trainings} of {self.steps} steps)"

    @property
    def headline(self) -> ScoreTable:
        """New samples where there are some, else known ones."""
        return self.new if bool(self.new.count.any()) else self.known

    @property
    def fitted(self) -> float:
        """Mean score at points of the training data."""
        return float(self.fit.total.sum() / self.fit.count.sum())


@may_be_infinite
@explained
def class_scores(table: ScoreTable) -> Float64[Tensor, "c"]:
    """The mean over the cells of each class; NaN for classes without any."""
    asked = table.count > 0
    return torch.where(asked, table.mean, 0.0).sum(1) / asked.sum(1)


def sample_scores(averaged: ScoreTable) -> ScoreTable:
    """Scores of averaged outputs, one cell for each class: a sample has the same at every element.

    >>> twice = ScoreTable(torch.tensor([[3.0, 3.0]]).double(), torch.tensor([[4, 4]]))
    >>> one = sample_scores(twice)
    >>> one.total.tolist(), one.count.tolist()
    ([[3.0]], [[4]])
    """
    cells = (averaged.count > 0).sum(1, keepdim=True).clamp(min=1)
    return ScoreTable(averaged.total.sum(1, keepdim=True) / cells, averaged.count.amax(1, keepdim=True))


def grouped_cells(table: ScoreTable) -> ScoreTable:
    """The cells of each class taken together."""
    return ScoreTable(table.total.sum(1, keepdim=True), table.count.sum(1, keepdim=True))
