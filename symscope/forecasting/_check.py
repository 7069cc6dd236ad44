"""The check of a forecast: the network is trained on what is not missing, and asked about what is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.forecasting._expectation import Missing, missing_masks
from symscope.forecasting._question import Draw
from symscope.forecasting._trainings import batch_well, runs_of
from symscope.groups import FiniteGroup
from symscope.networks import UserModel
from symscope.numerics import Progress, check_count, partial_progress
from symscope.training import Optimiser

ADAM = Optimiser("adam", 1e-3)
SGD = Optimiser("sgd", 0.02, momentum=0.9)
STEPS = 600  # of the optimiser at least: fewer leave small data unlearned
LEARNED = 0.95  # of what was shown: below it a trained network says little
KERNELS = 3  # left-out classes whose kernel after training is computed, unless told otherwise


@final
@dataclass(frozen=True)
class Training:
    """How the network is trained for the check; what is None is chosen for the network.

    Attributes:
        epochs: Passes over the points; by default 25, or as many as make 600 steps.
        batch: Points per step.
        optimiser: What takes the steps; by default Adam at 1e-3, at 3e-3 for networks that average over
            positions, which learn slowly.
        other: The optimiser of the second training, for the noise floor; by default SGD with momentum for
            Adam and Adam for SGD.
        sets: At most so many left-out classes are trained for, spread over all; by default all, or 4 for
            networks that are not made of full connections alone, which are trained one by one.
        kernels: Classes whose tangent kernel after training is computed; 0 for none.
    """

    epochs: int | None = None
    batch: int = 32
    optimiser: Optimiser | None = None
    other: Optimiser | None = None
    sets: int | None = None
    kernels: int = KERNELS

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "sets"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.kernels < 0:
            raise InputError(f"kernels: expected 0 or more, got {self.kernels}.")

    def chosen(self, module: nn.Module, points: int) -> Settled:
        """The settings for a network and so many points."""
        averages = any(isinstance(part, nn.AdaptiveAvgPool2d) for part in module.modules())
        optimiser = self.optimiser or (Optimiser("adam", 3e-3) if averages else ADAM)
        steps = -(-points // self.batch)
        epochs = self.epochs or max(25, -(-STEPS // steps))
        second = self.other or (SGD if optimiser.kind == "adam" else ADAM)
        together = batch_well(module)
        return Settled(
            epochs, self.batch, optimiser, second, self.sets or (10**9 if together else 4), together
        )


@final
@dataclass(frozen=True)
class Settled:
    """Settings with nothing left open.

    Attributes:
        epochs: Passes over the points.
        batch: Points per step.
        optimiser: Of the first training.
        second: Of the second.
        sets: Left-out classes trained for, at most.
        together: Whether the networks are trained together.
    """

    epochs: int
    batch: int
    optimiser: Optimiser
    second: Optimiser
    sets: int
    together: bool


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """What training gave; where numbers are asked for, "accuracy" is what is explained of their variation.

    Attributes:
        class_accuracy: For each class, the share of its missing points the trained network reads right; NaN
            for classes that no network was trained without.
        seen_accuracy: For each network, the share of the points it was trained on.
        second_accuracy: `class_accuracy` of a second training that differs in the optimiser alone.
        second_seen_accuracy: `seen_accuracy` of that one.
        noise_floor: Mean over classes of the difference between the two trainings.
        moved: How far the tangent kernel moved, `1 - <K0, K> / (|K0| |K|)`, mean over some classes; NaN if
            not computed.
        refit_accuracy: For each class, regression with the kernel after training; NaN where not computed.
        losses: Mean loss over each epoch of the first training, mean over networks.
        settings: How it was trained.
    """

    class_accuracy: Float64[Tensor, "c"]
    seen_accuracy: Float64[Tensor, "sets"]
    second_accuracy: Float64[Tensor, "c"]
    second_seen_accuracy: Float64[Tensor, "sets"]
    noise_floor: float
    moved: float
    refit_accuracy: Float64[Tensor, "c"]
    losses: Float64[Tensor, "epochs"]
    settings: Settled

    @property
    def accuracy(self) -> float:
        """Mean over classes."""
        return float(self.class_accuracy.nanmean())

    @property
    def unlearned(self) -> tuple[str, ...]:
        """The optimisers whose networks have not learned what they were shown."""
        both = (
            (self.settings.optimiser, self.seen_accuracy),
            (self.settings.second, self.second_seen_accuracy),
        )
        return tuple(
            f"{one.kind} at {one.learning_rate:g}" for one, seen in both if float(seen.mean()) < LEARNED
        )


def outcome(
    model: UserModel,
    draw: Draw,
    group: FiniteGroup,
    missing: Missing,
    settings: Training,
    seed: int,
    *,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> tuple[Outcome, nn.Module]:
    """Train the network once for each missing set, twice over, and measure what the forecast was about.

    Args:
        model: The network.
        draw: The items the forecast was made for.
        group: What acts.
        missing: As in the forecast.
        settings: How to train.
        seed: Of weights and order.
        device: Where to train.
        progress: Called as `progress(words with the loss, epochs done, epochs in all)`.

    Returns:
        What was measured, and the trained network of the first missing set.

    Raises:
        InputError: A network that cannot be trained this way, or a loss that is not finite.
    """
    masks = missing_masks(draw.labels, group, missing, draw.task.words.one)
    how = settings.chosen(model.builder(seed), masks[0].numel())
    runs = runs_of(model, draw, masks, seed, torch.device(device), how.together, how.sets)
    half = how.epochs * runs.rounds
    first = runs.trained(how.epochs, how.batch, how.optimiser, partial_progress(progress, 0, 2 * half))
    other = runs.trained(how.epochs, how.batch, how.second, partial_progress(progress, half, 2 * half))
    accuracy, second = runs.by_class(first), runs.by_class(other)
    moved, refit = float("nan"), torch.full_like(accuracy, float("nan"))
    if settings.kernels:
        moved, refit = runs.kernels(first, settings.kernels)
    found = Outcome(
        accuracy,
        torch.cat([one.seen for one in first]),
        second,
        torch.cat([one.seen for one in other]),
        float((accuracy - second).abs().nanmean()),
        moved,
        refit,
        torch.cat([one.losses for one in first], 1).mean(1),
        replace(how, sets=len(runs.masks)),
    )
    return found, first[0].stack.copy(0).to("cpu", torch.float64)
