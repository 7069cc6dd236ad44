"""Training by mini-batches: the optimiser, the settings, and the course of copies of one network."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Float64, Int64, Shaped
from torch import Tensor, nn

from symscope.errors import InputError, nearest
from symscope.networks import Stack, batched_outputs
from symscope.numerics import Progress, check_count, checked
from symscope.training._checkpoint import Checkpoint, content_sum
from symscope.training._epoch_draws import one_of_each, shuffle
from symscope.training._recorded_step import ReplayedStep
from symscope.training._window_convolution import with_window_convolutions
from symscope.training.points import GeneratedPoints, StoredPoints

KINDS = ("adam", "sgd")


@checked
@final
@dataclass(frozen=True)
class Optimiser:
    """Adam or (stochastic) gradient descent.

    Attributes:
        kind: "adam" or "sgd".
        learning_rate: Step size.
        betas: Adam's two decay rates.
        momentum: Momentum of "sgd".

    Raises:
        InputError: An unknown kind, or a number that makes no sense.

    >>> Optimiser("adam", 1e-3, betas=(0.7, 0.9))
    Optimiser(kind='adam', learning_rate=0.001, betas=(0.7, 0.9), momentum=0.0)
    """

    kind: str
    learning_rate: float
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(
                f"optimiser: expected 'adam' or 'sgd', got {self.kind!r}; {nearest(self.kind, KINDS)}"
            )
        if not 0 < self.learning_rate < math.inf:
            raise InputError(f"learning_rate: expected a positive number, got {self.learning_rate}.")
        if len(self.betas) != 2:
            raise InputError(f"betas: expected two numbers, got {len(self.betas)}.")
        for name, value in (("betas", self.betas[0]), ("betas", self.betas[1]), ("momentum", self.momentum)):
            if not 0 <= value < 1:
                raise InputError(f"{name}: expected numbers from 0 up to, not including, 1, got {value}.")

    @property
    def text(self) -> str:
        """Kind, learning rate and momentum in words.

        >>> Optimiser("sgd", 0.02, momentum=0.9).text, Optimiser("adam", 1e-3).text
        ('sgd at 0.02 with momentum 0.9', 'adam at 0.001')
        """
        return f"{self.kind} at {self.learning_rate:g}" + (
            f" with momentum {self.momentum:g}" if self.momentum else ""
        )

    @staticmethod
    def moved(weights: Iterable[Tensor]) -> list[Tensor]:
        """The weights that are not frozen.

        Raises:
            InputError: There are none.
        """
        moved = [weight for weight in weights if weight.requires_grad]
        if not moved:
            raise InputError("expected a network with weights to train; all of its weights are frozen.")
        return moved

    def build(self, weights: Iterable[Tensor]) -> torch.optim.Optimizer:
        """PyTorch's optimiser of these weights, in one pass over them on a GPU.

        Each number of a stack of copies moves by its own gradient alone, so that one optimiser of the stack
        is one optimiser per copy.
        """
        moved = self.moved(weights)
        fused = moved[0].is_cuda or None
        if self.kind == "adam":
            # capturable: its count of steps lives on the GPU, so that steps can be recorded
            capturable = moved[0].is_cuda
            return torch.optim.Adam(
                moved, lr=self.learning_rate, betas=self.betas, fused=fused, capturable=capturable
            )
        return torch.optim.SGD(moved, lr=self.learning_rate, momentum=self.momentum, fused=fused)


@final
@dataclass(frozen=True)
class MiniBatch:
    """How long, and how, to train networks on points they may see.

    Attributes:
        epochs: Number of passes over the points.
        batch: Number of points per step.
        optimiser: Optimiser that takes the steps; the paper's is Adam, 1e-3, betas (0.7, 0.9).
        mixed_precision: The network computes in bfloat16; weights, their steps and the loss stay in float32.
        compiled: Fuse each step with `torch.compile`; takes up to a minute before the first step. On a GPU
            with stored points each step is also recorded and replayed as one launch.
        augment: Show one point of each sample per epoch, drawn from those the copy may see, instead of all.
        measured_points: Largest number of points measured in each set, drawn once; None for all.
        measured_every: Epochs between two measurements; the last epoch is always measured.

    Raises:
        InputError: A number below 1.
    """

    epochs: int
    batch: int
    optimiser: Optimiser
    mixed_precision: bool = False
    compiled: bool = False
    augment: bool = False
    measured_points: int | None = None
    measured_every: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "measured_every"):
            check_count(name, getattr(self, name))
        if self.measured_points is not None:
            check_count("measured_points", self.measured_points)


@final
@dataclass(frozen=True)
class Objective:
    """What networks are trained for.

    Attributes:
        kind: Name of the objective in checkpoints.
        wanted: Name of the values to learn, for messages.
        losses: Loss at each point, `losses(outputs, wanted)`.
        measure: Quantity measured at each point and averaged over sets, `measure(outputs, wanted)`.
        check: Refuses values that do not fit the network, `check(wanted, seen, output)`.
    """

    kind: str
    wanted: str
    losses: Callable[[Tensor, Tensor], Tensor]
    measure: Callable[[Tensor, Tensor], Tensor]
    check: Callable[[Tensor, Tensor, torch.Size], None]

    def mean_loss(
        self,
        skeleton: nn.Module,
        weights: dict[str, Tensor],
        x: Float[Tensor, "copies b *s"],
        y: Shaped[Tensor, "copies b *c"],
        real: Bool[Tensor, "copies b"],
    ) -> Float[Tensor, "copies"]:
        """Each copy's mean loss over its real points, the network computing in the dtype of x."""
        outputs = batched_outputs(skeleton, {name: weight.to(x.dtype) for name, weight in weights.items()}, x)
        wide = outputs.to(torch.promote_types(outputs.dtype, torch.float32))
        return (self.losses(wide, y) * real).sum(1) / real.sum(1)


