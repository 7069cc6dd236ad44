"""One network trained for a number of steps with its learning-rate schedule run to the end.

Any module with tensors in and logits (or numbers) out, in its own train mode: batch norm, dropout and
attention as they are. For many small networks at once see `train_networks`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from jaxtyping import Float, Int64, Shaped
from torch import Tensor, nn

from symscope.errors import DivergedError, InputError
from symscope.numerics import Progress, check_count, checked, explained
from symscope.training._epoch_draws import draw, dropout_noise
from symscope.training._mini_batch import Optimiser
from symscope.training._optimiser_steps import optimiser_steps
from symscope.user_code import user_errors

WARM_UP = 0.05  # share of the steps in which the learning rate rises
EVALUATED = 1024  # points per forward pass without gradients
TRIED_STEPS = 3  # steps whose time is measured
SHORT_STEP = 0.2  # seconds up to which the steps that are measured are repeated: machines have other work
LONG_STEP = 2.0  # seconds from which on the first step is not followed by others to measure
SPOKEN = 20  # steps between two calls of progress


@checked
@final
@dataclass(frozen=True)
class StepPlan:
    """Steps, batch and optimiser of a training; the rate rises over 5 % of the steps, then falls to 0.

    Attributes:
        steps: Number of steps.
        batch: Points per step; fewer where fewer are seen.
        optimiser: Optimiser whose learning rate is the highest of the schedule.

    Raises:
        InputError: A number below 1.

    >>> plan = StepPlan(100, 32, Optimiser("adam", 1e-3))
    >>> [round(plan.rate(k), 2) for k in (0, 4, 5, 52, 99)]
    [0.2, 1.0, 1.0, 0.51, 0.01]
    """

    steps: int
    batch: int
    optimiser: Optimiser

    def __post_init__(self) -> None:
        check_count("steps", self.steps)
        check_count("batch", self.batch)

    def rate(self, step: int) -> float:
        """The learning rate of a step, as a share of the highest."""
        rising = max(1, round(WARM_UP * self.steps))
        if step < rising:
            return (step + 1) / rising
        return (self.steps - step) / max(1, self.steps - rising)


@checked
def train_steps(
    module: nn.Module,
    points: Float[Tensor, "p *s"],
    wanted: Shaped[Tensor, "p *t"],
    seen: Int64[Tensor, "k"],
    plan: StepPlan,
    seed: int,
    progress: Progress | None = None,
    mask_classes: int = 0,
) -> Float[Tensor, "steps"]:
    """Trains a module in place on the points it may see; classes by cross-entropy, numbers by squares.

    Masks, shares of classes at every position, are trained by cross-entropy, mean over positions.

    Args:
        module: Network in float32, on the device of the points; left in evaluation mode.
        points: Inputs as the network takes them.
        wanted: Class of each point, whole numbers; or its targets `[p, t]`.
        seen: Positions of the points to train on.
        plan: Number of steps, batch and optimiser.
        seed: Seed for the order of points and for dropout.
        progress: Called as `progress(words with the loss, steps done, steps)`.
        mask_classes: Classes of masks, whose targets `[p, classes * positions]` are shares of the classes at
            each position, class after class; 0 where targets are classes or numbers.

    Returns:
        The loss of each step.

    Raises:
        InputError: Nothing to train on, or the network fails.
        DivergedError: A loss that is not finite.
    """
    if len(seen) == 0:
        raise InputError("seen: expected positions of one point or more to train on, got none")
    take_step = optimiser_steps(plan.optimiser, module.parameters())
    loss_of = nn.functional.mse_loss if wanted.is_floating_point() else nn.functional.cross_entropy
    if mask_classes:
        loss_of = partial(_mask_loss, mask_classes)
    losses = torch.empty(plan.steps, device=points.device)
    half = points.is_cuda  # bfloat16 where the device has it in hardware; weights stay in float32
    module.train()
    with dropout_noise(points.device) as start_noise:
        start_noise(seed, 0)
        order = _endless(seen, plan.batch, seed)
        for step in range(plan.steps):
            at = next(order)
            x, y = points[at], wanted[at]
            with user_errors(f"the network, trained on a batch of {len(at)},"):
                with torch.autocast(points.device.type, torch.bfloat16, enabled=half):
                    outputs = module(x)
                loss = loss_of(outputs.float(), y)
                loss.backward()
            take_step(plan.optimiser.learning_rate * plan.rate(step))
            losses[step] = loss.detach()
            if progress and ((step + 1) % SPOKEN == 0 or step + 1 == plan.steps):
                progress(f"training, loss {_finite(losses[step], step, plan):.3g}", step + 1, plan.steps)
    module.eval()
    _finite(losses[-1], plan.steps - 1, plan)
    return losses.cpu()


@explained
def seconds_per_step(
    module: nn.Module,
    points: Float[Tensor, "p *s"],
    wanted: Shaped[Tensor, "p *t"],
    seen: Int64[Tensor, "k"],
    plan: StepPlan,
    mask_classes: int = 0,
) -> float:
    """The time one step takes, measured on a few; the module is not usable for training afterwards.

    The first step takes longer and does not count, unless it takes seconds: then it is all that is measured.
    """
    few = StepPlan(TRIED_STEPS, plan.batch, plan.optimiser)
    first = StepPlan(1, plan.batch, plan.optimiser)

    def seconds(tried: StepPlan) -> float:
        start = time.perf_counter()
        train_steps(module, points, wanted, seen, tried, 0, mask_classes=mask_classes)
        if points.is_cuda:
            torch.cuda.synchronize(points.device)
        return (time.perf_counter() - start) / tried.steps

    once = seconds(first)
    if once > LONG_STEP:
        return once
    return min(seconds(few) for _ in range(2 if once < SHORT_STEP else 1))


@explained
def module_outputs(module: nn.Module, points: Float[Tensor, "p *s"]) -> Float[Tensor, "p c"]:
    """Outputs of a network in evaluation mode, in pieces and without gradients, in float32 on the CPU."""
    with torch.no_grad(), user_errors("the network"):
        return torch.cat([module(piece).float().cpu() for piece in points.split(EVALUATED)])


def _mask_loss(
    classes: int, outputs: Float[Tensor, "b t"], wanted: Float[Tensor, "b t"]
) -> Float[Tensor, ""]:
    """Cross-entropy of the classes at each position, mean over positions and samples."""
    logits, shares = (one.unflatten(1, (classes, -1)) for one in (outputs, wanted))
    return nn.functional.cross_entropy(logits, shares)


def _endless(seen: Int64[Tensor, "k"], batch: int, seed: int) -> Iterator[Int64[Tensor, "b"]]:
    """Batches of the seen points, every point once in each pass."""
    epoch, size = 0, min(batch, len(seen))
    while True:
        order = seen[torch.randperm(len(seen), generator=draw(seed, epoch, seen.device), device=seen.device)]
        yield from (piece for piece in order.split(size) if len(piece) == size)
        epoch += 1


def _finite(loss: Tensor, step: int, plan: StepPlan) -> float:
    value = float(loss)
    if not math.isfinite(value):
        raise DivergedError(
            f"training: the loss is {value} at step {step + 1}; lower the learning rate "
            f"({plan.optimiser.learning_rate:g}) or look at the scale of the inputs."
        )
    return value
