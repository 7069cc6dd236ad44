"""What a forecast will cost, from one forward pass, before anything is transformed or trained."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from symscope.errors import BudgetError
from symscope.forecasting._compressed_training import StepCost, smallest_batch
from symscope.forecasting._design_trainer import ASKED
from symscope.forecasting._kernel_choice import tangent_kernel
from symscope.forecasting._options import KERNEL_SHARE, SHORT_KERNEL_SHARE, ForecastOptions, TrainingOptions
from symscope.forecasting._pilot_plan import fewest_steps, smallest_budget
from symscope.forecasting._question import Question
from symscope.forecasting._task_wording import seconds_text
from symscope.forecasting._trainings import Trainings
from symscope.networks import UserModel, arrange_inputs
from symscope.user_code import user_errors

TIMED = 4  # samples of a timed forward pass
CALLS = 3  # of which the fastest counts
SLOW = 0.01  # seconds of a forward pass of one sample from which on it tells what a batch takes
WITH_GRADIENTS = 3  # a step over a forward pass
ROUGH = 2  # by this factor an estimate may be too high
PASSES = 4  # forward passes for each sample and element when layers are measured, about
MEASURED = 8  # samples on which layers and remedies are judged
MEASURED_SHARE = 0.1  # of the budget, for measuring them


@final
@dataclass(frozen=True)
class FirstEstimate:
    """What one forward pass tells.

    Attributes:
        forward: Seconds of a forward pass of one sample.
        measured_samples: Samples on which layers are measured, so that it keeps the budget; 1 to 8.
    """

    forward: float
    measured_samples: int


def first_estimate(
    question: Question,
    network: UserModel,
    options: ForecastOptions,
    training: TrainingOptions,
    trainings: Trainings,
) -> FirstEstimate:
    """The cost of a forecast, roughly, from one forward pass of one sample.

    Args:
        question: Samples and group.
        network: Network.
        options: Budget, method and device.
        training: The training that is forecast.
        trainings: Where times are kept.

    Raises:
        BudgetError: Neither pilot trainings nor a kernel can keep the budget, by far.
    """
    device = torch.device(options.device)
    forward = trainings.measured("forward pass", lambda: forward_seconds(question, network, device))
    order = question.group.order
    affordable = MEASURED_SHARE * options.seconds / max(forward * PASSES * order, 1e-9)
    estimate = FirstEstimate(forward, max(1, min(MEASURED, int(affordable))))
    alone = options.workers is None and options.dask is None
    if forward < SLOW or not alone or options.method == "kernel":
        return estimate
    plan = training.plan(network.builder(options.seed), len(question.data) * order)
    share = 1.0 if options.method == "pilot" else 1 - SHORT_KERNEL_SHARE
    step = WITH_GRADIENTS * forward * plan.batch
    cost = StepCost(0.0, min(smallest_batch(network.builder(options.seed)), plan.batch))
    if fewest_steps(plan, cost) * step <= ROUGH * share * options.seconds:
        return estimate
    if options.method == "auto" and _kernel_fits(question, network, options, forward):
        return estimate
    asked = fewest_asked_points(question) / WITH_GRADIENTS / plan.batch
    several = question.task.kind != "classification"
    least = smallest_budget(step, plan, cost, 1, asked, several=several) / share
    raise BudgetError(_refusal(question, network.name, forward, least, options.seconds))


def forward_seconds(question: Question, network: UserModel, device: torch.device) -> float:
    """Seconds that one more sample adds to a forward pass: what a pass costs by itself a batch pays once."""
    module = network.builder(0).to(device, torch.float32).eval()
    x = arrange_inputs(question.data.x[:TIMED].float(), network.layout).to(device)
    one, all_of_them = (
        min(_pass_seconds(module, x[:count]) for _ in range(CALLS)) for count in (1, len(x))
    )  # first calls take longer, and so do others on a busy machine
    return max(0.0, all_of_them - one) / (len(x) - 1)


def _pass_seconds(module: nn.Module, x: Tensor) -> float:
    start = time.perf_counter()
    with torch.no_grad(), user_errors("the network"):
        module(x).sum().item()  # waits for the device
    return time.perf_counter() - start


def fewest_asked_points(question: Question) -> int:
    """About how many points a trained network is asked at, at the least, as `DesignTrainer` counts them."""
    averaged = 2 * question.group.order
    return (averaged + 2 * ASKED[-1]) * len(question.data.classes)


def _kernel_fits(question: Question, network: UserModel, options: ForecastOptions, forward: float) -> bool:
    """Whether a kernel may keep its share of the budget: one of infinite width does not take the network."""
    points = (options.per_class or 2) * len(question.data.classes) * question.group.order
    if WITH_GRADIENTS * forward * points <= ROUGH * KERNEL_SHARE * options.seconds:
        return True
    tangent = tangent_kernel(network, question.shape, options.kernel, points, options.effort)
    return tangent.kind == "infinite"


def _refusal(question: Question, name: str, forward: float, least: float, budget: float) -> str:
    smaller = fewer_points(question, budget / least) or "smaller samples, or a smaller network"
    return (
        f"{name}: a forward pass of one sample takes {forward:.2g} s, so that pilot trainings under "
        f"{question.group.order} elements take about {seconds_text(least)} at least, got a budget of "
        f"{seconds_text(budget)}; give {seconds_text(least)}, or take {smaller}."
    )


def fewer_points(question: Question, share: float) -> str:
    """How many points of each cloud or set take this share of the time, in words; "" for other samples."""
    if question.kind not in ("points", "set"):
        return ""
    points = max(1, int(question.shape[-2] * share))
    return f"at most {points:,} of the {question.shape[-2]:,} points of each sample"
