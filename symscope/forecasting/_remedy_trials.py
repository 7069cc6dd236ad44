"""Which further trainings the price list needs: with more elements, fewer samples, another architecture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import torch
from jaxtyping import Bool
from torch import Tensor

from symscope.errors import DivergedError, InputError
from symscope.forecasting._augmentations import Augmentation, all_elements, augmentations
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import Design, interleaved_designs
from symscope.forecasting._pilot_plan import PilotPlan
from symscope.forecasting._question import Question
from symscope.forecasting._task_wording import seconds_text
from symscope.forecasting._training_task import Training
from symscope.forecasting._trainings import Trainings
from symscope.networks import user_model

ARCHITECTURES = {
    "image": ("conv-fc", "conv-gap"),
    "series": ("conv1d",),
    "points": ("deepsets",),
    "set": ("deepsets",),
    "graph": ("message-passing",),
}
POOLED = ("conv-gap", "conv1d", "deepsets", "message-passing")  # of no use where outputs have positions
SLOW = 0.3  # of the pilots' time: another architecture that takes longer needs time to spare
FEWEST_HALVED = 4  # samples of a class of which half is still a class
FIRST_REMEDIES = 1  # that is tried where the budget is short


@final
@dataclass(frozen=True, eq=False)
class Trial:
    """Trainings that show what a remedy brings, each a third as long as the longest pilot.

    Attributes:
        kind: "augment", "samples" or "architecture".
        trainings: Trainings of the designs, asked about what the original designs lack.
        added: Elements that an augmented training holds of every sample; None for the others.
        slower: Seconds of a step over those of the network as it is.
    """

    kind: str
    trainings: list[Training]
    added: Augmentation | None = None
    slower: float = 1.0

    @property
    def diverged_note(self) -> str:
        """What to say where its trainings diverge."""
        added = "" if self.added is None else self.added.which
        what = {"augment": f"training on {added}", "samples": "more samples"}
        return _diverged_note(what.get(self.kind, self.trainings[0].trainer.model.name))


def _diverged_note(what: str) -> str:
    return f"The price list lacks {what.strip(',')}: it was tried, and diverged at this learning rate."


def other_networks(question: Question, trainer: DesignTrainer) -> list[str]:
    """Names of architectures that are tried instead, for what the samples are; none that loses maps."""
    suited = ARCHITECTURES.get(question.kind, ())
    maps = len(question.target_shape) > 1
    return [name for name in suited if name != trainer.model.name and not (maps and name in POOLED)]


def trial_counts(question: Question, trainer: DesignTrainer, augment: bool) -> list[int]:
    """How many further networks `remedy_trials` trains at most; then without drawn elements and ranges."""
    sets = augmentations(question, trainer.samples.new is not None) if augment else []
    further = sum(one.kind != "spread" for one in sets)
    count = len(sets) + len(other_networks(question, trainer))
    count += min(trainer.samples.per_class()) >= FEWEST_HALVED
    return sorted({count, count - further}, reverse=True)


def remedy_trials(
    question: Question,
    trainer: DesignTrainer,
    plan: PilotPlan,
    seed: int,
    augment: bool,
    trainings: Trainings,
    spare: float = 0.0,
) -> list[Trial]:
    """What needs trainings of its own, as many as the plan has time for.

    Training on all elements comes first, then more samples, other architectures, fewer elements, and those
    that are drawn or a range.

    Args:
        question: Action and coverage.
        trainer: Network, samples and device.
        plan: Pilot trainings.
        seed: Seed of the forecast.
        augment: Whether training on more elements is tried.
        trainings: Where trainings run, whose step other architectures are timed with.
        spare: Seconds of the budget that the plan leaves, for architectures that are slower.
    """
    trials = list[Trial]()
    sets = augmentations(question, trainer.samples.new is not None) if augment else []
    for added in sets[:1]:
        trials += augmentation_trial(question, trainer, plan, seed, added)
    if (
        min(trainer.samples.per_class()) >= FEWEST_HALVED and len(plan.lengths) > 1
    ):  # beside the shorter pilot
        half = _half(trainer.samples.known.positions)[:, None]
        jobs = _short_trainings(question, trainer, plan, seed, lambda seen: seen & half)
        trials.append(Trial("samples", jobs))
    for name in other_networks(question, trainer):
        if len(trials) >= plan.remedies:
            break
        try:
            model = user_model(name, question.shape, question.outputs)
        except InputError:  # a network that does not suit these samples is no advice
            continue
        jobs = _short_trainings(question, replace(trainer, model=model), plan, seed)
        try:
            jobs, seconds, step = _timed(jobs, trainings)
        except DivergedError:
            trainings.notes.append(_diverged_note(name))
            continue
        if seconds > max(SLOW * plan.seconds, spare):  # it would spend the budget of all others
            trainings.notes.append(
                f"The price list lacks {name}: a training of it would take about {seconds_text(seconds)}; a "
                "larger budget tries it."
            )
            continue
        spare -= seconds
        own = plan.step_seconds * plan.step.of(jobs[0].plan.batch, plan.whole.batch)
        trials.append(Trial("architecture", jobs, slower=step / own if own else 1.0))
    for added in sets[1:]:
        for one in augmentation_trial(question, trainer, plan, seed, added):
            if not any(_same_data(one, other) for other in trials):
                trials.append(one)
    return trials[: plan.remedies]


def _same_data(one: Trial, other: Trial) -> bool:
    """Whether two augmentations add the same to the training data."""
    first, second = one.trainings[0].design, other.trainings[0].design
    return other.added is not None and torch.equal(first.seen, second.seen)


def _timed(jobs: list[Training], trainings: Trainings) -> tuple[list[Training], float, float]:
    """Trainings of another network, whose last layer may be wider, how many seconds all take, and one step.

    Raises:
        DivergedError: Its first steps are not finite.
    """
    trainer, design, plan = jobs[0].trainer, jobs[0].design, jobs[0].plan
    name, points = trainer.model.name, min(jobs[0].refitted, trainer.refit_points(design))
    step = trainings.measured(f"step of {name}", partial(trainer.step_seconds, design, plan))
    seconds = step * plan.steps
    if points:
        what = f"fitting the last layer of {name}"
        seconds += trainings.measured(what, partial(trainer.refit_seconds, points))
    asking = trainings.measured(f"asking {name} about a point", trainer.asked_seconds)
    seconds += asking * trainer.asked_points(design)
    return [replace(one, refitted=points) for one in jobs], seconds * len(jobs), step


def augmentation_trial(
    question: Question,
    trainer: DesignTrainer,
    plan: PilotPlan,
    seed: int,
    added: Augmentation | None = None,
) -> list[Trial]:
    """Training on some elements of every sample as well, by default all.

    No trial where they add nothing, or what all elements add.
    """
    added = added or all_elements(question)
    extra = added.mask(len(trainer.samples.known), seed)
    jobs = _short_trainings(question, trainer, plan, seed, lambda seen: seen | extra)
    first = jobs[0]
    assert first.asked is not None
    whole = bool(first.design.seen.all()) and added.count < question.group.order
    if whole or torch.equal(first.design.seen, first.asked.seen):
        return []
    return [Trial("augment", jobs, added)]


def _short_trainings(
    question: Question,
    trainer: DesignTrainer,
    plan: PilotPlan,
    seed: int,
    changed: Callable[[Bool[Tensor, "m n"]], Bool[Tensor, "m n"]] = lambda seen: seen,
) -> list[Training]:
    """Trainings on what designs see, changed, asked about the original designs' missing cells."""
    steps, plain, points = plan.compressed(plan.tried), plan.plain(plan.tried), plan.refitted(plan.tried)
    return [
        Training(
            trainer,
            Design(changed(one.seen), one.missing),
            steps,
            seed,
            one,
            otherwise=plain,
            refitted=points,
        )
        for one in interleaved_designs(trainer.samples, question.group)
    ]


def _half(positions: Tensor) -> Bool[Tensor, "m"]:
    """Every other sample of each class."""
    keep = torch.zeros(len(positions), dtype=torch.bool)
    for position in positions.unique():
        keep[(positions == position).nonzero()[:, 0][::2]] = True
    return keep
