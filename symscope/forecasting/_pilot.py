"""The forecast from short trainings: as much as a budget allows, and what a whole training would add to it.

Every class lacks another element in one training (`interleaved_designs`); trainings of two lengths, each
with its schedule run to the end, are extrapolated to the whole number of steps (`_extrapolation`).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from symscope.forecasting._designs import interleaved_designs
from symscope.forecasting._equivariance import INVARIANT
from symscope.forecasting._extrapolation import (
    extrapolated,
    rise_factor,
    score_half_widths,
    score_logits,
    shifted_scores,
)
from symscope.forecasting._learned_forecast import learned_prediction, learned_shift
from symscope.forecasting._neighbours import nearest_neighbours
from symscope.forecasting._trained_answer import DesignTrainer, ScoreTable, TablePrediction, TrainedAnswer
from symscope.groups import FiniteGroup
from symscope.numerics import Progress, explained, partial_progress
from symscope.training import StepPlan

RATIO = 3  # the longer of two trainings over the shorter
LEARNED = 0.95  # score on seen points from which on a network counts as having learned them
FEWEST_STEPS = 20  # of the shorter one: fewer show nothing of how it goes on
REPEATS = 3  # longer trainings at most, where they replace many


@final
@dataclass(frozen=True)
class PilotPlan:
    """Which trainings a budget allows.

    Attributes:
        lengths: Steps of the shorter and of the longer training; remedies are tried for the shorter.
        repeats: How often the longer is run, each time with other elements missing and other weights.
        designs: Trainings of each length in one repeat.
        full: Steps of a whole training.
        replaced: Whole trainings that would answer the question without a forecast.
        remedies: Further networks that there is time for, each trained for the shorter length.
        seconds: Estimated time, remedies included.
    """

    lengths: tuple[int, int]
    repeats: int
    designs: int
    full: int
    replaced: int
    remedies: int
    seconds: float

    @property
    def steps(self) -> int:
        """Steps of all trainings of the network as it is."""
        return (self.lengths[0] + self.lengths[1] * self.repeats) * self.designs

    @property
    def cost(self) -> float:
        """Steps as a share of those of the trainings that it replaces."""
        return self.steps / (self.full * self.replaced)


@explained
def pilot_plan(
    step_seconds: float,
    full: int,
    designs: int,
    replaced: int,
    budget: float,
    asked_steps: float = 0.0,
    remedies: int = 0,
) -> PilotPlan | None:
    """The trainings that fit a budget; None if not even the shortest do.

    Args:
        step_seconds: Seconds of one step.
        full: Steps of a whole training.
        designs: Trainings that answer for every class once.
        replaced: Trainings that would answer without a forecast.
        budget: Seconds.
        asked_steps: What asking a trained network costs, in steps.
        remedies: Further networks that are trained for the shorter length.

    >>> pilot_plan(0.01, 1000, designs=1, replaced=10, budget=4.0)
    PilotPlan(lengths=(100, 300), repeats=1, designs=1, full=1000, replaced=10, remedies=0, seconds=4.0)
    >>> pilot_plan(0.01, 1000, 1, 10, 25.0).lengths, pilot_plan(1.0, 1000, 1, 10, 60.0)
    ((333, 1000), None)
    """
    short = 1 + remedies  # trainings of the shorter length
    affordable = budget / (step_seconds * designs)
    shorter = int((affordable - (short + 1) * asked_steps) / (short + RATIO))
    if shorter < min(FEWEST_STEPS, full // RATIO):
        return None
    lengths, repeats = (shorter, RATIO * shorter), 1
    if lengths[1] >= full:
        lengths = (max(1, full // RATIO), full)
        left = affordable - short * (lengths[0] + asked_steps)
        # more than a third of what it replaces would be no forecast
        repeats = max(1, min(REPEATS, int(left // (full + asked_steps)), replaced // 3))
    spent = short * (lengths[0] + asked_steps) + repeats * (lengths[1] + asked_steps)
    return PilotPlan(lengths, repeats, designs, full, replaced, remedies, spent * designs * step_seconds)


def smallest_budget(step_seconds: float, designs: int, asked_steps: float = 0.0) -> float:
    """The seconds from which on `pilot_plan` finds a plan without remedies.

    >>> smallest_budget(1.0, designs=1), pilot_plan(1.0, 1000, 1, 10, 81.0).lengths
    (81.0, (20, 60))
    """
    return ((1 + RATIO) * FEWEST_STEPS + 2 * asked_steps + 1) * designs * step_seconds


@final
@dataclass(frozen=True, eq=False)
class PilotForecast:
    """What a whole training is predicted to reach, from pilot trainings.

    Attributes:
        known: Known samples at what the training data lacks of them.
        new: New samples at what the training data lacks of their class; None without new samples.
        covered: Samples the network has not been trained on, at elements that the training data has of their
            class; None where every element is missing of some sample.
        answers: What the pilot trainings measured, shortest first.
        plan: Which trainings were run.
        fitted: Score at points of the training data after the longest pilot.
        seconds: Time it took.
    """

    known: TablePrediction
    new: TablePrediction | None
    covered: TablePrediction | None
    answers: tuple[TrainedAnswer, ...]
    plan: PilotPlan
    fitted: float
    seconds: float

    def __repr__(self) -> str:
        return f"PilotForecast({self.headline}, {self.plan.lengths[1]} of {self.plan.full} steps)"

    @property
    def headline(self) -> TablePrediction:
        """New samples where there are some, else known ones."""
        return self.known if self.new is None else self.new


@explained
def pilot_forecast(
    trainer: DesignTrainer,
    group: FiniteGroup,
    plan: PilotPlan,
    training: StepPlan,
    seed: int,
    progress: Progress | None = None,
    regression: ScoreTable | None = None,
) -> PilotForecast:
    """Run the pilot trainings of a plan and extrapolate.

    Args:
        trainer: Network, samples and device.
        group: Group that acts.
        plan: Lengths and repeats.
        training: Batch and optimiser of a whole training.
        seed: Seed for weights and order.
        progress: Called as `progress(words with the loss, steps done, steps in all)`.
        regression: What kernel regression on all samples predicts for new ones at what the training data
            lacks; nearest neighbours take its place where it is not known.

    Raises:
        InputError: A loss that is not finite.
    """
    start, done = time.perf_counter(), 0
    answers: dict[int, TrainedAnswer] = {}
    runs = [(plan.lengths[0], 0), *((plan.lengths[1], repeat) for repeat in range(plan.repeats))]
    for length, repeat in runs:
        steps = StepPlan(length, training.batch, training.optimiser)
        for design in interleaved_designs(trainer.samples, group, repeat):
            part = partial_progress(progress, done, plan.steps)
            answer = trainer.answer(design, steps, seed + repeat, part)
            answers[length] = answers[length] + answer if length in answers else answer
            done += length
    ordered = tuple(answers[length] for length in plan.lengths)
    bounded = trainer.samples.task.kind == "classification"
    last, share = ordered[-1], plan.lengths[1] / plan.full

    def predicted(tables: list[ScoreTable]) -> TablePrediction | None:
        if not bool((tables[-1].count > 0).any()):
            return None
        return predict_table(tables, plan, bounded, last.fitted)

    covered = predicted([one.covered for one in ordered])
    known, new = (predicted([getattr(one, kind) for one in ordered]) for kind in ("known", "new"))
    # a network that is invariant lacks nothing: its curve is that of all transformations
    if bounded and trainer.samples.new is not None and last.asymmetry > INVARIANT:
        if regression is None:
            designs = interleaved_designs(trainer.samples, group)
            regression = nearest_neighbours(trainer.samples, designs, trainer.device)
        shift = learned_shift(last.new, last.covered, last.fitted, regression, share)
        known, new = (learned_prediction(one, shift, share) for one in (last.known, last.new))
    assert known is not None
    seconds = time.perf_counter() - start
    return PilotForecast(known, new, covered, ordered, plan, last.fitted, seconds)


def unlearned_share(fitted: float, plan: PilotPlan) -> float:
    """How much of what a whole training will do a pilot that has not learned its data leaves open, 0 to 1.

    Twice the share of its data that it still lacks to count as learned; 0 for a whole training.

    >>> plan = pilot_plan(0.01, 1000, designs=1, replaced=10, budget=4.0)
    >>> unlearned_share(0.95, plan), round(unlearned_share(0.76, plan), 2), unlearned_share(0.3, plan)
    (0.0, 0.4, 1.0)
    """
    if plan.lengths[1] >= plan.full:
        return 0.0
    return min(1.0, max(0.0, 2 * (LEARNED - fitted) / LEARNED))


def predict_table(
    tables: list[ScoreTable], plan: PilotPlan, bounded: bool, fitted: float = 1.0
) -> TablePrediction:
    """The scores of a whole training, from one table for each length.

    Args:
        tables: Scores after each length, shortest first.
        plan: Lengths and steps of a whole training.
        bounded: Whether scores are shares of points.
        fitted: Score at points of the training data after the longer training.
    """
    last, factor = tables[-1], rise_factor(*plan.lengths, plan.full)
    # cells that only the longer trainings asked about have the common rise
    first, second = (score_logits(one, bounded) for one in tables)
    moved = extrapolated(first, second, factor)
    table = shifted_scores(last, moved, bounded)
    asked: Bool[Tensor, "c n"] = last.count > 0
    own, far = score_half_widths(last, moved, bounded, plan.repeats)
    # a class: its cells share one training, so that their errors go together
    score, own, far = (_class_means(values, asked) for values in (table, own, far))
    half = (own.square() + far.square()).sqrt()
    classes = int((~score.isnan()).sum())
    mean_half = float(((own.nan_to_num().square().sum() / classes**2) + far.nanmean().square()).sqrt())
    open_share, mean = unlearned_share(fitted, plan), float(score.nanmean())
    low = score - torch.hypot(half, open_share * score.abs())
    high = (score + torch.hypot(half, open_share * (1 - score))).clamp(max=1.0)
    ends = (
        mean - math.hypot(mean_half, open_share * abs(mean)),
        min(1.0, mean + math.hypot(mean_half, open_share * (1 - mean))),
    )
    if bounded:
        low, ends = low.clamp(min=0.0), (max(0.0, ends[0]), ends[1])
    return TablePrediction(table, score, low, high, ends)


def _class_means(values: Float64[Tensor, "c n"], asked: Bool[Tensor, "c n"]) -> Float64[Tensor, "c"]:
    return torch.where(asked, values, 0.0).sum(1) / asked.sum(1)
