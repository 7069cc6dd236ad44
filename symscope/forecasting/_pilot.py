"""The forecast from short trainings: as much as a budget allows, and what a whole training would add to it.

Every class lacks another element in one training (`interleaved_designs`). Trainings of two costs, each a
whole training compressed (`_compressed_training`), are corrected by what such pilots lacked in a bank of
trainings (`_learned_forecast`), or extrapolated (`_extrapolation`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from symscope.forecasting._compressed_training import progress_share
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import interleaved_designs
from symscope.forecasting._equivariance import INVARIANT
from symscope.forecasting._extrapolation import (
    Z_975,
    extrapolated,
    rise_factor,
    score_half_widths,
    score_logits,
    shifted_scores,
)
from symscope.forecasting._learned_forecast import (
    learned_prediction,
    learned_shift,
    shift_towards,
    to_come,
)
from symscope.forecasting._neighbours import affordable_operations, nearest_neighbours
from symscope.forecasting._number_forecast import regression_scores, trained_numbers
from symscope.forecasting._pilot_plan import PilotPlan
from symscope.forecasting._trained_answer import ScoreTable, TablePrediction, TrainedAnswer
from symscope.forecasting._training_task import Training
from symscope.forecasting._trainings import Trainings
from symscope.groups import FiniteGroup
from symscope.numerics import Progress, explained, partial_progress

LEARNED = 0.95  # score on seen points from which on a network counts as having learned them


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
        regression: What kernel regression explains at what the training data lacks, of new samples or else of
            known ones; None for classes, and for networks that are invariant.
        neighbours: How often the nearest point of the training data has the class of a new sample; None for
            numbers, without new samples, and for networks that are invariant.
    """

    known: TablePrediction
    new: TablePrediction | None
    covered: TablePrediction | None
    answers: tuple[TrainedAnswer, ...]
    plan: PilotPlan
    fitted: float
    seconds: float
    regression: ScoreTable | None = None
    neighbours: ScoreTable | None = None

    def __repr__(self) -> str:
        return f"PilotForecast({self.headline}, {self.plan.lengths[-1]} of {self.plan.full} steps)"

    @property
    def headline(self) -> TablePrediction:
        """New samples where there are some, else known ones."""
        return self.known if self.new is None else self.new

    @cached_property
    def short_shift(self) -> float:
        """How far the corrected shorter pilot is from what the longer one predicts, in logits.

        0 without a shorter one, and for what is not corrected.
        """
        short, plan = self.answers[0], self.plan
        if len(self.answers) == 1 or self.new is None or not bool(short.sure.count.any()):
            return 0.0
        trained = plan.plain(plan.tried) if short.plain else plan.compressed(plan.tried)
        progress = progress_share(plan.whole, trained)
        shift = learned_shift(short, self.neighbours, progress)
        corrected = learned_prediction(short.new, shift, progress).class_score
        both = ~(corrected.isnan() | self.new.class_score.isnan())
        reach = max(abs(self.new.mean - end) for end in self.new.interval)
        return shift_towards(corrected[both], float(self.new.class_score[both].mean()), reach / Z_975)


@final
class PilotStopped(KeyboardInterrupt):
    """Ctrl-C inside a pilot of which some trainings are finished.

    Attributes:
        pilot: What those predict.
        missing: What is missing, in words.
    """

    def __init__(self, pilot: PilotForecast, missing: str) -> None:
        super().__init__(missing)
        self.pilot, self.missing = pilot, missing


@explained
def pilot_trainings(trainer: DesignTrainer, group: FiniteGroup, plan: PilotPlan, seed: int) -> list[Training]:
    """The trainings of a plan: the shorter of every design, then the longer, repeat by repeat."""
    return [
        Training(
            trainer,
            design,
            plan.compressed(cost),
            seed + repeat,
            otherwise=plan.plain(cost),
            refitted=plan.refitted(cost),
        )
        for cost, repeat in plan.runs
        for design in interleaved_designs(trainer.samples, group, repeat)
    ]


@explained
def pilot_forecast(
    trainer: DesignTrainer,
    group: FiniteGroup,
    plan: PilotPlan,
    seed: int,
    progress: Progress | None = None,
    trainings: Trainings | None = None,
) -> PilotForecast:
    """Run the pilot trainings of a plan and extrapolate.

    Args:
        trainer: Network, samples and device.
        group: Group that acts.
        plan: Lengths and repeats, and the whole training.
        seed: Seed for weights and order.
        progress: Called as `progress(words with the loss, steps done, steps in all)`.
        trainings: Where trainings run and are kept; by default here.

    Raises:
        InputError: A loss that is not finite.
        PilotStopped: Ctrl-C after the first training.
    """
    start, trainings = time.perf_counter(), trainings or Trainings()
    jobs, answers = pilot_trainings(trainer, group, plan, seed), list[TrainedAnswer]()
    total = sum(job.plan.steps for job in jobs)
    try:
        for job in jobs:
            done = sum(one.plan.steps for one in jobs[: len(answers)])
            answers.append(trainings.answer(job, partial_progress(progress, done, total)))
    except KeyboardInterrupt as stop:
        rest = [trainings.kept(job) for job in jobs[len(answers) :]]
        finished, shorter, missing = _finished_part(plan, [*answers, *rest])
        if not finished:
            raise
        spent = time.perf_counter() - start
        pilot = _extrapolated_pilot(trainer, group, shorter, finished, spent)
        raise PilotStopped(pilot, missing) from stop
    return _extrapolated_pilot(trainer, group, plan, answers, time.perf_counter() - start)


