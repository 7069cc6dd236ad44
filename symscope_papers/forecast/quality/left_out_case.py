"""One case of `forecast/quality`: samples, left-out classes, networks trained without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor, nn

from symscope.forecasting.methods import FALLBACK_RIDGE, FiniteKernel, Resample
from symscope.groups import FiniteGroup
from symscope.networks import Stack, UserModel, arrange_inputs
from symscope.spectral import class_masks, leave_out_residual, precision
from symscope.training import MiniBatch, Optimiser, StoredPoints, train_networks

AT_ONCE = 40  # networks trained together on a GPU


@final
@dataclass(frozen=True, eq=False)
class LeaveOutCase:
    """Items in all transformations, and sets of them to leave out, one class each.

    Attributes:
        model: The network.
        draw: The samples under every element.
        group: The group that acts on them.
        left_out: Positions of the classes left out, each in turn.
        seeds: Seeds of weights and order, one for each repeated training.
        device: Device that computes everything.
    """

    model: UserModel
    draw: Resample
    group: FiniteGroup
    left_out: tuple[int, ...]
    seeds: tuple[int, ...]
    device: torch.device

    @property
    def hidden(self) -> Bool[Tensor, "sets p"]:
        """For each left-out class, which points are missing: its samples, not transformed."""
        masks = class_masks(self.draw.labels, self.group, self.group.identity)
        return masks[list(self.left_out)].flatten(1).to(self.device)

    @property
    def inputs(self) -> Float[Tensor, "p *s"]:
        """All points as the network takes them."""
        return arrange_inputs(self.draw.flat, self.model.layout).to(self.device)

    @property
    def one_hot(self) -> Float[Tensor, "p c"]:
        """Classes of all points."""
        return self.draw.one_hot.repeat_interleave(self.group.order, 0).to(self.device)

    def share(self, outputs: Float[Tensor, "m c"], which: int) -> float:
        """The share of the missing points of one set that the outputs classify right."""
        return float((outputs.argmax(1) == self.left_out[which]).double().mean())

    def kernel(self, module: nn.Module) -> Float[Tensor, "p p"]:
        """The tangent kernel of a module over all points, mean over outputs, in float64."""
        placed = module.to(self.device, torch.float64)
        return FiniteKernel(self.model.layout, placed)(self.draw.flat.to(self.device))

    def regressed(self, gram: Float[Tensor, "p p"], sets: list[int]) -> Float64[Tensor, "sets"]:
        """Accuracy of regression with a kernel at the missing points of some sets."""
        labels, hidden = self.one_hot, self.hidden
        inverse = precision(gram, FALLBACK_RIDGE * float(gram.diagonal().mean()))
        shares = []
        for k in sets:
            at = hidden[k].nonzero()[:, 0]
            shares.append(self.share(labels[at] - leave_out_residual(inverse, labels, at), k))
        return torch.tensor(shares, dtype=torch.float64)


@final
@dataclass(frozen=True, eq=False)
class LeftOutNetworks:
    """Networks trained for every seed and left-out class.

    Attributes:
        missing: Accuracy at the missing points.
        seen: Accuracy at the points trained on.
        stacks: The networks, seed after seed, class after class.
    """

    missing: Float64[Tensor, "seeds sets"]
    seen: Float64[Tensor, "seeds sets"]
    stacks: tuple[Stack, ...]

    def module(self, seed: int, which: int) -> nn.Module:
        """The network of the seed and left-out class at these positions."""
        at = seed * self.missing.shape[1] + which
        for stack in self.stacks:
            if at < len(stack):
                return stack.copy(at)
            at -= len(stack)
        raise IndexError(f"no network for seed {seed} and set {which}")


def train_left_out(
    task: LeaveOutCase,
    builder: Callable[[int], nn.Module],
    epochs: int,
    batch: int,
    optimiser: Optimiser,
    together: bool,
) -> LeftOutNetworks:
    """Train one network for every seed and left-out class on all points but the missing ones.

    Args:
        task: What to train on.
        builder: The network for a seed.
        epochs: Passes over the points.
        batch: Points per step.
        optimiser: What takes the steps.
        together: Whether networks are trained as one batched network; on a GPU they always are.
    """
    hidden = task.hidden.repeat(len(task.seeds), 1)
    seeds = [seed for seed in task.seeds for _ in task.left_out]
    points = StoredPoints(task.inputs.float(), task.group.order)
    labels = task.one_hot.argmax(1)
    step = AT_ONCE if together or task.device.type == "cuda" else 1
    settings = MiniBatch(epochs, batch, optimiser, measured_every=epochs)
    result = []
    for start in range(0, len(seeds), step):
        rows = hidden[start : start + step]
        result.append(
            train_networks(
                builder,
                points,
                labels,
                ~rows,
                {"missing": rows, "seen": ~rows},
                settings,
                seeds[start : start + step],
                device=task.device,
            )
        )
    shape = (len(task.seeds), len(task.left_out))
    missing, seen = (
        torch.cat([one.measured[name][-1] for one in result]).reshape(shape) for name in ("missing", "seen")
    )
    return LeftOutNetworks(missing, seen, tuple(one.stack for one in result))


@final
@dataclass(frozen=True)
class TrainingPlan:
    """How networks are trained.

    Attributes:
        epochs: Passes over the points.
        batch: Points per step.
        optimiser: First training's optimiser.
        second_optimiser: Second training's optimiser.
        batched: Whether the networks of all left-out classes are trained as one batched network.
    """

    epochs: int
    batch: int
    optimiser: Optimiser
    second_optimiser: Optimiser
    batched: bool


def training_plan(module: nn.Module, epochs: int, batch: int) -> TrainingPlan:
    """Adam and SGD; networks that average over positions, which learn slowly, with a higher rate.

    Networks of full connections alone are trained together: convolutions do not batch well on a CPU.
    """
    averages = any(isinstance(part, nn.AdaptiveAvgPool2d) for part in module.modules())
    parts = [part for part in module.modules() if next(part.parameters(False), None) is not None]
    return TrainingPlan(
        epochs,
        batch,
        Optimiser("adam", 3e-3 if averages else 1e-3),
        Optimiser("sgd", 0.02, momentum=0.9),
        all(isinstance(part, nn.Linear) for part in parts),
    )
