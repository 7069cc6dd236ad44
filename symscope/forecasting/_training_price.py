"""What a whole training costs on this machine with a remedy: seconds, and bytes of training data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

from torch import nn

from symscope.forecasting._designs import true_designs
from symscope.forecasting._options import TrainingOptions
from symscope.forecasting._price_list import Advice
from symscope.forecasting._question import Question
from symscope.forecasting._sample_split import ForecastSamples
from symscope.training import StepPlan


@final
@dataclass(frozen=True)
class TrainingPrice:
    """What whole trainings take, by the points of their data.

    Attributes:
        plan: Function from a number of points to the whole training on them, in batches of one size.
        points: Points of today's training data.
        point_bytes: Bytes of one point as networks take it.
        step_seconds: Seconds of a step.

    >>> from symscope.training import Optimiser
    >>> epochs = lambda points: StepPlan(points // 10, 32, Optimiser("adam", 1e-3))
    >>> price = TrainingPrice(epochs, 4000, 3136, 0.01)
    >>> price.seconds(1.0), price.seconds(2.0, slower=3.0), price.data_bytes(2.0)
    (4.0, 24.0, 25088000)
    """

    plan: Callable[[int], StepPlan]
    points: int
    point_bytes: int
    step_seconds: float

    def seconds(self, times: float, slower: float = 1.0) -> float:
        """Seconds of a training on so many times the points, of a network whose steps take longer."""
        return self.plan(round(times * self.points)).steps * self.step_seconds * slower

    def data_bytes(self, times: float) -> int:
        """Bytes of so many times the points."""
        return round(times * self.points) * self.point_bytes


def training_price(
    question: Question,
    samples: ForecastSamples,
    training: TrainingOptions,
    today: StepPlan,
    module: nn.Module,
    step_seconds: float,
) -> TrainingPrice:
    """What whole trainings of a network take, in batches as large as today's.

    Args:
        question: Shape of samples, and the group.
        samples: Training data, and its coverage.
        training: The training that is forecast.
        today: What it is for today's training data.
        module: Network.
        step_seconds: Seconds of a step.
    """
    return TrainingPrice(
        partial(replace(training, batch=today.batch).plan, module),
        int(true_designs(samples, question.group)[0].seen.sum()),
        4 * math.prod(question.shape),  # trained in single precision
        step_seconds,
    )


def priced(rows: Sequence[Advice], price: TrainingPrice, slower: float = 1.0) -> list[Advice]:
    """Rows of a price list with what their trainings take; an architecture that nobody has built has no time.

    Args:
        rows: Rows whose `training_cost` is known.
        price: What whole trainings take.
        slower: Seconds of a step over those of the network as it is.
    """
    return [
        replace(
            one,
            training_seconds=math.nan if one.kind == "build in" else price.seconds(one.training_cost, slower),
            data_bytes=price.data_bytes(one.training_cost),
        )
        for one in rows
    ]
