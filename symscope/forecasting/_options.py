"""How a forecast is computed, and how the network is trained to check it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from torch import nn

from symscope.errors import InputError
from symscope.numerics import check_count, check_ridge, checked
from symscope.training import Optimiser

ADAM = Optimiser("adam", 1e-3)
SGD = Optimiser("sgd", 0.02, momentum=0.9)
MOST_EFFORT = 1000  # times ten seconds for each Gram matrix: three hours
MOST_EPOCHS = 100_000
STEPS = 600  # optimiser steps at least: fewer leave small data unlearned


@final
@dataclass(frozen=True)
class ForecastOptions:
    """How a forecast is computed; the defaults take seconds for small networks.

    Attributes:
        kernel: "infinite", "finite", or "auto": infinite width where the architecture has it.
        per_class: Samples of each class; by default as many as take seconds, 2 to 8.
        resamples: Draws of samples, and of weights where the kernel is finite, for the interval.
        ridge: Absolute number added to the kernel's diagonal.
        pilot_epochs: If not 0, say 10, the network is trained for so many epochs first and the forecast goes
            on from there with the tangent kernel held fixed. Closer to what training gives, and no longer a
            forecast from the architecture alone.
        standardise: Whether each point is centred and scaled to a mean square of 1; by default images and
            series are, point sets, vectors and graphs are not.
        effort: Factor on the budget for kernels that take long, ten seconds for each; at most 1000.
        seed: Seed for drawing samples and weights and for training.
        device: Device on which kernels are computed and networks trained.

    Raises:
        InputError: A number that makes no sense.

    >>> ForecastOptions(per_class=4, seed=1).resamples
    3
    """

    kernel: str = "auto"
    per_class: int | None = None
    resamples: int = 3
    ridge: float = 0.0
    pilot_epochs: int = 0
    standardise: bool | None = None
    effort: float = 1.0
    seed: int = 0
    device: torch.device | str = "cpu"

    def __post_init__(self) -> None:
        if self.kernel not in ("auto", "infinite", "finite"):
            raise InputError(f"kernel: expected 'auto', 'infinite' or 'finite', got {self.kernel!r}.")
        if self.per_class is not None:
            check_count("per_class", self.per_class)
        check_count("resamples", self.resamples, most=1000)
        check_ridge(self.ridge)
        check_count("pilot_epochs", self.pilot_epochs, 0, MOST_EPOCHS)
        if not 0 < self.effort <= MOST_EFFORT:
            raise InputError(f"effort: expected a positive number, at most {MOST_EFFORT}, got {self.effort}.")
        check_count("seed", self.seed, 0)


@checked
@final
@dataclass(frozen=True)
class CheckOptions:
    """How the network is trained to check a forecast; what is None is chosen for the network.

    Attributes:
        epochs: Passes over the points; by default 25, or as many as make 600 steps.
        batch: Points per step.
        optimiser: First training's optimiser; by default Adam at 1e-3, at 3e-3 for networks that average over
            positions, which learn slowly.
        second_optimiser: Second training's optimiser, for the noise floor; by default SGD with momentum for
            Adam and Adam for SGD.
        max_classes: Left-out classes that networks are trained for, spread over all; by default all, or 4 for
            networks that are not made of full connections alone, which are trained one by one.
        kernel_classes: Left-out classes whose tangent kernel after training is computed; 0 for none.

    Raises:
        InputError: A number that makes no sense.
    """

    epochs: int | None = None
    batch: int = 32
    optimiser: Optimiser | None = None
    second_optimiser: Optimiser | None = None
    max_classes: int | None = None
    kernel_classes: int = 3

    def __post_init__(self) -> None:
        for name, most in (("epochs", MOST_EPOCHS), ("batch", None), ("max_classes", None)):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), most=most)
        check_count("kernel_classes", self.kernel_classes, 0)

    def plan(self, module: nn.Module, points: int) -> TrainingPlan:
        """The settings for a network and so many points."""
        averages = any(isinstance(part, nn.AdaptiveAvgPool2d) for part in module.modules())
        optimiser = self.optimiser or (Optimiser("adam", 3e-3) if averages else ADAM)
        steps = -(-points // self.batch)
        epochs = self.epochs or max(25, -(-STEPS // steps))
        second = self.second_optimiser or (SGD if optimiser.kind == "adam" else ADAM)
        batched = trains_batched(module)
        classes = self.max_classes or (10**9 if batched else 4)
        return TrainingPlan(epochs, self.batch, optimiser, second, classes, batched)


@final
@dataclass(frozen=True)
class TrainingPlan:
    """How networks are trained, with nothing left open.

    Attributes:
        epochs: Passes over the points.
        batch: Points per step.
        optimiser: First training's optimiser.
        second_optimiser: Second training's optimiser.
        classes: Left-out classes trained for, at most.
        batched: Whether the networks of all left-out classes are trained as one batched network.
    """

    epochs: int
    batch: int
    optimiser: Optimiser
    second_optimiser: Optimiser
    classes: int
    batched: bool


def trains_batched(module: nn.Module) -> bool:
    """Whether copies batch well on any device: full connections do, convolutions on a CPU do not.

    >>> trains_batched(nn.Sequential(nn.Linear(3, 2), nn.ReLU())), trains_batched(nn.Conv2d(1, 1, 3))
    (True, False)
    """
    parts = [part for part in module.modules() if next(part.parameters(False), None) is not None]
    return all(isinstance(part, nn.Linear) for part in parts)
