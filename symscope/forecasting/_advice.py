"""The price list: what each remedy would reach on the same samples, coverage and missing cases, and its cost.

Remedies are tried by trainings as short as the shorter pilot. What they reach is moved, in logits, by as much
as the forecast moves the network as it is from that length to a whole training. What needs no training of its
own is read from the pilots themselves; what more samples bring is extrapolated. Every training also shows
what averaging its outputs would reach, so that pairs of changes come without further trainings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import torch
from jaxtyping import Bool
from torch import Tensor

from symscope.errors import InputError
from symscope.forecasting._designs import Design, interleaved_designs
from symscope.forecasting._extrapolation import score_half_widths, score_logits, shifted_scores
from symscope.forecasting._pilot import PilotForecast, unlearned_share
from symscope.forecasting._price_list import Advice, Change
from symscope.forecasting._question import Question
from symscope.forecasting._sample_split import ForecastSamples, samples_text
from symscope.forecasting._trained_answer import (
    DesignTrainer,
    ScoreTable,
    TablePrediction,
    TrainedAnswer,
    class_scores,
    grouped_cells,
)
from symscope.networks import user_model
from symscope.numerics import Progress, partial_progress
from symscope.training import StepPlan

SAMPLES_DECAY = 0.84  # of the gain of each further doubling of the samples: 0.7 for a factor of four
DOUBLINGS = (1, 2)
ARCHITECTURES = ("conv-fc", "conv-gap")
SLOW = 0.3  # of the pilots' time: another architecture that takes longer is not tried
FEWEST_HALVED = 4  # samples of a class of which half is still a class
GAIN_SPREAD = 0.5  # standard deviation of a gain measured on short trainings, as a share of it, in logits
Z_975 = 1.96


@final
@dataclass(frozen=True, eq=False)
class Remedies:
    """What remedies are tried with; made once for a forecast.

    Attributes:
        question: Action, coverage and target.
        trainer: Network, samples and device.
        pilot: The forecast for the network as it is.
        training: Batch and optimiser of a whole training.
        seed: Seed of the forecast.
        invariance: Whether remedies that make the network invariant are in the list: not where it is
            invariant already, or labels do not survive the transformation.
    """

    question: Question
    trainer: DesignTrainer
    pilot: PilotForecast
    training: StepPlan
    seed: int
    invariance: bool = True

    @property
    def designs(self) -> list[Design]:
        """The designs of the shorter pilot."""
        return interleaved_designs(self.trainer.samples, self.question.group)

    @property
    def bounded(self) -> bool:
        """Whether scores are shares of points."""
        return self.question.task.kind == "classification"

    def trials(self) -> list[Callable[[Progress | None], list[Advice]]]:
        """What needs trainings of its own, each as long as the shorter pilot."""
        samples, question = self.trainer.samples, self.question
        result: list[Callable[[Progress | None], list[Advice]]] = [
            partial(self.augmented, step)
            for step in (augmentation_steps(question, samples) if self.invariance else [])
        ]
        if min(samples.per_class()) >= FEWEST_HALVED:
            result.append(self._more_samples)
        return result + [partial(self._architecture, name) for name in other_networks(question, self.trainer)]

    def free(self) -> list[Advice]:
        """What the pilot trainings have already shown."""
        if not self.invariance:
            return []
        answer = self.pilot.answers[-1]
        order, group = self.question.group.order, self.question.group.name
        rows = [
            self._row(
                "average",
                f"Average the outputs over the {order} transformed inputs of every test sample.",
                answer.averaged,
                answer.headline,
                1.0,
                order,
                "The pilot networks themselves, averaged over the group.",
                Change(remedy="average"),
            )
        ]
        covered = self.pilot.covered
        if self.question.coverage is None and self.pilot.new is not None and covered is not None:
            text = f"Augment: train on all {order} elements of {group} of every sample."
            evidence = "New samples at transformations that the pilot's training data had."
            share = order / (order - 1)
            change = Change(elements=order)
            rows.append(
                self.advice("augment", text, covered.mean, covered.interval, share, 1, evidence, change)
            )
            trained = f"The pilot networks, which lack one element of each {self.question.task.words.one}"
            rows.append(self._built_in(answer.averaged, answer.headline, trained))
        return rows

    def _run(
        self, designs: list[Design], progress: Progress | None, trainer: DesignTrainer | None = None
    ) -> TrainedAnswer:
        """Trainings on what designs see, asked about the original designs' missing cells."""
        trainer = trainer or self.trainer
        plan = StepPlan(self.pilot.plan.lengths[0], self.training.batch, self.training.optimiser)
        answers: list[TrainedAnswer] = []
        for design, asked in zip(
            designs, interleaved_designs(trainer.samples, self.question.group), strict=True
        ):
            done = len(answers) * plan.steps
            part = partial_progress(progress, done, len(designs) * plan.steps)
            module = trainer.train(design, plan, self.seed, part)
            answers.append(trainer.evaluate(module, asked, plan.steps))
        total = answers[0]
        for one in answers[1:]:
            total = total + one
        return total

    def augmented(self, step: int, progress: Progress | None) -> list[Advice]:
        """Advice to train on every step-th element of every sample as well; none where that is everything."""
        group = self.question.group
        extra = torch.zeros(group.order, dtype=torch.bool)
        extra[::step] = True
        designs = [Design(one.seen | extra, one.missing) for one in self.designs]
        if step > 1 and bool(designs[0].seen.all()):  # the same as all elements
            return []
        answer = self._run(designs, progress)
        count = group.order // step
        which = f"all {group.order} elements" if step == 1 else f"{count} of {group.order} elements"
        text = f"Augment: train on {which} of {group.name} of every sample."
        share = float(designs[0].seen.sum() / self.designs[0].seen.sum())
        evidence = f"A training of {answer.steps} steps on the augmented data."
        change = Change(elements=count)
        one = self._row("augment", text, answer.headline, self._short, share, 1, evidence, change)
        rows = [one, self._averaged_too(one, answer)]
        return [*rows, self._built_in(answer.averaged, self._short, evidence[:-1])] if step == 1 else rows

    def _built_in(self, averaged: ScoreTable, now: ScoreTable, trained: str) -> Advice:
        """What a function that is exactly invariant reaches: a trained one, averaged over the group."""
        group = self.question.group.name
        text = f"Build the symmetry in: an architecture that is invariant under {group}."
        evidence = f"{trained}, averaged over the group: invariant, as such an architecture is."
        return self._row("build in", text, averaged, now, 1.0, 1, evidence, Change(remedy="build in"))

    def _more_samples(self, progress: Progress | None) -> list[Advice]:
        """From half of the samples to all: what doubling them once or twice more would bring."""
        half = [
            Design(one.seen & _half(self.trainer.samples.known.positions)[:, None], one.missing)
            for one in self.designs
        ]
        answer = self._run(half, progress)
        z = [score_logits(grouped_cells(one), self.bounded) for one in (answer.headline, self._short)]
        rise = float((z[1] - z[0]).nanmean())
        rows, gain = [], 0.0
        fewest, most = self.trainer.samples.per_class()
        for doubling in range(1, max(DOUBLINGS) + 1):
            gain += rise * SAMPLES_DECAY**doubling
            now = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
            many = samples_text(fewest * 2**doubling)
            count = many if fewest == most else f"{2**doubling} times as many samples"
            text = f"Collect more: {count} of each {self.question.task.words.one} instead of {now}."
            evidence = (
                f"A training of {answer.steps} steps on half of the samples reaches "
                f"{float(class_scores(answer.headline).nanmean()):.2f}, on all of them "
                f"{float(class_scores(self._short).nanmean()):.2f}; extrapolated."
            )
            change = Change(samples=2**doubling)
            rows.append(self._gained("samples", text, gain, 2.0**doubling, 1, evidence, change))
        return rows

    def _architecture(self, name: str, progress: Progress | None) -> list[Advice]:
        question = self.question
        try:
            model = user_model(name, question.shape, question.outputs)
        except InputError:  # a network that does not suit these samples is no advice
            return []
        trainer = DesignTrainer(model, self.trainer.samples, self.trainer.device)
        designs, plan = interleaved_designs(trainer.samples, question.group), self.pilot.plan
        seconds = trainer.step_seconds(designs[0], self.training) * plan.lengths[0] * len(designs)
        if seconds > SLOW * plan.seconds:  # a much slower network would spend the budget of all others
            return []
        answer = self._run(designs, progress, trainer)
        text = f"Change the architecture to one like {name}."
        evidence = f"A training of {answer.steps} steps of {name} on the same data."
        change = Change(remedy=name)
        one = self._row("architecture", text, answer.headline, self._short, 1.0, 1, evidence, change)
        return [one, self._averaged_too(one, answer)] if self.invariance else [one]

    def _averaged_too(self, one: Advice, answer: TrainedAnswer) -> Advice:
        """A remedy, and the outputs of the same trained networks averaged over the group."""
        remedy = "average" if one.change.remedy == "none" else f"{one.change.remedy}, averaged"
        order = self.question.group.order
        return self._row(
            "combined",
            f"{one.text[:-1]}, and average the outputs over the {order} transformed inputs of test samples.",
            answer.averaged,
            self._short,
            one.training_cost,
            order,
            f"{one.evidence} Its outputs, averaged over the group.",
            replace(one.change, remedy=remedy),
        )

    @property
    def _short(self) -> ScoreTable:
        """The network as it is after the shorter pilot."""
        return self.pilot.answers[0].headline

    def _row(
        self,
        kind: str,
        text: str,
        then: ScoreTable,
        now: ScoreTable,
        training: float,
        inference: int,
        evidence: str,
        change: Change,
    ) -> Advice:
        """Advice from what a remedy reaches after a training as long as that of the network as it is."""
        headline = self.pilot.headline
        predicted = _as_table(headline, now)
        asked = ~headline.class_score.isnan()
        own = grouped_cells(ScoreTable(now.total[asked], now.count[asked]))
        rise = float((score_logits(predicted, self.bounded) - score_logits(own, self.bounded)).nanmean())
        reached = grouped_cells(ScoreTable(then.total[asked], then.count[asked]))
        moved = torch.full_like(reached.total, rise)
        score = float(shifted_scores(reached, moved, self.bounded).nanmean())
        scatter, far = score_half_widths(reached, moved, self.bounded, 1)
        apart = float(scatter.square().sum().sqrt()) / len(scatter), float(far.mean())
        left_open = unlearned_share(self.pilot.fitted, self.pilot.plan)
        below, above = (math.hypot(*apart, left_open * abs(end - score)) for end in (0, 1))
        interval = (score - below, score + above)
        return self.advice(kind, text, score, interval, training, inference, evidence, change)

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


