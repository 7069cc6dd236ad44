"""Which further trainings the price list needs: with more elements, fewer samples, another architecture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from jaxtyping import Bool
from torch import Tensor

from symscope.errors import InputError
from symscope.forecasting._designs import Design, interleaved_designs
from symscope.forecasting._pilot_plan import PilotPlan
from symscope.forecasting._question import Question
from symscope.forecasting._sample_split import ForecastSamples
from symscope.forecasting._trained_answer import DesignTrainer
from symscope.forecasting._training_task import Training
from symscope.forecasting._trainings import Trainings
from symscope.networks import user_model
from symscope.training import StepPlan

ARCHITECTURES = {
    "image": ("conv-fc", "conv-gap"),
    "series": ("conv1d",),
    "points": ("deepsets",),
    "set": ("deepsets",),
    "graph": ("message-passing",),
}
POOLED = ("conv-gap", "conv1d")  # of no use where outputs have positions
SLOW = 0.3  # of the pilots' time: another architecture that takes longer is not tried
FEWEST_HALVED = 4  # samples of a class of which half is still a class


@final
@dataclass(frozen=True, eq=False)
class Trial:
    """Trainings that show what a remedy brings, each as long as the shorter pilot.

    Attributes:
        kind: "augment", "samples" or "architecture".
        trainings: Trainings of the designs, asked about what the original designs lack.
        elements: Elements in which an augmented training holds every sample; 0 for the others.
    """

    kind: str
    trainings: list[Training]
    elements: int = 0


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
    """Names of architectures that are tried instead, for what the samples are; none that loses maps."""
    suited = ARCHITECTURES.get(question.kind, ())
    maps = len(question.target_shape) > 1
    return [name for name in suited if name != trainer.model.name and not (maps and name in POOLED)]


def trial_count(question: Question, trainer: DesignTrainer, invariance: bool) -> int:
    """How many further networks `remedy_trials` trains at most."""
    steps = augmentation_steps(question, trainer.samples) if invariance else []
    count = len(steps) + len(other_networks(question, trainer))
    return count + (min(trainer.samples.per_class()) >= FEWEST_HALVED)


def remedy_trials(
    question: Question,
    trainer: DesignTrainer,
    plan: PilotPlan,
    training: StepPlan,
    seed: int,
    invariance: bool,
    trainings: Trainings,
) -> list[Trial]:
    """What needs trainings of its own; nothing where the plan has no time for remedies.

    Args:
        question: Action and coverage.
        trainer: Network, samples and device.
        plan: Pilot trainings.
        training: Batch and optimiser of a whole training.
        seed: Seed of the forecast.
        invariance: Whether remedies that make the network invariant are tried.
        trainings: Where trainings run, whose step other architectures are timed with.
    """
    if not plan.remedies:
        return []
    trials = []
    for step in augmentation_steps(question, trainer.samples) if invariance else []:
        trials += augmentation_trial(question, trainer, plan, training, seed, step)
    if min(trainer.samples.per_class()) >= FEWEST_HALVED:
        half = _half(trainer.samples.known.positions)[:, None]
        jobs = _short_trainings(question, trainer, plan, training, seed, lambda seen: seen & half)
        trials.append(Trial("samples", jobs))
    for name in other_networks(question, trainer):
        try:
            model = user_model(name, question.shape, question.outputs)
        except InputError:  # a network that does not suit these samples is no advice
            continue
        other = DesignTrainer(model, trainer.samples, trainer.device)
        jobs = _short_trainings(question, other, plan, training, seed)
        timed = partial(other.step_seconds, jobs[0].design, training)
        seconds = trainings.measured(f"step of {name}", timed) * plan.lengths[0] * len(jobs)
        if seconds <= SLOW * plan.seconds:  # a much slower network would spend the budget of all others
            trials.append(Trial("architecture", jobs))
    return trials


def augmentation_trial(
    question: Question, trainer: DesignTrainer, plan: PilotPlan, training: StepPlan, seed: int, step: int = 1
) -> list[Trial]:
    """Training on every step-th element of every sample as well; no trial where that is everything."""
    extra = torch.zeros(question.group.order, dtype=torch.bool)
    extra[::step] = True
    jobs = _short_trainings(question, trainer, plan, training, seed, lambda seen: seen | extra)
    if step > 1 and bool(jobs[0].design.seen.all()):  # the same as all elements
        return []
    return [Trial("augment", jobs, question.group.order // step)]


def _short_trainings(
    question: Question,
    trainer: DesignTrainer,
    plan: PilotPlan,
    training: StepPlan,
    seed: int,
    changed: Callable[[Bool[Tensor, "m n"]], Bool[Tensor, "m n"]] = lambda seen: seen,
) -> list[Training]:
    """Trainings on what designs see, changed, asked about the original designs' missing cells."""
    steps = StepPlan(plan.lengths[0], training.batch, training.optimiser)
    return [
        Training(trainer, Design(changed(one.seen), one.missing), steps, seed, asked=one)
        for one in interleaved_designs(trainer.samples, question.group)
    ]


def _half(positions: Tensor) -> Bool[Tensor, "m"]:
    """Every other sample of each class."""
    keep = torch.zeros(len(positions), dtype=torch.bool)
    for position in positions.unique():
        keep[(positions == position).nonzero()[:, 0][::2]] = True
    return keep