def _finished_part(
    plan: PilotPlan, answers: Sequence[TrainedAnswer | None]
) -> tuple[list[TrainedAnswer], PilotPlan, str]:
    """Of a plan's answers those that make a smaller plan, that plan, and what it lacks."""
    runs = [answers[k : k + plan.designs] for k in range(0, len(answers), plan.designs)]
    finished = [[one for one in run if one is not None] for run in runs]
    short, long = finished[: -plan.repeats], finished[-plan.repeats :]
    whole = [run for run in long if len(run) == plan.designs]
    if whole and all(len(run) == plan.designs for run in short):
        missing = f"{len(whole)} of {plan.repeats} repeats of its longest trainings are finished"
        kept = [one for run in [*short, *whole] for one in run]
        return kept, replace(plan, repeats=len(whole)), missing
    used = [one for run in whole for one in run] or max(finished, key=len)
    cost = plan.lengths[-1] if used and any(used[:1] == run[:1] for run in long) else plan.lengths[0]
    repeats = max(1, len(whole))
    count = len(used) // repeats
    others = [one for one in plan.lengths if one != cost]
    said = [f"its trainings at the cost of {one:,} steps are missing" for one in others]
    if count < plan.designs:
        said.append(f"those at {cost:,} are here for {count} of {plan.designs} parts of the classes")
    elif others:
        said.append(f"those at {cost:,} are here")
    return used, replace(plan, lengths=(cost,), repeats=repeats, designs=count), ", ".join(said)


def _extrapolated_pilot(
    trainer: DesignTrainer,
    group: FiniteGroup,
    plan: PilotPlan,
    answers: list[TrainedAnswer],
    seconds: float,
) -> PilotForecast:
    """What the answers of a plan's trainings, in their order, lead to."""
    ends = [0, plan.designs, len(answers)] if len(plan.lengths) > 1 else [0, len(answers)]
    ordered = tuple(reduce(add, answers[first:last]) for first, last in pairwise(ends))
    bounded = trainer.samples.task.bounded
    last = ordered[-1]
    share = plan.plain_progress if last.plain else plan.progress

    def predicted(tables: list[ScoreTable]) -> TablePrediction | None:
        if not bool((tables[-1].count > 0).any()):
            return None
        return predict_table(tables, plan, bounded, last.fitted)

    covered = predicted([one.covered for one in ordered])
    known, new = (predicted([getattr(one, kind) for one in ordered]) for kind in ("known", "new"))
    classes = trainer.samples.task.kind == "classification"
    beside: ScoreTable | None = None
    if classes and trainer.samples.new is not None:
        if last.asymmetry > INVARIANT:
            designs, most = interleaved_designs(trainer.samples, group), affordable_operations(plan.seconds)
            beside = nearest_neighbours(trainer.samples, designs, trainer.device, most)
        shift = learned_shift(last, beside, share)
        known, new = (learned_prediction(one, shift, share) for one in (last.known, last.new))
    anchors: tuple[ScoreTable | None, ScoreTable | None] = (None, None)
    if trainer.samples.task.kind == "regression" and last.asymmetry > INVARIANT:
        anchors = regression_scores(trainer.samples, interleaved_designs(trainer.samples, group))
        known = predict_numbers([one.known for one in ordered], ordered, plan, anchors[0])
        if new is not None:
            new = predict_numbers([one.new for one in ordered], ordered, plan, anchors[1])
    assert known is not None
    anchor = anchors[0] if new is None else anchors[1]
    return PilotForecast(known, new, covered, ordered, plan, last.fitted, seconds, anchor, beside)


