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
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import Design, interleaved_designs
from symscope.forecasting._first_estimate import seconds_text
from symscope.forecasting._pilot_plan import PilotPlan
from symscope.forecasting._question import Question
from symscope.forecasting._training_task import Training
from symscope.forecasting._trainings import Trainings
from symscope.groups import FiniteGroup, parse
from symscope.networks import user_model

ARCHITECTURES = {
    "image": ("conv-fc", "conv-gap"),
    "series": ("conv1d",),
    "points": ("deepsets",),
    "set": ("deepsets",),
    "graph": ("message-passing",),
}
POOLED = ("conv-gap", "conv1d", "deepsets", "message-passing")  # of no use where outputs have positions
SAME_TURN = 1e-9  # distance of matrices of one rotation
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
        elements: Elements in which an augmented training holds every sample; 0 for the others.
        which: These elements in words.
    """

    kind: str
    trainings: list[Training]
    elements: int = 0
    which: str = ""

    @property
    def diverged_note(self) -> str:
        """What to say where its trainings diverge."""
        what = {"augment": f"training on {self.which}", "samples": "more samples"}
        return _diverged_note(what.get(self.kind, self.trainings[0].trainer.model.name))


def _diverged_note(what: str) -> str:
    return f"The price list lacks {what.strip(',')}: it was tried, and diverged at this learning rate."


def augmentations(question: Question, has_new: bool) -> list[Bool[Tensor, "n"]]:
    """Elements that are tried as an augmentation: all, and fewer where a smaller group is spread as evenly.

    Every second and fourth of a cyclic group; of the larger rotation groups of space the tetrahedral one.
    None for the sweep, whose pilot has shown it already, and without new samples: it would be exact.
    """
    if question.coverage is None or not has_new:
        return []
    group = question.group
    everything = torch.ones(group.order, dtype=torch.bool)
    if group.cyclic_factors is not None and len(group.cyclic_factors) == 1:
        steps = [step for step in (2, 4) if group.order % step == 0 and group.order >= 2 * step]
        return [everything, *(torch.arange(group.order) % step == 0 for step in steps)]
    solid = _tetrahedral(group)
    return [everything] if solid is None else [everything, solid]


def _tetrahedral(group: FiniteGroup) -> Bool[Tensor, "n"] | None:
    """Which elements of a larger rotation group of space are those of the tetrahedron."""
    tetrahedral = parse("T")
    assert isinstance(tetrahedral, FiniteGroup)
    assert tetrahedral.matrices is not None
    matrices = group.matrices
    if matrices is None or matrices.shape[-1] != 3 or group.order <= tetrahedral.order:
        return None
    apart = torch.cdist(matrices.flatten(1), tetrahedral.matrices.flatten(1)).amin(1)
    found = apart < SAME_TURN
    return found if int(found.sum()) == tetrahedral.order else None


def other_networks(question: Question, trainer: DesignTrainer) -> list[str]:
    """Names of architectures that are tried instead, for what the samples are; none that loses maps."""
    suited = ARCHITECTURES.get(question.kind, ())
    maps = len(question.target_shape) > 1
    return [name for name in suited if name != trainer.model.name and not (maps and name in POOLED)]


def trial_count(question: Question, trainer: DesignTrainer, augment: bool) -> int:
    """How many further networks `remedy_trials` trains at most."""
    sets = augmentations(question, trainer.samples.new is not None) if augment else []
    count = len(sets) + len(other_networks(question, trainer))
    return count + (min(trainer.samples.per_class()) >= FEWEST_HALVED)


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

    Training on all elements comes first, then more samples, other architectures, and fewer elements.

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
    for chosen in sets[:1]:
        trials += augmentation_trial(question, trainer, plan, seed, chosen)
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
            jobs, seconds = _timed(jobs, trainings)
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
        trials.append(Trial("architecture", jobs))
    for chosen in sets[1:]:
        trials += augmentation_trial(question, trainer, plan, seed, chosen)
    return trials[: plan.remedies]


def _timed(jobs: list[Training], trainings: Trainings) -> tuple[list[Training], float]:
    """Trainings of another network, whose last layer may be wider, and about how many seconds all take.

    Raises:
        DivergedError: Its first steps are not finite.
    """
    trainer, design, plan = jobs[0].trainer, jobs[0].design, jobs[0].plan
    name, points = trainer.model.name, min(jobs[0].refitted, trainer.refit_points(design))
    seconds = trainings.measured(f"step of {name}", partial(trainer.step_seconds, design, plan)) * plan.steps
    if points:
        what = f"fitting the last layer of {name}"
        seconds += trainings.measured(what, partial(trainer.refit_seconds, points))
    asking = trainings.measured(f"asking {name} about a point", trainer.asked_seconds)
    seconds += asking * trainer.asked_points(design)
    return [replace(one, refitted=points) for one in jobs], seconds * len(jobs)


def augmentation_trial(
    question: Question,
    trainer: DesignTrainer,
    plan: PilotPlan,
    seed: int,
    chosen: Bool[Tensor, "n"] | None = None,
) -> list[Trial]:
    """Training on some elements of every sample as well, by default all; no trial where some are all."""
    order = question.group.order
    extra = torch.ones(order, dtype=torch.bool) if chosen is None else chosen
    jobs = _short_trainings(question, trainer, plan, seed, lambda seen: seen | extra)
    if not bool(extra.all()) and bool(jobs[0].design.seen.all()):  # the same as all elements
        return []
    return [Trial("augment", jobs, int(extra.sum()), _chosen_words(question, int(extra.sum())))]


def elements_text(count: int, order: int) -> str:
    """How many elements of a group, in words.

    >>> elements_text(2, 2), elements_text(8, 8), elements_text(2, 8)
    ('both', 'all 8', '2 of 8')
    """
    if count < order:
        return f"{count} of {order}"
    return "both" if order == 2 else f"all {order}"


def _chosen_words(question: Question, count: int) -> str:
    """Elements of an augmentation in words: how many, and how far apart or which."""
    group, degrees = question.group, question.degrees
    which = f"{elements_text(count, group.order)} elements of {group.name}"
    if degrees is not None and group.cyclic_factors is not None:
        return f"{which}, every {degrees * group.order / count:g}°,"
    if group.matrices is not None and count < group.order:
        return f"{which}, the rotations T of the tetrahedron,"
    return which


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
