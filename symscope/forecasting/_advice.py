"""The price list: what each remedy would reach on the same samples, coverage and missing cases, and its cost.

Remedies are tried by trainings of a third of the cost of the pilot. What classifiers reach is corrected as a
pilot of that length is (`_learned_forecast`), with nearest neighbours in the training data that the remedy
would have. What others reach is moved, in logits, by as much as the forecast moves the network as it is from
that length to a whole training. What needs no training of its own is read from the pilots themselves; what
more samples bring is extrapolated. Every training also shows what averaging its outputs would reach, so that
pairs of changes come without further trainings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.errors import DivergedError
from symscope.forecasting._augmentations import all_elements
from symscope.forecasting._compressed_training import progress_share
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import true_designs
from symscope.forecasting._equivariance import INVARIANT
from symscope.forecasting._extrapolation import score_half_widths, score_logits, shifted_scores
from symscope.forecasting._learned_forecast import learned_prediction, learned_shift
from symscope.forecasting._neighbours import affordable_operations, nearest_neighbours
from symscope.forecasting._pilot import PilotForecast, predict_numbers, unlearned_share
from symscope.forecasting._price_list import Advice, Change
from symscope.forecasting._question import Question
from symscope.forecasting._remedy_trials import Trial
from symscope.forecasting._sample_split import samples_text
from symscope.forecasting._trained_answer import (
    ScoreTable,
    TablePrediction,
    TrainedAnswer,
    class_scores,
    grouped_cells,
    sample_scores,
)
from symscope.forecasting._training_price import TrainingPrice, priced
from symscope.forecasting._trainings import Trainings
from symscope.numerics import Progress, partial_progress

SAMPLES_DECAY = 0.84  # of the gain of each further doubling of the samples: 0.7 for a factor of four
DOUBLINGS = (1, 2)
GAIN_SPREAD = 0.5  # standard deviation of a gain measured on short trainings, as a share of it, in logits
Z_975 = 1.96
TRIED = 10  # remedies that share the time for neighbours, about


@final
@dataclass(frozen=True, eq=False)
class Correction:
    """What a training of some progress is corrected by.

    Attributes:
        shift: How far each class moves on the scale of logits.
        progress: How much of a whole training it stands for.
        known: The part of the shift that the longer pilot shows of the network as it is.
    """

    shift: Float64[Tensor, "c"]
    progress: float
    known: float = 0.0


@final
@dataclass(frozen=True, eq=False)
class Remedies:
    """What remedies are tried with; made once for a forecast.

    Attributes:
        question: Action, coverage and target.
        trainer: Network, samples and device.
        pilot: The forecast for the network as it is.
        seed: Seed of the forecast.
        invariance: Whether remedies that make the network invariant, or equivariant, are in the list: not
            where it is already, or labels do not survive the transformation.
        trainings: Where trainings run and are kept.
    """

    question: Question
    trainer: DesignTrainer
    pilot: PilotForecast
    seed: int
    invariance: bool = True
    trainings: Trainings = field(default_factory=Trainings)

    @property
    def bounded(self) -> bool:
        """Whether scores are shares of points."""
        return self.question.task.bounded

    @property
    def _averaged_words(self) -> str:
        """What is averaged, in words, and what is done to it before."""
        if self.question.task.kind == "classification":
            return "softmax probabilities"
        return "outputs" if self.question.target_action is None else "outputs, moved back (ρ(g)⁻¹ f(g x)),"

    @property
    def _target_too(self) -> str:
        """What augmentation does to targets, in words."""
        return "" if self.question.target_action is None else ", its target moved with it (ρ(g) y)"

    def free(self) -> list[Advice]:
        """What the pilot trainings have already shown."""
        if not self.invariance:
            return []
        answer = self.pilot.answers[-1]
        order = self.question.group.order
        rows = [
            self._row(
                "average",
                f"Average the {self._averaged_words} over the {order} transformed inputs of every test "
                "sample.",
                sample_scores(answer.averaged),
                answer.headline,
                1.0,
                order,
                "The pilot networks themselves, averaged over the group.",
                Change(remedy="average"),
            )
        ]
        covered, trained = self.pilot.covered, "The pilot networks"
        if self.question.coverage is None:
            trained += f", which lack one element of each {self.question.task.words.one}"
        if self.question.coverage is None and self.pilot.new is not None and covered is not None:
            text = f"Augment: train on {all_elements(self.question).which} of every sample{self._target_too}."
            evidence = "New samples at transformations that the pilot's training data had."
            today = true_designs(self.trainer.samples, self.question.group)[0].seen
            share = today.numel() / int(today.sum())
            change = Change(elements=order)
            rows.append(
                self.advice("augment", text, covered.mean, covered.interval, share, 1, evidence, change)
            )
        if self.question.coverage is None or self.pilot.new is None:  # else the augmented training shows it
            rows.append(self._built_in(sample_scores(answer.averaged), answer.headline, trained))
        return rows

    def tried(self, trial: Trial, progress: Progress | None = None) -> list[Advice]:
        """Rows of the price list from the trainings of a trial; none, and a note, where they diverge."""
        answers: list[TrainedAnswer] = []
        steps = trial.trainings[0].plan.steps
        for one in trial.trainings:
            part = partial_progress(progress, len(answers) * steps, len(trial.trainings) * steps)
            try:
                answers.append(self.trainings.answer(one, part))
            except DivergedError:
                self.trainings.notes.append(trial.diverged_note)
                return []
        answer = reduce(add, answers)
        rows = {"augment": self._augmented, "samples": self._more_samples, "architecture": self._architecture}
        return rows[trial.kind](trial, answer)

    def _augmented(self, trial: Trial, answer: TrainedAnswer) -> list[Advice]:
        """Advice to train on some or all elements of every sample as well."""
        first, added = trial.trainings[0], trial.added
        assert first.asked is not None and added is not None  # noqa: PT018
        text = f"Augment: train on {added.which} of every sample{self._target_too}."
        share = float(first.design.seen.sum() / first.asked.seen.sum())
        evidence = f"{self._tried} on the augmented data."
        change = Change(elements=added.count, chosen=added.kind)
        correction = self._correction(trial, answer)
        one = self._row("augment", text, answer.headline, correction, share, 1, evidence, change)
        if not self.invariance:
            return [one]
        rows = [one, self._averaged_too(one, answer, correction)]
        if added.count < self.question.group.order:
            return rows
        return [*rows, self._built_in(sample_scores(answer.averaged), correction, evidence[:-1])]

    def _built_in(self, averaged: ScoreTable, now: ScoreTable | Correction, trained: str) -> Advice:
        """What a function with exactly the symmetry reaches: a trained one, averaged over the group."""
        group, word = self.question.group.name, self.question.symmetric
        text = f"Build the symmetry in: an architecture that is {word} under {group}."
        evidence = f"{trained}, averaged over the group: {word}, as such an architecture is."
        return self._row("build in", text, averaged, now, 1.0, 1, evidence, Change(remedy="build in"))

    def _more_samples(self, trial: Trial, answer: TrainedAnswer) -> list[Advice]:
        """From half of the samples to all: what doubling them once or twice more would bring."""
        z = [score_logits(grouped_cells(one), self.bounded) for one in (answer.headline, self._short)]
        rise = max(0.0, float((z[1] - z[0]).nanmean()))  # below zero is noise of two trainings
        rows, gain = [], 0.0
        fewest, most = self.trainer.samples.per_class()
        for doubling in range(1, max(DOUBLINGS) + 1):
            gain += rise * SAMPLES_DECAY**doubling
            now = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
            many = samples_text(fewest * 2**doubling)
            count = many if fewest == most else f"{2**doubling} times as many samples"
            text = f"Collect more: {count} of each {self.question.task.words.one} instead of {now}."
            evidence = (
                f"{self._tried} on half of the samples reaches "
                f"{float(class_scores(answer.headline).nanmean()):.2f}, on all of them "
                f"{float(class_scores(self._short).nanmean()):.2f}; extrapolated."
            )
            change = Change(samples=2**doubling)
            rows.append(self._gained("samples", text, gain, 2.0**doubling, 1, evidence, change))
        return rows

    def _architecture(self, trial: Trial, answer: TrainedAnswer) -> list[Advice]:
        """Advice to take another network."""
        name = trial.trainings[0].trainer.model.name
        text = f"Change the architecture to one like {name}."
        evidence = f"{self._tried} of {name} on the same data."
        change = Change(remedy=name)
        regression = self.pilot.regression
        if not self.bounded and regression is not None and answer.asymmetry > INVARIANT:
            return [self._other_network(text, answer, regression, evidence, change)]
        correction = self._correction(trial, answer)
        one = self._row("architecture", text, answer.headline, correction, 1.0, 1, evidence, change)
        return [one, self._averaged_too(one, answer, correction)] if self.invariance else [one]

    def _correction(self, trial: Trial, answer: TrainedAnswer) -> ScoreTable | Correction:
        """From a trial to a whole training: for classes of new samples as from a pilot that is corrected.

        Else by as much as the network as it is moves from a training as long.
        """
        samples, first = self.trainer.samples, trial.trainings[0]
        if samples.task.kind != "classification" or samples.new is None:
            return self._short
        designs, beside = [one.design for one in trial.trainings], None
        if answer.asymmetry > INVARIANT:
            most = affordable_operations(self.pilot.plan.seconds) / TRIED
            beside = nearest_neighbours(samples, designs, self.trainer.device, most)
        trained = first.otherwise if answer.plain and first.otherwise is not None else first.plan
        progress = progress_share(self.pilot.plan.whole, trained)
        known = self.pilot.short_shift
        return Correction(learned_shift(answer, beside, progress) + known, progress, known)

    def _other_network(
        self, text: str, answer: TrainedAnswer, regression: ScoreTable, evidence: str, change: Change
    ) -> Advice:
        """Advice to take a network that learns numbers at its own pace, whatever the one asked about does."""
        plan = replace(self.pilot.plan, lengths=(self.pilot.plan.tried,))
        predicted = predict_numbers([answer.headline], [answer], plan, regression)
        evidence += " What it has not fitted by then counts as regression with a kernel explains it."
        return self.advice("architecture", text, predicted.mean, predicted.interval, 1.0, 1, evidence, change)

    def _averaged_too(
        self, one: Advice, answer: TrainedAnswer, correction: ScoreTable | Correction
    ) -> Advice:
        """A remedy, and the outputs of the same trained networks averaged over the group."""
        remedy = "average" if one.change.remedy == "none" else f"{one.change.remedy}, averaged"
        order = self.question.group.order
        return self._row(
            "combined",
            f"{one.text[:-1]}, and average the {self._averaged_words} over the {order} transformed inputs "
            "of test samples.",
            sample_scores(answer.averaged),
            correction,
            one.training_cost,
            order,
            f"{one.evidence} Its outputs, averaged over the group.",
            replace(one.change, remedy=remedy),
        )

    @property
    def _tried(self) -> str:
        """What a remedy is tried with, in words."""
        return f"A training at the cost of {self.pilot.plan.tried:,} steps"

    @property
    def _short(self) -> ScoreTable:
        """The network as it is after the shorter pilot."""
        return self.pilot.answers[0].headline

    def _row(
        self,
        kind: str,
        text: str,
        then: ScoreTable,
        now: ScoreTable | Correction,
        training: float,
        inference: int,
        evidence: str,
        change: Change,
    ) -> Advice:
        """Advice from what a remedy reaches, corrected or beside the network as it is after as long."""
        if isinstance(now, Correction):
            whole = learned_prediction(then, now.shift, now.progress)
            alone = learned_prediction(then, now.shift - now.known, now.progress).mean
            low, high = (
                whole.mean + side * math.hypot(whole.mean - end, whole.mean - alone)
                for side, end in zip((-1, 1), whole.interval, strict=True)
            )
            return self.advice(kind, text, whole.mean, (low, high), training, inference, evidence, change)
        headline = self.pilot.headline
        asked = ~headline.class_score.isnan()
        rise = self._rise(headline, now)
        even = change.elements or kind in ("architecture", "build in")
        if not self.bounded and even and self.pilot.covered is not None:
            # what sees every element, or has the symmetry, gains as the network does at those that it sees
            answer = self.pilot.answers[0 if now is self._short else -1]
            rise = self._rise(self.pilot.covered, answer.covered)
        reached = grouped_cells(ScoreTable(then.total[asked], then.count[asked]))
        moved = torch.full_like(reached.total, rise)
        score = float(shifted_scores(reached, moved, self.bounded).nanmean())
        scatter, far = score_half_widths(reached, moved, self.bounded, 1)
        apart = float(scatter.square().sum().sqrt()) / len(scatter), float(far.mean())
        left_open = unlearned_share(self.pilot.fitted, self.pilot.plan)
        below, above = (math.hypot(*apart, left_open * abs(end - score)) for end in (0, 1))
        interval = (score - below, score + above)
        return self.advice(kind, text, score, interval, training, inference, evidence, change)

    def _rise(self, predicted: TablePrediction, now: ScoreTable) -> float:
        """How far a whole training is from a shorter one, on the scale of logits."""
        asked = ~predicted.class_score.isnan()
        own = grouped_cells(ScoreTable(now.total[asked], now.count[asked]))
        ahead = score_logits(_as_table(predicted, now), self.bounded) - score_logits(own, self.bounded)
        return float(ahead.nanmean())

    def _ends(self, score: float, ends: list[float]) -> tuple[float, float]:
        """An interval of what was moved, and of what trainings scatter by."""
        headline = self.pilot.headline
        reach = [abs(headline.mean - end) for end in headline.interval]
        below, above = (abs(score - end) for end in sorted(ends))
        return score - math.hypot(below, reach[0]), score + math.hypot(above, reach[1])

    def _gained(
        self,
        kind: str,
        text: str,
        gain: float,
        training: float,
        inference: int,
        evidence: str,
        change: Change,
    ) -> Advice:
        """Advice whose gain in logits is added to the forecast of every class."""
        headline = self.pilot.headline
        table = _as_table(headline, self.pilot.answers[-1].headline)
        shift = torch.full_like(table.total, gain)
        score = float(shifted_scores(table, shift, self.bounded).nanmean())
        spread = [
            float(
                shifted_scores(table, shift + side * Z_975 * GAIN_SPREAD * abs(gain), self.bounded).nanmean()
            )
            for side in (-1, 1)
        ]
        interval = self._ends(score, spread)
        return self.advice(kind, text, score, interval, training, inference, evidence, change)

    def advice(
        self,
        kind: str,
        text: str,
        score: float,
        interval: tuple[float, float],
        training: float,
        inference: int,
        evidence: str,
        change: Change,
    ) -> Advice:
        """One row of the price list."""
        low = max(0.0, interval[0]) if self.bounded else interval[0]
        gain = score - self.pilot.headline.mean
        high = min(1.0, interval[1])
        return Advice(kind, text, score, low, high, gain, training, inference, evidence, change)


def remedy_rows(
    remedies: Remedies, trials: list[Trial], price: TrainingPrice, progress: Progress | None = None
) -> Iterator[list[Advice]]:
    """The rows of the price list as they are found: what the pilots show, then a trial at a time.

    Args:
        remedies: What they are tried with.
        trials: What needs trainings of its own.
        price: What whole trainings take.
        progress: Called as `progress(words with the loss, steps done, steps of all trials)`.
    """
    headline = remedies.pilot.headline
    now = remedies.advice(
        "nothing", "Train as you are.", headline.mean, headline.interval, 1.0, 1, "The forecast.", Change()
    )
    yield priced([now, *remedies.free()], price)
    steps = [sum(one.plan.steps for one in trial.trainings) for trial in trials]
    for k, trial in enumerate(trials):
        rows = remedies.tried(trial, partial_progress(progress, sum(steps[:k]), sum(steps)))
        yield priced(rows, price, trial.slower)


def _as_table(prediction: TablePrediction, counted: ScoreTable) -> ScoreTable:
    """Predicted scores of classes as a table, with the points they were measured on."""
    asked = ~prediction.class_score.isnan()
    count = counted.count.sum(1)[asked]
    return ScoreTable((prediction.class_score[asked] * count)[:, None], count[:, None])
