"""The check of a forecast: the network is trained on what is not missing, and asked about what is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor, nn

from symscope.forecast.expectation import FALLBACK_RIDGE, Missing, dense_prediction, missing_masks
from symscope.forecast.model import Model, laid_out
from symscope.forecast.problem import Draw
from symscope.forecast.tangent import FiniteKernel
from symscope.groups import FiniteGroup
from symscope.training import MiniBatch, Optimiser, Stored, TrainedClassifiers, train_classifiers

Progress = Callable[[int, int, float], object]
ADAM = Optimiser("adam", 1e-3)
SGD = Optimiser("sgd", 0.02, momentum=0.9)
KERNELS = 3  # left-out classes whose kernel after training is computed, unless told otherwise


@final
@dataclass(frozen=True)
class Training:
    """How the network is trained for the check.

    Attributes:
        epochs: Passes over the points.
        batch: Points per step.
        optimiser: What takes the steps.
        other: The optimiser of the second training, for the noise floor.
        kernels: Classes whose tangent kernel after training is computed; 0 for none.
    """

    epochs: int = 25
    batch: int = 64
    optimiser: Optimiser = ADAM
    other: Optimiser | None = None
    kernels: int = KERNELS

    @property
    def second(self) -> Optimiser:
        """The other optimiser: SGD with momentum for Adam, Adam for SGD, unless one is given."""
        if self.other is not None:
            return self.other
        return SGD if self.optimiser.kind == "adam" else ADAM


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """What training gave.

    Attributes:
        class_accuracy: For each class, the share of its missing points the trained network reads right.
        seen_accuracy: For each class left out, the share of the points it was trained on.
        second_accuracy: `class_accuracy` of a second training that differs in the optimiser alone.
        noise_floor: Mean over classes of the difference between the two trainings.
        moved: How far the tangent kernel moved, `1 - <K0, K> / (|K0| |K|)`, mean over some classes; NaN if
            not computed.
        refit_accuracy: For each class, regression with the kernel after training; NaN where not computed.
        losses: Mean loss over each epoch of the first training, mean over networks.
        settings: How it was trained.
    """

    class_accuracy: Float64[Tensor, "c"]
    seen_accuracy: Float64[Tensor, "c"]
    second_accuracy: Float64[Tensor, "c"]
    noise_floor: float
    moved: float
    refit_accuracy: Float64[Tensor, "c"]
    losses: Float64[Tensor, "epochs"]
    settings: Training

    @property
    def accuracy(self) -> float:
        """Mean over classes."""
        return float(self.class_accuracy.nanmean())


def outcome(
    model: Model,
    draw: Draw,
    group: FiniteGroup,
    missing: Missing,
    settings: Training,
    seed: int,
    *,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> tuple[Outcome, nn.Module]:
    """Train the network once for each missing set, twice over, and measure what the forecast was about.

    Args:
        model: The network.
        draw: The items the forecast was made for.
        group: What acts.
        missing: As in the forecast.
        settings: How to train.
        seed: Of weights and order.
        device: Where to train.
        progress: Called as `progress(epochs done, epochs in all, loss)`.

    Returns:
        What was measured, and the trained network of the first missing set.

    Raises:
        InputError: A network that cannot be trained this way, or a loss that is not finite.
    """
    masks = missing_masks(draw.labels, group, missing)
    runs = _Runs(model, draw, masks, seed, torch.device(device))
    total = 2 * settings.epochs * runs.rounds
    first = runs.trained(settings.epochs, settings.batch, settings.optimiser, _ahead(progress, 0, total))
    other = runs.trained(
        settings.epochs, settings.batch, settings.second, _ahead(progress, total // 2, total)
    )
    accuracy, second = runs.by_class(first), runs.by_class(other)
    seen = torch.cat([one.accuracies["seen"][-1] for one in first])
    moved, refit = float("nan"), torch.full_like(accuracy, float("nan"))
    if settings.kernels:
        moved, refit = runs.kernels(first, settings.kernels)
    found = Outcome(
        accuracy,
        seen if len(seen) == len(accuracy) else seen.expand(len(accuracy)).clone(),
        second,
        float((accuracy - second).abs().nanmean()),
        moved,
        refit,
        torch.cat([one.losses for one in first], 1).mean(1),
        settings,
    )
    return found, first[0].stack.copy(0).to("cpu", torch.float64)


def pilot_accuracy(
    model: Model,
    draw: Draw,
    group: FiniteGroup,
    missing: Missing,
    epochs: int,
    seed: int,
    *,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> Float64[Tensor, "c"]:
    """A forecast that uses a short training: regression with each network's tangent kernel after it.

    No longer a forecast from the architecture alone: some of what training does to the kernel is in it.

    Args:
        model: The network.
        draw: The items.
        group: What acts.
        missing: As in the forecast.
        epochs: Of the pilot training, few.
        seed: Of weights and order.
        device: Where to train.
        progress: As in `outcome`.

    Raises:
        InputError: As `outcome`.
    """
    masks = missing_masks(draw.labels, group, missing)
    runs = _Runs(model, draw, masks, seed, torch.device(device))
    trained = runs.trained(epochs, 64, ADAM, _ahead(progress, 0, epochs * runs.rounds))
    return runs.kernels(trained, len(masks))[1]


@final
@dataclass(frozen=True, eq=False)
class _Runs:
    """One network for each missing set, trained together where that pays."""

    model: Model
    draw: Draw
    masks: Bool[Tensor, "sets m n"]
    seed: int
    device: torch.device

    @property
    def together(self) -> bool:
        """Convolutions do not batch over copies on a CPU; full connections do."""
        parts = [
            p for p in self.model.builder(self.seed).modules() if next(p.parameters(False), None) is not None
        ]
        return all(isinstance(part, nn.Linear) for part in parts)

    @property
    def rounds(self) -> int:
        """Trainings one after the other."""
        return 1 if self.together else len(self.masks)

    def trained(
        self, epochs: int, batch: int, optimiser: Optimiser, progress: Callable[[int], Progress]
    ) -> list[TrainedClassifiers]:
        """The trained networks, in the order of the missing sets."""
        points = laid_out(self.draw.flat, self.model.layout).to(self.device, torch.float32)
        order = self.draw.points.shape[1]
        labels = self.draw.labels.repeat_interleave(order)
        hidden = self.masks.flatten(1)
        batches = [hidden] if self.together else [row[None] for row in hidden]
        settings = MiniBatch(epochs, batch, optimiser, measured_every=epochs)
        found = []
        for k, rows in enumerate(batches):
            tests = {"missing": rows, "seen": ~rows}
            found.append(
                train_classifiers(
                    self.model.builder,
                    Stored(points, order),
                    labels,
                    ~rows,
                    tests,
                    settings,
                    [self.seed] * len(rows),
                    device=self.device,
                    progress=progress(k * epochs),
                )
            )
        return found

    def by_class(self, trained: list[TrainedClassifiers]) -> Float64[Tensor, "c"]:
        """Accuracy at the missing points of each class; NaN for classes that miss none."""
        classes = self.draw.labels.unique()
        if len(self.masks) > 1:
            return torch.cat([one.accuracies["missing"][-1] for one in trained])
        module = trained[0].stack.copy(0).to("cpu", torch.float64)
        return self._shares(0, _outputs(module, self.draw, self.masks[0], self.model), classes)

    def kernels(self, trained: list[TrainedClassifiers], most: int) -> tuple[float, Float64[Tensor, "c"]]:
        """How far kernels moved, and what regression with them says, for at most so many missing sets."""
        modules = [one.stack.copy(k) for one in trained for k in range(len(one.stack))]
        classes = self.draw.labels.unique()
        chosen = torch.linspace(0, len(modules) - 1, min(most, len(modules))).round().long().unique().tolist()
        points = self.draw.flat.to(self.device)
        before = FiniteKernel(self.model.layout, self.model.builder(self.seed).to(self.device))(points).cpu()
        refit = torch.full((len(classes),), float("nan"), dtype=torch.float64)
        moved = []
        for k in chosen:
            module = modules[k].to(self.device, torch.float64)
            gram = FiniteKernel(self.model.layout, module)(points).cpu()
            cosine = (gram * before).sum() / (gram.norm() * before.norm())
            moved.append(1 - float(cosine))
            ridge = FALLBACK_RIDGE * float(gram.diagonal().mean())
            shares = self._shares(k, dense_prediction(gram, self.draw, self.masks[k], ridge), classes)
            refit = torch.where(shares.isnan(), refit, shares)
        return sum(moved) / len(moved), refit

    def _shares(self, k: int, prediction: Float[Tensor, "p c"], classes: Tensor) -> Float64[Tensor, "c"]:
        """The share of right ones among the missing points of each class; NaN without any."""
        truth = self.draw.one_hot.argmax(1)[self.masks[k].nonzero()[:, 0]]
        right = (prediction.argmax(1) == truth).double()
        rows = [
            right[truth == c].mean() if bool((truth == c).any()) else torch.tensor(float("nan"))
            for c in range(len(classes))
        ]
        return torch.stack([row.double() for row in rows])


def _outputs(module: nn.Module, draw: Draw, mask: Bool[Tensor, "m n"], model: Model) -> Float[Tensor, "p c"]:
    """What a network says at missing points, outputs of the classes that occur alone."""
    with torch.no_grad():
        logits = module(laid_out(draw.points[mask], model.layout))
    return logits[:, draw.labels.unique()]


def _ahead(progress: Progress | None, done: int, total: int) -> Callable[[int], Progress]:
    """Progress over several trainings: a function of what the earlier ones did."""

    def after(before: int) -> Progress:
        def one(epoch: int, epochs: int, loss: float) -> object:
            return None if progress is None else progress(done + before + epoch, total, loss)

        return one

    return after