@final
class MiniBatchTraining:
    """The moving parts of a training: weights, optimiser, record."""

    def __init__(
        self,
        objective: Objective,
        stack: Stack,
        points: StoredPoints | GeneratedPoints,
        wanted: Tensor,
        seen: Tensor,
        sets: dict[str, Tensor],
        settings: MiniBatch,
        dtype: torch.dtype,
    ) -> None:
        self.stack, self.points, self.wanted, self.seen = stack, points, wanted, seen
        self.sets, self.settings, self.dtype, self.objective = sets, settings, dtype, objective
        self.compute = torch.bfloat16 if settings.mixed_precision else dtype
        fast = with_window_convolutions if seen.is_cuda else copy.deepcopy
        self.skeleton = fast(stack.skeleton).to(self.compute)  # for its constants
        self.optimiser = settings.optimiser.build(stack.weights.values())
        self.loss = (
            torch.compile(objective.mean_loss, dynamic=False) if settings.compiled else objective.mean_loss
        )
        self.total = torch.zeros(len(stack), dtype=torch.float64, device=seen.device)
        replayed = settings.compiled and seen.is_cuda and isinstance(points, StoredPoints)
        self.step = ReplayedStep(self._step, self.optimiser.zero_grad) if replayed else self._step
        self.epoch = 0
        self.losses: list[Tensor] = []
        self.measured_at: list[int] = []
        self.measured: dict[str, list[Tensor]] = {name: [] for name in sets}
        self.known = [own.nonzero()[:, 0] for own in seen]
        self._problem: dict[str, Any] | None = None

    def run(
        self,
        start_noise: Callable[[int, int], None],
        progress: Progress | None,
        checkpoint: Checkpoint | None,
    ) -> None:
        last = self.settings.epochs
        while self.epoch < last:
            start_noise(self.stack.seeds[0], self.epoch)
            losses = self._one_epoch()
            self.epoch += 1
            self._check(losses)
            self.losses.append(losses)
            if self.epoch % self.settings.measured_every == 0 or self.epoch == last:
                self.measured_at.append(self.epoch)
                for name, index in self.sets.items():
                    self.measured[name].append(self._measured(index))
            if checkpoint and (self.epoch % checkpoint.every == 0 or self.epoch == last):
                checkpoint.save(self.problem(), self.state())
            if progress:
                progress(f"training, loss {float(losses.mean()):.3g}", self.epoch, last)

    def _one_epoch(self) -> Float64[Tensor, "copies"]:
        seeds, settings = self.stack.seeds, self.settings
        own = one_of_each(self.seen, self.points.order, seeds, self.epoch) if settings.augment else self.known
        order = shuffle(own, settings.batch, seeds, self.epoch, filled=settings.compiled)
        self.total.zero_()
        self.skeleton.train()
        with warnings.catch_warnings():
            # single precision is what was asked for: the compiler need not recommend less
            warnings.filterwarnings("ignore", message="TensorFloat32 tensor cores")
            for index, real in order.steps():
                self.step(index, real)
        return self.total / len(order)

    def _step(self, index: Int64[Tensor, "copies b"], real: Bool[Tensor, "copies b"]) -> None:
        x, y = self.points.take(index).to(self.compute), self.wanted[index]
        losses = self.loss(self.skeleton, self.stack.weights, x, y, real)
        self.optimiser.zero_grad()
        losses.sum().backward()
        self.optimiser.step()
        self.total += losses.detach().double()

    def _measured(self, index: Int64[Tensor, "copies m"]) -> Float64[Tensor, "copies"]:
        """Rows are filled up with -1."""
        total = torch.zeros(len(index), dtype=torch.float64, device=index.device)
        step = max(1, 16384 // len(index))
        weights = {name: weight.detach().to(self.compute) for name, weight in self.stack.weights.items()}
        self.skeleton.eval()
        with torch.no_grad():
            for piece in index.split(step, dim=1):
                there = piece.clamp(min=0)
                outputs = batched_outputs(self.skeleton, weights, self.points.take(there).to(self.compute))
                total += (self.objective.measure(outputs, self.wanted[there]).double() * (piece >= 0)).sum(1)
        return total / (index >= 0).sum(1)

    def _check(self, losses: Float64[Tensor, "copies"]) -> None:
        bad = (~torch.isfinite(losses)).nonzero()[:, 0]
        if len(bad):
            first = int(bad[0])
            raise InputError(
                f"copy {first} (seed {self.stack.seeds[first]}): the loss is {float(losses[first])} in epoch "
                f"{self.epoch}; lower the learning rate ({self.settings.optimiser.learning_rate}) or look at "
                "the scale of the inputs."
            )

    def problem(self) -> dict[str, Any]:
        """What is being trained, as plain data; asked for first before any step."""
        if self._problem is None:
            self._problem = {
                "kind": self.objective.kind,
                "architecture": repr(self.stack.skeleton),
                "seeds": list(self.stack.seeds),
                "settings": {**asdict(self.settings), "optimiser": repr(self.settings.optimiser)},
                "dtype": str(self.dtype),
                **self.points.problem(),
                "labels": content_sum(self.wanted),
                "seen": content_sum(self.seen),
                "tests": {name: content_sum(index) for name, index in self.sets.items()},
                "initial weights": [content_sum(weight) for weight in self.stack.weights.values()],
            }
        return self._problem

    def state(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "weights": {name: weight.detach() for name, weight in self.stack.weights.items()},
            "optimiser": self.optimiser.state_dict(),
            "statistics": dict(self.skeleton.named_buffers()),
            "losses": self.losses,
            "measured_at": self.measured_at,
            "accuracies": self.measured,  # the name in files that are already there
        }

    def restore(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            for name, weight in self.stack.weights.items():
                weight.copy_(state["weights"][name])
            for name, buffer in self.skeleton.named_buffers():
                buffer.copy_(state.get("statistics", {}).get(name, buffer))
        self.optimiser.load_state_dict(state["optimiser"])
        self.epoch, self.losses = state["epoch"], state["losses"]
        self.measured_at, self.measured = state["measured_at"], state["accuracies"]

    def release(self) -> None:
        """Frees the weights of gradients, and puts running statistics where the weights are."""
        if self.stack.keeps_statistics:
            self.stack.skeleton.load_state_dict(dict(self.skeleton.named_buffers()), strict=False)
        for weight in self.stack.weights.values():
            weight.requires_grad_(False)
            weight.grad = None
