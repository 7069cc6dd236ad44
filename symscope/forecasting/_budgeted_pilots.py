"""The pilot trainings that a budget in seconds allows, by times that are measured first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import final

from symscope.errors import DivergedError, InputError
from symscope.forecasting._augmentations import augmentations
from symscope.forecasting._compressed_training import StepCost, smallest_batch
from symscope.forecasting._design_trainer import ASKED, DesignTrainer
from symscope.forecasting._designs import Design, interleaved_designs, true_designs
from symscope.forecasting._first_estimate import fewer_points
from symscope.forecasting._options import SHORT_KERNEL_SHARE, ForecastOptions
from symscope.forecasting._pilot_plan import PilotPlan, pilot_plan, smallest_budget
from symscope.forecasting._question import Question
from symscope.forecasting._remedy_trials import FIRST_REMEDIES, trial_counts
from symscope.forecasting._sample_split import ForecastSamples
from symscope.forecasting._task_wording import seconds_text
from symscope.forecasting._trainings import Trainings
from symscope.training import StepPlan

START_SECONDS = 5.0  # until worker processes have loaded PyTorch and train
LONG_STEP = 1.0  # seconds of a whole step from which on it is not timed itself but from small batches
FITTED_SHARE = 0.1  # of the time, at most, for fitting last layers: to fewer points where it is short
ASKED_SHARE = 0.2  # of the time, at most, for asking pilots and remedies: the rest trains them
PLENTY_ASKED = 200  # points of a class: an accuracy of a half is known to 0.035
PLENTY_SHARE = 0.05  # of the time, at most, for asking more points than that


def budgeted_pilots(
    question: Question,
    trainer: DesignTrainer,
    plan: StepPlan,
    options: ForecastOptions,
    augment: bool,
    trainings: Trainings,
    spent: float = 0.0,
) -> tuple[DesignTrainer, PilotPlan | None, float]:
    """The pilot trainings that the rest of the budget allows, with all remedies, most, the first, or none.

    More than the first, and a shorter pilot beside the longer one, are trained only where the longer one
    still gets a quarter of a whole training, as often as pays.

    Args:
        question: Action and coverage.
        trainer: Network, samples and device.
        plan: Whole training.
        options: Budget and method.
        augment: Whether training on more elements is tried.
        trainings: Where times are kept, and how many trainings run at a time.
        spent: Seconds of the budget that are over.

    Returns:
        The trainer, which asks about fewer points where asking would take much of the time; the plan, None
        where not even the shortest pilots fit; and the seconds that it leaves.
    """
    times = measured_times(question, trainer, plan, trainings)
    # what took longer than it was meant to leaves pilots half of what they were meant to have
    rest = max(options.seconds - spent, _share(options) * options.seconds / 2)
    allowed = max(0.0, rest - (START_SECONDS if times.at_once > 1 else 0))
    possible, curve = trial_counts(question, trainer, augment), needs_curve(trainer.samples)
    first = FIRST_REMEDIES
    if not curve:  # one that needs no shorter pilot beside it
        first = min(first, len(augmentations(question, True))) if augment else 0
    chosen: tuple[DesignTrainer, PilotPlan | None] = (trainer, None)
    few = ((curve, min(first, possible[-1])), (curve, 0))
    for several, remedies in (*((True, count) for count in possible), *few):
        asking, pilots = times.affordable(trainer, allowed, several, remedies)
        enough = remedies < possible[-1] or not remedies
        if pilots is not None and (enough or pilots.suffices):
            chosen = (asking, pilots)
            break
    return *chosen, allowed - (0.0 if chosen[1] is None else chosen[1].seconds)


@final
@dataclass(frozen=True)
class PilotTimes:
    """What pilots of a question take.

    Attributes:
        design: What the first of them sees and lacks.
        designs: Trainings that answer for every class once.
        replaced: Whole trainings that would answer without a forecast.
        whole: Whole training.
        at_once: Trainings that run at a time.
        seconds: Seconds of a whole step.
        step: What steps of smaller batches cost.
        asking: Seconds of asking a trained network about one point.
        points: Points that a last layer may be fitted to.
        fitting: Seconds of fitting it to as many.
    """

    design: Design
    designs: int
    replaced: int
    whole: StepPlan
    at_once: int
    seconds: float
    step: StepCost
    asking: float
    points: int
    fitting: float

    def affordable(
        self, trainer: DesignTrainer, allowed: float, several: bool, remedies: int
    ) -> tuple[DesignTrainer, PilotPlan | None]:
        """A trainer that is quick to ask, and the pilots that fit so many seconds with so many remedies."""
        answers = (1 + several + remedies) * self.designs / self.at_once
        trainer = quick_to_ask(trainer, self.design, allowed / (answers * self.asking))
        share = min(1.0, FITTED_SHARE * allowed / (answers * max(self.fitting, 1e-6)))
        after = self.asking * trainer.asked_points(self.design) + share * self.fitting
        pilots = pilot_plan(
            self.seconds,
            self.whole,
            self.designs,
            self.replaced,
            allowed,
            after / self.seconds,
            remedies,
            self.at_once,
            self.step,
            int(share * self.points),
            several,
        )
        return trainer, pilots

    def smallest_budget(self, trainer: DesignTrainer) -> float:
        """The seconds of the smallest pilots that make a forecast."""
        asked = self.asking * replace(trainer, asked=ASKED[-1]).asked_points(self.design) / self.seconds
        several = needs_curve(trainer.samples)
        arguments = (self.seconds, self.whole, self.step, self.designs, asked, self.at_once, several)
        return smallest_budget(*arguments)


def measured_times(
    question: Question, trainer: DesignTrainer, plan: StepPlan, trainings: Trainings
) -> PilotTimes:
    """Times of a few steps, of asking a network and of fitting its last layer."""
    designs = interleaved_designs(trainer.samples, question.group)
    points, fitting = trainer.refit_points(designs[0]), 0.0
    if points:
        fitting = trainings.measured("fitting a last layer", partial(trainer.refit_seconds, points))
    return PilotTimes(
        designs[0],
        len(designs),
        len(true_designs(trainer.samples, question.group)),
        plan,
        trainings.at_once(trainer.device),
        *step_times(trainer, plan, question, trainings),
        max(1e-9, trainings.measured("asking about a point", trainer.asked_seconds)),
        points,
        fitting,
    )


def needs_curve(samples: ForecastSamples) -> bool:
    """Whether the forecast is extrapolated from pilots of two lengths, instead of corrected after one.

    The correction is about the accuracy of new samples.
    """
    return samples.task.kind != "classification" or samples.new is None


def quick_to_ask(trainer: DesignTrainer, design: Design, points: float) -> DesignTrainer:
    """The trainer that asks about as many points as take a small share of the time, or about the fewest.

    Args:
        trainer: Network, samples and device.
        design: What is asked.
        points: Points that asking about would take all of the time.
    """
    asking = [replace(trainer, asked=most) for most in ASKED]
    shares = [ASKED_SHARE if most <= PLENTY_ASKED else PLENTY_SHARE for most in ASKED]
    rows = zip(asking, shares, strict=True)
    return next((one for one, share in rows if one.asked_points(design) <= share * points), asking[-1])


def step_times(
    trainer: DesignTrainer, plan: StepPlan, question: Question, trainings: Trainings
) -> tuple[float, StepCost]:
    """Seconds of a step of the whole batch, and what steps of smaller batches cost.

    A step that takes long is not timed itself: what each further point adds follows from two small batches.
    A network that fails on the smallest batch is trained on whole ones only.
    """
    design = interleaved_designs(trainer.samples, question.group)[0]
    smallest = min(smallest_batch(trainer.model.builder(0)), plan.batch)
    timed = partial(trainer.step_seconds, design)
    try:
        small = trainings.measured("step of a small batch", partial(timed, replace(plan, batch=smallest)))
    except DivergedError:
        raise
    except InputError:  # sizes of batches may be written into a network
        return trainings.measured("step of training", partial(timed, plan)), StepCost(1.0, plan.batch)
    if small * plan.batch / smallest > LONG_STEP:
        double = partial(timed, replace(plan, batch=2 * smallest))
        further = max(0.0, trainings.measured("step of twice as many", double) - small) / smallest
        whole = small + further * (plan.batch - smallest)
        if whole > LONG_STEP:
            return whole, StepCost.measured(smallest, plan.batch, small / whole)
    seconds = trainings.measured("step of training", partial(timed, plan))
    return seconds, StepCost.measured(smallest, plan.batch, small / seconds)


def too_small_text(
    question: Question,
    trainer: DesignTrainer,
    plan: StepPlan,
    options: ForecastOptions,
    trainings: Trainings,
    spent: float,
) -> str:
    """What a pilot training would take, in words, where so many seconds were spent before."""
    times = measured_times(question, trainer, plan, trainings)
    least = times.smallest_budget(trainer)
    least /= 1 - FITTED_SHARE
    least += START_SECONDS if times.at_once > 1 else 0
    least = max(least / _share(options), least + spent)
    points = fewer_points(question, options.seconds / least)
    return (
        f"{trainer.model.name}: a step of training takes {times.seconds:.2g} s, so that pilot trainings take "
        f"{seconds_text(least)} at least, got a budget of {seconds_text(options.seconds)}; give "
        f"{seconds_text(least)} or more, {points}{', ' * bool(points)}fewer samples (options.samples, "
        "--samples) or smaller batches."
    )


def _share(options: ForecastOptions) -> float:
    """The share of the budget that is for pilots and remedies at least."""
    return 1.0 if options.method == "pilot" else 1 - SHORT_KERNEL_SHARE