def augmentation_steps(question: Question, samples: ForecastSamples) -> list[int]:
    """Every how many-th elements are tried as an augmentation: all, and fewer where the group is cyclic.

    None for the sweep, whose pilot has shown it already, and without new samples: it would be exact.
    """
    if question.coverage is None or samples.new is None:
        return []
    factors, order = question.group.cyclic_factors, question.group.order
    cyclic = factors is not None and len(factors) == 1
    return [step for step in (1, 2, 4) if step == 1 or (cyclic and order % step == 0 and order >= 2 * step)]


def other_networks(question: Question, trainer: DesignTrainer) -> list[str]:
    """Names of architectures that are tried instead: for images."""
    return [name for name in ARCHITECTURES if question.kind == "image" and name != trainer.model.name]


def trial_count(question: Question, trainer: DesignTrainer, invariance: bool) -> int:
    """How many further networks `remedy_rows` trains."""
    steps = augmentation_steps(question, trainer.samples) if invariance else []
    count = len(steps) + len(other_networks(question, trainer))
    return count + (min(trainer.samples.per_class()) >= FEWEST_HALVED)


def remedy_rows(remedies: Remedies, progress: Progress | None = None) -> Iterator[list[Advice]]:
    """The rows of the price list as they are found: what the pilots show, then a trial at a time.

    Args:
        remedies: What they are tried with; without time for them, what the pilots show alone.
        progress: Called as `progress(words with the loss, steps done, steps of all trials)`.
    """
    headline, plan = remedies.pilot.headline, remedies.pilot.plan
    now = remedies.advice(
        "nothing", "Train as you are.", headline.mean, headline.interval, 1.0, 1, "The forecast.", Change()
    )
    yield [now, *remedies.free()]
    trials = remedies.trials() if plan.remedies else []
    each = plan.lengths[0] * plan.designs
    for k, trial in enumerate(trials):
        yield trial(partial_progress(progress, k * each, len(trials) * each))


def _as_table(prediction: TablePrediction, counted: ScoreTable) -> ScoreTable:
    """Predicted scores of classes as a table, with the points they were measured on."""
    asked = ~prediction.class_score.isnan()
    count = counted.count.sum(1)[asked]
    return ScoreTable((prediction.class_score[asked] * count)[:, None], count[:, None])


def _half(positions: Tensor) -> Bool[Tensor, "m"]:
    """Every other sample of each class."""
    keep = torch.zeros(len(positions), dtype=torch.bool)
    for position in positions.unique():
        keep[(positions == position).nonzero()[:, 0][::2]] = True
    return keep
