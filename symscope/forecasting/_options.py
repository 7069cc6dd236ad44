"""How a forecast is computed, and which training it is about."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, fields, replace
from typing import Any, final

import torch
from torch import nn

from symscope.errors import InputError, nearest
from symscope.numerics import byte_count, check_count, check_ridge, checked
from symscope.runs import Workers
from symscope.training import Optimiser, StepPlan

ADAM = Optimiser("adam", 1e-3)
SGD = Optimiser("sgd", 0.02, momentum=0.9)
MOST_BUDGET = 7 * 86400.0  # seconds: a week
KERNEL_SHARE = 1 / 3  # of the budget, for what needs no training
SHORT_KERNEL_SHARE = 0.1  # the same where the budget is shorter than a whole training
EPOCHS, FEWEST_STEPS, MOST_STEPS = 25, 600, 3000  # of a whole training by default
MANY_POINTS = 4096  # from here on batches are 128, below 32
UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def budget_seconds(budget: int | float | str) -> float:
    """A time in seconds, or as people write it.

    Raises:
        InputError: No time, or none that ends.

    >>> budget_seconds("30s"), budget_seconds("5m"), budget_seconds("1h"), budget_seconds(12)
    (30.0, 300.0, 3600.0, 12.0)
    """
    if isinstance(budget, str):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", budget.strip().lower())
        if found is None or found[2] not in UNITS:
            raise InputError(f"budget: expected a time such as 30s, 5m or 1h, got {budget!r}.")
        budget = float(found[1]) * UNITS[found[2]]
    if not 0 < budget <= MOST_BUDGET:
        raise InputError(f"budget: expected more than 0 seconds and at most a week, got {budget:g} seconds.")
    return float(budget)


@final
@dataclass(frozen=True)
class ForecastOptions:
    """How a forecast is computed; the defaults take about a minute.

    Attributes:
        budget: Time for the forecast, in seconds or as "30s", "5m", "1h"; up to a third of it is for what is
            predicted from the architecture alone, the rest for pilot trainings. The check is not in it.
        method: "pilot", short trainings that are extrapolated; "kernel", the architecture alone; or "auto":
            pilot trainings where the budget allows some.
        kernel: "infinite", "finite", or "auto": infinite width where the architecture has it.
        samples: Samples of each class that networks are trained on, at most; by default all.
        per_class: Samples of each class for the kernel; by default as many as take seconds, 2 to 8.
        resamples: Draws of samples, and of weights where the kernel is finite, for the kernel's interval.
        ridge: Absolute number added to the kernel's diagonal.
        standardise: Whether each point is centred and scaled to a mean square of 1; by default images and
            series are, point sets, vectors and graphs are not.
        seed: Seed for drawing samples and weights and for training.
        device: Device on which kernels are computed and networks trained.
        resume: Folder that keeps every finished training; made if it is missing. The same question asked
            again takes from it what is there and goes on. Read by checksum, never unpickled.
        workers: Local processes that trainings are spread over; None or 0 for this one. The budget counts
            no more of them than there are cores.
        dask: Address of a Dask scheduler whose workers train instead.
        memory: Bytes, or text such as "2GB", for samples under every element (a third) and kernel regression
            (the rest); what does not fit is answered with fewer samples, and says so. Networks and what
            training them takes are not in it.

    Raises:
        InputError: A number that makes no sense.

    >>> ForecastOptions(budget="5m", seed=1).seconds
    300.0
    """

    budget: int | float | str = 60.0
    method: str = "auto"
    kernel: str = "auto"
    samples: int | None = None
    per_class: int | None = None
    resamples: int = 3
    ridge: float = 0.0
    standardise: bool | None = None
    seed: int = 0
    device: torch.device | str = "cpu"
    resume: str | os.PathLike[str] | None = None
    workers: int | None = None
    dask: str | None = None
    memory: int | float | str = "6GB"

    def __post_init__(self) -> None:
        for name, known in (
            ("kernel", ("auto", "infinite", "finite")),
            ("method", ("auto", "pilot", "kernel")),
        ):
            if getattr(self, name) not in known:
                listed = ", ".join(map(repr, known[:-1]))
                raise InputError(f"{name}: expected {listed} or {known[-1]!r}, got {getattr(self, name)!r}.")
        budget_seconds(self.budget)
        for name in ("per_class", "samples"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        check_count("resamples", self.resamples, most=1000)
        check_ridge(self.ridge)
        check_count("seed", self.seed, 0)
        Workers(self.workers, self.dask)
        byte_count(self.memory)

    @property
    def seconds(self) -> float:
        """The budget in seconds."""
        return budget_seconds(self.budget)

    @property
    def sample_memory(self) -> int:
        """Bytes that samples under every element may take.

        >>> ForecastOptions(memory="3GB").sample_memory, ForecastOptions(memory="3GB").kernel_memory
        (1000000000, 2000000000)
        """
        return byte_count(self.memory) // 3

    @property
    def kernel_memory(self) -> int:
        """Bytes that kernel regression may take."""
        return byte_count(self.memory) - self.sample_memory

    @property
    def effort(self) -> float:
        """Factor on the ten seconds that each Gram matrix may take."""
        return KERNEL_SHARE * self.seconds / 20


@checked
@final
@dataclass(frozen=True)
class TrainingOptions:
    """The training that is forecast; what is None is chosen for the network and the data.

    Attributes:
        steps: Steps of a whole training; by default 25 epochs, at least 600 and at most 3,000 steps.
        batch: Points per step; by default 128, or 32 for fewer than 4,096 points.
        optimiser: Optimiser; by default Adam at 1e-3, at 3e-3 for networks that average over positions,
            which learn slowly. Its rate rises over the first 5 % of the steps and then falls to 0.
        second_optimiser: Optimiser of the check's second training, for the noise floor; by default SGD with
            momentum for Adam and Adam for SGD.
        max_classes: Classes that a check of the sweep trains networks for, spread over all; by default all.

    Raises:
        InputError: A number that makes no sense.
    """

    steps: int | None = None
    batch: int | None = None
    optimiser: Optimiser | None = None
    second_optimiser: Optimiser | None = None
    max_classes: int | None = None

    def __post_init__(self) -> None:
        for name, most in (("steps", 10**8), ("batch", 10**6), ("max_classes", None)):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), most=most)

    def plan(self, module: nn.Module, points: int) -> StepPlan:
        """The whole training of a network on so many points."""
        averages = any(
            isinstance(part, (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d)) for part in module.modules()
        )
        optimiser = self.optimiser or (Optimiser("adam", 3e-3) if averages else ADAM)
        batch = self.batch or (128 if points >= MANY_POINTS else 32)
        usual = min(MOST_STEPS, max(FEWEST_STEPS, math.ceil(EPOCHS * points / batch)))
        return StepPlan(self.steps or usual, min(batch, points), optimiser)

    def second(self, plan: StepPlan) -> StepPlan:
        """The same training with the second optimiser."""
        other = self.second_optimiser or (SGD if plan.optimiser.kind == "adam" else ADAM)
        return StepPlan(plan.steps, plan.batch, other)


def with_settings(
    options: ForecastOptions, training: TrainingOptions, settings: dict[str, Any]
) -> tuple[ForecastOptions, TrainingOptions]:
    """Options and training with single fields changed, by name.

    Raises:
        InputError: A name that is none of theirs.

    >>> options, training = with_settings(ForecastOptions(), TrainingOptions(), {"budget": "5m", "steps": 9})
    >>> options.seconds, training.steps
    (300.0, 9)
    """
    names = [[one.name for one in fields(kind)] for kind in (options, training)]
    for name in settings:
        if name not in names[0] + names[1]:
            raise InputError(
                f"forecast: there is no argument or option {name!r}; {nearest(name, names[0] + names[1])}"
            )
    own, others = ({k: v for k, v in settings.items() if k in known} for known in names)
    return replace(options, **own), replace(training, **others)
