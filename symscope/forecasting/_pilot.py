"""A forecast that may use a short training: from where it ends, the network goes on with its kernel held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.forecasting._check import Training
from symscope.forecasting._expectation import FALLBACK_RIDGE, Missing, missing_masks
from symscope.forecasting._kernel_choice import FiniteKernel
from symscope.forecasting._question import Draw
from symscope.forecasting._task import item_spread
from symscope.forecasting._trainings import runs_of
from symscope.groups import FiniteGroup
from symscope.networks import UserModel
from symscope.numerics import Progress


@final
@dataclass(frozen=True, eq=False)
class Pilot:
    """What a pilot training says.

    Attributes:
        epochs: Of the training.
        class_accuracy: For each class, the share of missing points read right; NaN where nothing is missing.
        class_spread: The same, standard deviation over items.
    """

    epochs: int
    class_accuracy: Float64[Tensor, "c"]
    class_spread: Float64[Tensor, "c"]

    @property
    def accuracy(self) -> float:
        """Mean over classes."""
        return float(self.class_accuracy.nanmean())


def pilot(
    model: UserModel,
    draw: Draw,
    group: FiniteGroup,
    missing: Missing,
    epochs: int,
    seed: int,
    settings: Training,
    *,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> Pilot:
    """The accuracy of each class if the network, trained for a few epochs, were linear from there on.

    `f = f_k + K a`: outputs f_k and tangent kernel K after k epochs; a is what training with K held would
    make of it. No longer a forecast from the architecture alone: what the first epochs do to the kernel, and
    what they fit with it, is in it.

    Args:
        model: The network.
        draw: The items.
        group: What acts.
        missing: As in the forecast.
        epochs: Of the pilot training, few.
        seed: Of weights and order.
        settings: How to train, but for the number of epochs.
        device: Where to train.
        progress: Called as `progress(words with the loss, epochs done, epochs in all)`.

    Raises:
        InputError: A network that cannot be trained this way, or a loss that is not finite.
    """
    masks = missing_masks(draw.labels, group, missing, draw.task.words.one)
    how = settings.chosen(model.builder(seed), masks[0].numel())
    runs = runs_of(model, draw, masks, seed, torch.device(device), how.together, len(masks))
    trained = runs.trained(epochs, how.batch, how.optimiser, progress)
    accuracy = torch.full((draw.classes,), float("nan"), dtype=torch.float64)
    spread = accuracy.clone()
    modules = [one.stack.copy(k) for one in trained for k in range(len(one.stack))]
    points = draw.flat.to(runs.device)
    for k, module in enumerate(modules):
        start = runs.outputs(module)
        gram = FiniteKernel(model.layout, module)(points).cpu()
        ridge = FALLBACK_RIDGE * float(gram.diagonal().mean())
        there = draw.task.held(gram, draw, ~masks[k].flatten(), start, ridge)
        shares = runs.shares(k, there)
        accuracy = torch.where(shares.isnan(), accuracy, shares)
        items = masks[k].nonzero()[:, 0]
        scatter = item_spread(draw.scores(there, items), items, draw.positions[items], draw.classes)
        spread = torch.where(scatter.isnan(), spread, scatter)
    return Pilot(epochs, accuracy, spread)