def pilot_notes(pilot: PilotForecast, possible: int) -> list[str]:
    """What to know of a pilot: another plan took its place, it has not learned, remedies are left out.

    Args:
        pilot: What pilots predict.
        possible: Trainings of remedies that a larger budget has.
    """
    notes, plan = [], pilot.plan
    if pilot.answers[-1].plain:
        notes.append(
            "A pilot in small batches or at a higher learning rate diverged or failed; one with your batch "
            "and learning rate took its place, and says less of a whole training at the same cost."
        )
    if pilot.fitted < LEARNED:
        whole = plan.lengths[-1] >= plan.full
        what = "train for more steps, with another learning rate, or another network"
        notes.append(
            f"At the cost of {plan.lengths[-1]:,} of {plan.full:,} steps the network has not learned "
            f"what it was shown ({pilot.fitted:.1%}): "
            + (f"{what}." if whole else "a larger budget makes the forecast more certain.")
        )
    if plan.remedies < possible:
        some = f"at most {plan.remedies} of {possible}" if plan.remedies else "no"
        notes.append(
            f"The budget leaves time for {some} trainings of remedies, so that ways to augment, more samples "
            "or other architectures may be missing in the price list; a larger budget tries them."
        )
    return notes


def predict_numbers(
    tables: list[ScoreTable],
    answers: Sequence[TrainedAnswer],
    plan: PilotPlan,
    regression: ScoreTable | None,
) -> TablePrediction:
    """The explained variation of a whole training, from one table for each length and kernel regression.

    Args:
        tables: Scores after each length, shortest first.
        answers: What the trainings of each length measured.
        plan: Lengths and steps of a whole training.
        regression: What kernel regression explains in the same cells.
    """
    plain = predict_table(tables, plan, False, answers[-1].fitted)
    if regression is None:
        return plain
    table, apart = trained_numbers(tables, [one.fitted for one in answers], plan, regression)
    asked = tables[-1].count > 0
    score, far = (_class_means(values, asked) for values in (table, apart))
    # what pilots alone say, and what regression alone says, stay possible as far as nothing was learned
    left_open, moved = unlearned_share(answers[-1].fitted, plan), score - plain.class_score
    reach, away = (far - score) * left_open, left_open * moved
    low = plain.class_low + moved + torch.minimum(reach, -away).clamp(max=0)
    high = (plain.class_high + moved + torch.maximum(reach, -away).clamp(min=0)).clamp(max=1.0)
    change, mean_reach = (float(one.nanmean()) for one in (moved, reach))
    ends = (
        plain.interval[0] + change + min(0.0, mean_reach, -left_open * change),
        min(1.0, plain.interval[1] + change + max(0.0, mean_reach, -left_open * change)),
    )
    return TablePrediction(table, score, torch.minimum(low, score), torch.maximum(high, score), ends)


def unlearned_share(fitted: float, plan: PilotPlan) -> float:
    """How much of what a whole training will do a pilot that has not learned its data leaves open, 0 to 1.

    Twice the share of its data that it still lacks to count as learned; 0 for a whole training.

    >>> from symscope.forecasting._pilot_plan import pilot_plan
    >>> from symscope.training import Optimiser, StepPlan
    >>> whole = StepPlan(1000, 128, Optimiser("adam", 1e-3))
    >>> plan = pilot_plan(0.01, whole, designs=1, replaced=10, budget=4.0)
    >>> unlearned_share(0.95, plan), round(unlearned_share(0.76, plan), 2), unlearned_share(0.3, plan)
    (0.0, 0.4, 1.0)
    """
    if plan.lengths[-1] >= plan.full:
        return 0.0
    return min(1.0, max(0.0, 2 * (LEARNED - fitted) / LEARNED))


def predict_table(
    tables: list[ScoreTable], plan: PilotPlan, bounded: bool, fitted: float = 1.0
) -> TablePrediction:
    """The scores of a whole training, from one table for each length.

    Args:
        tables: Scores after each length, shortest first; after one length alone nothing is extrapolated, and
            intervals reach as far as a whole training may still go.
        plan: Lengths and steps of a whole training.
        bounded: Whether scores are shares of points.
        fitted: Score at points of the training data after the longer training.
    """
    last, open_share = tables[-1], unlearned_share(fitted, plan)
    if len(tables) > 1:
        # cells that only the longer trainings asked about have the common rise
        first, second = (score_logits(one, bounded) for one in tables)
        moved = extrapolated(first, second, rise_factor(plan.lengths[0], plan.lengths[1], plan.full))
    else:
        moved, open_share = (
            torch.zeros_like(last.total),
            max(open_share, to_come(plan.progress)),
        )
    table = shifted_scores(last, moved, bounded)
    asked: Bool[Tensor, "c n"] = last.count > 0
    own, far = score_half_widths(last, moved, bounded, plan.repeats)
    # a class: its cells share one training, so that their errors go together
    score, own, far = (_class_means(values, asked) for values in (table, own, far))
    half = (own.square() + far.square()).sqrt()
    classes = int((~score.isnan()).sum())
    mean_half = float(((own.nan_to_num().square().sum() / classes**2) + far.nanmean().square()).sqrt())
    mean = float(score.nanmean())
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
