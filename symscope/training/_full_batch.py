"""Many small trainings at once: each copy of a network on its own data set, all as one batched computation.

Full-batch training of the mean squared error, as for the pairs of orbits of Fig. 5 and App. E. A copy's
weights move by its own data alone; what the others do changes nothing but rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.networks import Stack, batched_outputs, stack_networks
from symscope.numerics import Progress, check_count, check_finite
from symscope.training._checkpoint import Checkpoint, content_sum, saved_state
from symscope.training._dropout_noise import dropout_noise
from symscope.training._optimiser import Optimiser, optimiser_of_copies


@final
@dataclass(frozen=True)
class FullBatch:
    """How long, and how, to train on the whole of a small data set.

    Attributes:
        epochs: Largest number of steps.
        optimiser: Optimiser that takes the steps.
        tolerance: A copy is done when its loss is at most this; 0 for never.
        look_every: Epochs between two checks of the losses (converged, not a number, progress).

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
        losses: Mean squared error of each copy at its final weights (with dropout on, if it has dropout).
        epochs: Number of steps each copy took.
        converged: Whether the loss of each copy fell to the tolerance.
        looked_at: Epochs at which losses were recorded.
        history: Losses at those epochs; a copy that is done keeps its last.
    """

    stack: Stack
    losses: Float64[Tensor, "copies"]
    epochs: Int64[Tensor, "copies"]
    converged: Bool[Tensor, "copies"]
    looked_at: tuple[int, ...]
    history: Float64[Tensor, "looks copies"]


def train_copies(
    builder: Callable[[int], nn.Module],
    x: Float[Tensor, "copies n *s"],
    y: Float[Tensor, "labels points *c"],
    settings: FullBatch,
    seeds: Sequence[int],
    *,
    device: torch.device | str | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> TrainedCopies:
    """Train one network per data set, all at once.

    Copy i starts as `builder(seeds[i])` and lowers `mean |f(x[i]) - y[i]|^2`. Copies that have converged are
    set aside, so that the rest go faster. Their result does not depend on the other copies, to rounding. On
    one machine the result is the same bit for bit whether or not the run was interrupted and resumed.

    Args:
        builder: Function of a seed that gives a network, always of one architecture.
        x: The data sets' inputs; weights take their dtype.
        y: The values to learn, `[copies, n]` for a network with one output, else `[copies, n, outputs]`.
        settings: Length of the training and its optimiser.
        seeds: One seed per copy.
        device: Device to train on; that of x, if not given.
        progress: Called as `progress(words with the mean loss, epoch, epochs)` at every check.
        checkpoint: File to keep the state in and to resume from.

    Raises:
        InputError: Shapes that do not match each other or the network, numbers that are not finite, a loss
            that is not (naming the copy), or a checkpoint that cannot be used.

    >>> x = torch.tensor([[[1.0], [2.0]], [[1.0], [3.0]]], dtype=torch.float64)
    >>> line = lambda seed: torch.nn.Linear(1, 1)
    >>> settings = FullBatch(2000, Optimiser("sgd", 0.1), tolerance=1e-12)
    >>> result = train_copies(line, x, 2 * x.squeeze(-1) + 1, settings, seeds=[0, 1])
    >>> at_zero = result.stack.outputs(torch.zeros(2, 1, 1, dtype=torch.float64))
    >>> result.converged.tolist(), at_zero.round(decimals=3).flatten().tolist()
    ([True, True], [1.0, 1.0])
    """
    where = x.device if device is None else torch.device(device)
    check_data(x, y, len(seeds))
    x = x.to(where)
    stack = stack_networks(builder, seeds, x.dtype, where)
    wanted = stack.output_shape(x[0])
    y = y.to(where, x.dtype)
    if y.shape[2:] != wanted and not (y.ndim == 2 and wanted == (1,)):
        raise InputError(
            f"y: expected values of shape {tuple(wanted)} per point, as the network gives, "
            f"got {tuple(y.shape[2:])}."
        )
    training = _Training(stack, x, y.reshape(*y.shape[:2], *wanted), settings)
    state = saved_state(checkpoint, training.problem, where)
    if state is not None:
        training.restore(state)
    stack.skeleton.train()
    with dropout_noise(where) as start_noise:
        training.run(start_noise, progress, checkpoint)
    return training.result()


def check_data(x: Float[Tensor, "copies n *s"], y: Float[Tensor, "labels points *c"], seeds: int) -> None:
    """Refuses data sets that are empty, do not match, or hold numbers that are not finite."""
    if 0 in x.shape:
        raise InputError(
            f"x: expected at least one data set of at least one point, got shape {tuple(x.shape)}."
        )
    if y.shape[:2] != x.shape[:2]:
        raise InputError(
            f"y: expected one value per point, [copies, n] = {tuple(x.shape[:2])}, got {tuple(y.shape[:2])}."
        )
    if seeds != len(x):
        raise InputError(f"seeds: expected one per data set, {len(x)}, got {seeds}.")
    check_finite("x", x)
    check_finite("y", y)


@final
class _Training:
    """The moving parts: all weights, those still training, their optimiser, and the record."""

    def __init__(self, stack: Stack, x: Tensor, y: Tensor, settings: FullBatch) -> None:
        self.stack, self.x, self.y, self.settings = stack, x, y, settings
        count, device = len(stack), x.device
        self.epoch = 0
        self.active = torch.arange(count, device=device)
        self.weights = stack.weights  # those of the active copies: all of them, at first
        self.optimiser = settings.optimiser.build(self.weights.values())
        self.losses = torch.full((count,), float("nan"), dtype=torch.float64, device=device)
        self.taken = torch.zeros(count, dtype=torch.int64, device=device)
        self.looked_at: list[int] = []
        self.history: list[Tensor] = []
        self._problem: dict[str, Any] | None = None

    def run(
        self,
        start_noise: Callable[[int, int], None],
        progress: Progress | None,
        checkpoint: Checkpoint | None,
    ) -> None:
        last, every = self.settings.epochs, self.settings.look_every
        began = self.epoch
        while len(self.active):
            if checkpoint and self.epoch % checkpoint.every == 0 and self.epoch > began:
                checkpoint.save(self.problem(), self.state())
            losses = self._active_losses(start_noise)
            if self.epoch % every == 0 or self.epoch == last:
                self._look(losses.detach().double())
                if progress:
                    progress(f"training, loss {float(self.losses.mean()):.3g}", self.epoch, last)
                done = self.losses[self.active] <= self.settings.tolerance
                if self.epoch == last or bool(done.all()):
                    self._write_back()
                    self.active = self.active[:0]
                    break
                if bool(done.any()):
                    self._set_aside(done)
                    losses = self._active_losses(start_noise)
            self.optimiser.zero_grad()
            losses.sum().backward()
            self.optimiser.step()
            self.epoch += 1
        if checkpoint:
            checkpoint.save(self.problem(), self.state())

    def _active_losses(self, start_noise: Callable[[int, int], None]) -> Float[Tensor, "active"]:
        start_noise(self.stack.seeds[0], self.epoch)
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
        self.looked_at.append(self.epoch)
        self.history.append(self.losses.clone())

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

    def problem(self) -> dict[str, Any]:
        """What is being trained, as plain data; asked for first before any copy is set aside."""
        if self._problem is None:
            self._problem = {
                "kind": "full batch",
                "architecture": repr(self.stack.skeleton),
                "seeds": list(self.stack.seeds),
                "settings": {**asdict(self.settings), "optimiser": repr(self.settings.optimiser)},
                "shape": list(self.x.shape),
                "dtype": str(self.x.dtype),
                "inputs": content_sum(self.x),
                "values": content_sum(self.y),
                "initial weights": [content_sum(weight) for weight in self.stack.weights.values()],
            }
        return self._problem

    def state(self) -> dict[str, Any]:
        self._write_back()
        return {
            "epoch": self.epoch,
            "active": self.active,
            "weights": {name: weight.detach() for name, weight in self.stack.weights.items()},
            "optimiser": self.optimiser.state_dict(),
            "losses": self.losses,
            "taken": self.taken,
            "looked_at": self.looked_at,
            "history": self.history,
        }

    def restore(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            for name, weight in self.stack.weights.items():
                weight.copy_(state["weights"][name])
        self.epoch, self.active = state["epoch"], state["active"]
        self.losses, self.taken = state["losses"], state["taken"]
        self.looked_at, self.history = state["looked_at"], state["history"]
        if 0 < len(self.active) < len(self.stack):
            self.x, self.y = self.x[self.active], self.y[self.active]
            self.weights = {
                name: weight.detach()[self.active].requires_grad_(weight.requires_grad)
                for name, weight in self.stack.weights.items()
            }
        if len(self.active):
            self.optimiser = self.settings.optimiser.build(self.weights.values())
            self.optimiser.load_state_dict(state["optimiser"])

    def result(self) -> TrainedCopies:
        self.stack.skeleton.eval()
        for weight in self.stack.weights.values():
            weight.requires_grad_(False)
            weight.grad = None
        losses = self.losses.cpu()
        return TrainedCopies(
            self.stack,
            losses,
            self.taken.cpu(),
            losses <= self.settings.tolerance,
            tuple(self.looked_at),
            torch.stack(self.history).cpu(),
        )
