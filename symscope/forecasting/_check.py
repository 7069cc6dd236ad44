"""Training beside the forecast: whole trainings of what was asked, twice, and what they reached."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import final

from jaxtyping import Float64
from torch import Tensor, nn

from symscope.errors import DivergedError
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import true_designs
from symscope.forecasting._equivariance import Equivariance, equivariance
from symscope.forecasting._options import TrainingOptions
from symscope.forecasting._pilot import LEARNED
from symscope.forecasting._question import Question
from symscope.forecasting._trained_answer import TrainedAnswer, class_scores
from symscope.forecasting._training_task import Training
from symscope.forecasting._trainings import Trainings
from symscope.numerics import Progress, explained, partial_progress
from symscope.training import StepPlan

SHOWN = 8  # samples on which equivariance is measured


@final
@dataclass(frozen=True, eq=False)
class TrainingCheck:
    """What whole trainings gave; for regression, accuracy is the share of the numbers' variation explained.

    Attributes:
        first: Answers of the first trainings.
        second: Answers of trainings with another optimiser and other weights.
        plan: How the first networks were trained.
        second_plan: How the second networks were trained.
        equivariance: Equivariance of the first trained network.
        seconds: Time it took.
    """

    first: TrainedAnswer
    second: TrainedAnswer
    plan: StepPlan
    second_plan: StepPlan
    equivariance: Equivariance
    seconds: float

    def __repr__(self) -> str:
        return f"TrainingCheck({self.accuracy:.2f}, noise floor {self.noise_floor:.2f})"

    @property
    def class_accuracy(self) -> Float64[Tensor, "c"]:
        """Accuracy of each class at what was missing of it, on new samples where there are some."""
        return class_scores(self.first.headline)

    @property
    def second_accuracy(self) -> Float64[Tensor, "c"]:
        """The same of the second trainings."""
        return class_scores(self.second.headline)

    @property
    def known_accuracy(self) -> Float64[Tensor, "c"]:
        """Accuracy of each class on known samples at what was missing of them."""
        return class_scores(self.first.known)

    @property
    def accuracy(self) -> float:
        """Mean over classes."""
        return float(self.class_accuracy.nanmean())

    @property
    def noise_floor(self) -> float:
        """Mean over classes of the difference between the two trainings: no forecast can do better."""
        return float((self.class_accuracy - self.second_accuracy).abs().nanmean())

    @property
    def underfit_optimisers(self) -> tuple[str, ...]:
        """The optimisers whose networks have not learned the points they were trained on."""
        both = ((self.plan.optimiser, self.first), (self.second_plan.optimiser, self.second))
        return tuple(one.text for one, answer in both if answer.fitted < LEARNED)


@explained
def check_trainings(
    trainer: DesignTrainer, question: Question, training: TrainingOptions, plan: StepPlan, seed: int
) -> list[Training]:
    """The trainings of a check: every true design, then every one with the second optimiser."""
    designs = true_designs(trainer.samples, question.group, training.max_classes)
    return [
        Training(trainer, design, one, seed + 1000 + k, keeps_weights=k == 0 and design is designs[0])
        for k, one in enumerate((plan, training.second(plan)))
        for design in designs
    ]


@explained
def training_check(
    trainer: DesignTrainer,
    question: Question,
    training: TrainingOptions,
    plan: StepPlan,
    seed: int,
    progress: Progress | None = None,
    trainings: Trainings | None = None,
) -> tuple[TrainingCheck, nn.Module]:
    """Train the network for what was asked, twice over, and measure what the forecast predicted.

    No training is shared with the forecast: seeds are others. Where a second optimiser that was not chosen
    diverges, the second trainings have the first one.

    Args:
        trainer: Network, samples and device.
        question: Action and coverage.
        training: Second optimiser, and how many classes of a sweep are checked.
        plan: Whole training.
        seed: Seed of the forecast.
        progress: Called as `progress(words with the loss, steps done, steps in all)`.
        trainings: Where trainings run and are kept; by default here.

    Returns:
        What was measured, and the first trained network.

    Raises:
        InputError: A loss that is not finite.
    """
    start, trainings = time.perf_counter(), trainings or Trainings()
    jobs, second_plan = check_trainings(trainer, question, training, plan, seed), training.second(plan)
    trainings.announce(jobs)

    def answer(asked: Sequence[Training], done: int) -> TrainedAnswer:
        parts = (
            partial_progress(progress, (done + k) * plan.steps, len(jobs) * plan.steps)
            for k in range(len(asked))
        )
        return reduce(add, map(trainings.answer, asked, parts))

    half = len(jobs) // 2
    first = answer(jobs[:half], 0)
    try:
        second = answer(jobs[half:], half)
    except DivergedError:
        if training.second_optimiser is not None:
            raise
        second_plan = plan
        second = answer([replace(job, plan=plan) for job in jobs[half:]], half)
    module = trainer.model.builder(seed + 1000)
    assert first.weights is not None
    module.load_state_dict(first.weights)
    images = question.data.take(trainer.samples.known.indices[:SHOWN]).x
    measured = equivariance(module, trainer.model, question, images)
    return TrainingCheck(first, second, plan, second_plan, measured, time.perf_counter() - start), module
