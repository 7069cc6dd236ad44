"""Networks trained for every missing set: on what is not missing, together where that pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor, nn

from symscope.forecasting._expectation import FALLBACK_RIDGE, dense_prediction
from symscope.forecasting._kernel_choice import FiniteKernel
from symscope.forecasting._question import Draw
from symscope.forecasting._task import Fitted, group_means
from symscope.networks import UserModel, arrange_inputs
from symscope.numerics import Progress, partial_progress
from symscope.training import MiniBatch, Optimiser, StoredPoints


@final
@dataclass(frozen=True, eq=False)
class Runs:
    """One network for each missing set, trained together where that pays."""

    model: UserModel
    draw: Draw
    masks: Bool[Tensor, "sets m n"]
    owners: tuple[int, ...]
    seed: int
    device: torch.device
    together: bool

    @property
    def rounds(self) -> int:
        """Trainings one after the other."""
        return 1 if self.together else len(self.masks)

    def trained(
        self, epochs: int, batch: int, optimiser: Optimiser, progress: Progress | None
    ) -> list[Fitted]:
        """The trained networks, in the order of the missing sets."""
        points = arrange_inputs(self.draw.flat, self.model.layout).to(self.device, torch.float32)
        order = self.draw.points.shape[1]
        hidden = self.masks.flatten(1)
        batches = [hidden] if self.together else [row[None] for row in hidden]
        settings = MiniBatch(epochs, batch, optimiser, measured_every=epochs)
        found = []
        for k, rows in enumerate(batches):
            found.append(
                self.draw.task.fitted(
                    self.model.builder,
                    StoredPoints(points, order),
                    self.draw,
                    rows,
                    settings,
                    [self.seed] * len(rows),
                    device=self.device,
                    progress=partial_progress(progress, k * epochs, self.rounds * epochs),
                )
            )
        return found

    def by_class(self, trained: list[Fitted]) -> Float64[Tensor, "c"]:
        """Accuracy at the missing points of each class; NaN for classes that miss none."""
        if self.owners:
            found = torch.full((self.draw.classes,), float("nan"), dtype=torch.float64)
            found[list(self.owners)] = torch.cat([one.missing for one in trained])
            return found
        module = trained[0].stack.copy(0)
        return self.shares(0, self.outputs(module)[self.masks[0].flatten()])

    def kernels(self, trained: list[Fitted], most: int) -> tuple[float, Float64[Tensor, "c"]]:
        """How far kernels moved, and what regression with them says, for at most so many missing sets."""
        modules = [one.stack.copy(k) for one in trained for k in range(len(one.stack))]
        chosen = torch.linspace(0, len(modules) - 1, min(most, len(modules))).round().long().unique().tolist()
        points = self.draw.flat.to(self.device)
        before = FiniteKernel(self.model.layout, self.model.builder(self.seed).to(self.device))(points).cpu()
        refit = torch.full((self.draw.classes,), float("nan"), dtype=torch.float64)
        moved = []
        for k in chosen:
            module = modules[k].to(self.device, torch.float64)
            gram = FiniteKernel(self.model.layout, module)(points).cpu()
            cosine = (gram * before).sum() / (gram.norm() * before.norm())
            moved.append(1 - float(cosine))
            ridge = FALLBACK_RIDGE * float(gram.diagonal().mean())
            shares = self.shares(k, dense_prediction(gram, self.draw, self.masks[k], ridge))
            refit = torch.where(shares.isnan(), refit, shares)
        return sum(moved) / len(moved), refit

    def outputs(self, module: nn.Module) -> Float[Tensor, "p c"]:
        """What a network says of all points, in float64; of classes, of those that occur alone."""
        points = arrange_inputs(self.draw.flat, self.model.layout).to(self.device)
        with torch.no_grad():
            found = module.to(self.device, torch.float64)(points).cpu()
        return found[:, self.draw.columns]

    def shares(self, k: int, prediction: Float[Tensor, "p t"]) -> Float64[Tensor, "c"]:
        """The score at the missing points of each class; NaN without any."""
        items = self.masks[k].nonzero()[:, 0]
        return group_means(self.draw.scores(prediction, items), self.draw.positions[items], self.draw.classes)


def runs_of(
    model: UserModel,
    draw: Draw,
    masks: Bool[Tensor, "sets m n"],
    seed: int,
    device: torch.device,
    together: bool,
    most: int,
) -> Runs:
    """Runs for at most so many of the missing sets, spread evenly; each knows the class it leaves out."""
    if len(masks) == 1:
        return Runs(model, draw, masks, (), seed, device, together)
    count = min(most, len(masks))
    chosen = torch.linspace(0, len(masks) - 1, count).round().long().unique()
    return Runs(model, draw, masks[chosen], tuple(chosen.tolist()), seed, device, together)


def batch_well(module: nn.Module) -> bool:
    """Whether copies batch well on any device: full connections do, convolutions on a CPU do not."""
    parts = [part for part in module.modules() if next(part.parameters(False), None) is not None]
    return all(isinstance(part, nn.Linear) for part in parts)
