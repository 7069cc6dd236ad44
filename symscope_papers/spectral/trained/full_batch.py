"""Many small trainings at once: each copy of a network on its own data set, all as one batched computation.

Full-batch training of the mean squared error, as for the pairs of orbits of Fig. 5 and App. E. A copy's
weights move by its own data alone; what the others do changes nothing but rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.networks import Stack, batched_outputs, stack_networks
from symscope.numerics import check_count, check_finite
from symscope.training import Optimiser


@final
@dataclass(frozen=True)
class FullBatch:
    """How long, and how, to train on the whole of a small data set.

    Attributes:
        epochs: Largest number of steps.
        optimiser: Optimiser that takes the steps.
        tolerance: A copy is done when its loss is at most this; 0 for never.
        look_every: Epochs between two checks of the losses (converged, not a number).

    Raises:
        InputError: Less than one epoch, or a negative tolerance.
    """

    epochs: int
    optimiser: Optimiser
    tolerance: float = 0.0
    look_every: int = 50

    def __post_init__(self) -> None:
        check_count("epochs", self.epochs)
        check_count("look_every", self.look_every)
        if not self.tolerance >= 0:
            raise InputError(f"tolerance: expected 0 or more, got {self.tolerance}.")


@final
@dataclass(frozen=True, eq=False)
class TrainedCopies:
    """Trained copies, and how they got there.

    Attributes:
        stack: The copies.
        losses: Mean squared error of each copy at its final weights.
        epochs: Number of steps each copy took.
        converged: Whether the loss of each copy fell to the tolerance.
    """

    stack: Stack
    losses: Float64[Tensor, "copies"]
    epochs: Int64[Tensor, "copies"]
    converged: Bool[Tensor, "copies"]


def train_copies(
    builder: Callable[[int], nn.Module],
    x: Float[Tensor, "copies n *s"],
    y: Float[Tensor, "labels points"],
    settings: FullBatch,
    seeds: Sequence[int],
) -> TrainedCopies:
    """Train one network per data set, all at once.

    Copy i starts as `builder(seeds[i])` and lowers `mean |f(x[i]) - y[i]|^2`. Copies that have converged are
    set aside, so that the rest go faster. Their result does not depend on the other copies, to rounding.

    Args:
        builder: Function of a seed that gives a network of one output, without dropout, always of one
            architecture.
        x: The data sets' inputs; weights take their dtype and device.
        y: The values to learn, one for each input.
        settings: Length of the training and its optimiser.
        seeds: One seed per copy.

    Raises:
        InputError: Shapes that do not match each other or the network, numbers that are not finite, or a
            loss that is not (naming the copy).

    >>> x = torch.tensor([[[1.0], [2.0]], [[1.0], [3.0]]], dtype=torch.float64)
    >>> line = lambda seed: torch.nn.Linear(1, 1)
    >>> settings = FullBatch(2000, Optimiser("sgd", 0.1), tolerance=1e-12)
    >>> result = train_copies(line, x, 2 * x.squeeze(-1) + 1, settings, seeds=[0, 1])
    >>> at_zero = result.stack.outputs(torch.zeros(2, 1, 1, dtype=torch.float64))
    >>> result.converged.tolist(), at_zero.round(decimals=3).flatten().tolist()
    ([True, True], [1.0, 1.0])
    """
    check_data(x, y, len(seeds))
    stack = stack_networks(builder, seeds, x.dtype, x.device)
    if (wanted := stack.output_shape(x[0])) != (1,):
        raise InputError(f"builder: expected networks of one output, got outputs of shape {tuple(wanted)}.")
    training = _Training(stack, x, y.to(x)[..., None], settings)
    stack.skeleton.train()
    training.run()
    return training.result()


def check_data(x: Float[Tensor, "copies n *s"], y: Float[Tensor, "labels points"], seeds: int) -> None:
    """Refuses data sets that are empty, do not match, or hold numbers that are not finite."""
    if 0 in x.shape:
        raise InputError(
            f"x: expected at least one data set of at least one point, got shape {tuple(x.shape)}."
        )
    if y.shape != x.shape[:2]:
        raise InputError(
            f"y: expected one value per point, [copies, n] = {tuple(x.shape[:2])}, got {tuple(y.shape)}."
        )
    if seeds != len(x):
        raise InputError(f"seeds: expected one per data set, {len(x)}, got {seeds}.")
    check_finite("x", x)
    check_finite("y", y)


@final
class _Training:
    """The moving parts: all weights, those still training, and their optimiser."""

    def __init__(self, stack: Stack, x: Tensor, y: Tensor, settings: FullBatch) -> None:
        self.stack, self.x, self.y, self.settings = stack, x, y, settings
        count, device = len(stack), x.device
        self.epoch = 0
        self.active = torch.arange(count, device=device)
        self.weights = stack.weights  # those of the active copies: all of them, at first
        self.optimiser = settings.optimiser.build(self.weights.values())
        self.losses = torch.full((count,), float("nan"), dtype=torch.float64, device=device)
        self.taken = torch.zeros(count, dtype=torch.int64, device=device)

    def run(self) -> None:
        last, every = self.settings.epochs, self.settings.look_every
        while True:
            losses = self._active_losses()
            if self.epoch % every == 0 or self.epoch == last:
                self._look(losses.detach().double())
                done = self.losses[self.active] <= self.settings.tolerance
                if self.epoch == last or bool(done.all()):
                    self._write_back()
                    return
                if bool(done.any()):
                    self._set_aside(done)
                    losses = self._active_losses()
            self.optimiser.zero_grad()
            losses.sum().backward()
            self.optimiser.step()
            self.epoch += 1

    def _active_losses(self) -> Float[Tensor, "active"]:
        out = batched_outputs(self.stack.skeleton, self.weights, self.x)
        return (out - self.y).square().flatten(1).mean(1)

    def _look(self, losses: Float64[Tensor, "active"]) -> None:
        self.losses[self.active], self.taken[self.active] = losses, self.epoch
        bad = (~torch.isfinite(losses)).nonzero()[:, 0]
        if len(bad):
            copy = int(self.active[bad[0]])
            raise InputError(
                f"copy {copy} (seed {self.stack.seeds[copy]}): the loss is {float(losses[bad[0]])} after "
                f"{self.epoch} epochs, and so for {len(bad)} of {len(self.stack)} copies; lower the learning "
                f"rate ({self.settings.optimiser.learning_rate}) or look at the scale of its data."
            )

    def _set_aside(self, done: Bool[Tensor, "active"]) -> None:
        kept = ~done
        self._write_back()
        before = [weight for weight in self.weights.values() if weight.requires_grad]
        self.weights = {
            name: weight.detach()[kept].requires_grad_(weight.requires_grad)
            for name, weight in self.weights.items()
        }
        after = [weight for weight in self.weights.values() if weight.requires_grad]
        self.optimiser = optimiser_of_copies(self.optimiser, self.settings.optimiser, before, after, kept)
        self.active, self.x, self.y = self.active[kept], self.x[kept], self.y[kept]

    def _write_back(self) -> None:
        with torch.no_grad():
            for name, weight in self.weights.items():
                if weight is not self.stack.weights[name]:
                    self.stack.weights[name][self.active] = weight

    def result(self) -> TrainedCopies:
        self.stack.skeleton.eval()
        for weight in self.stack.weights.values():
            weight.requires_grad_(False)
            weight.grad = None
        losses = self.losses.cpu()
        return TrainedCopies(self.stack, losses, self.taken.cpu(), losses <= self.settings.tolerance)


def optimiser_of_copies(
    optimiser: torch.optim.Optimizer,
    chosen: Optimiser,
    before: Sequence[Tensor],
    after: Sequence[Tensor],
    kept: Bool[Tensor, "copies"],
) -> torch.optim.Optimizer:
    """The optimiser of the copies that go on, each with its own past.

    Args:
        optimiser: The optimiser of all copies.
        chosen: Settings it was built from.
        before: Weights of all copies, `[copies, *shape]` each.
        after: Weights of the copies that go on.
        kept: Mask of the copies that go on.
    """
    fresh = chosen.build(after)
    for old, new in zip(before, after, strict=True):
        past = optimiser.state.get(old, {})
        fresh.state[new] = {
            name: (value[kept] if value.shape == old.shape else value.clone())  # a count of steps is shared
            if isinstance(value, Tensor)
            else value
            for name, value in past.items()
        }
    return fresh
