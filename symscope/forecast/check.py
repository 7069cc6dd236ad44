"""The check of a forecast: the network is trained on what is not missing, and asked about what is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor, nn

from symscope.data.randomness import check_count
from symscope.errors import InputError
from symscope.forecast.expectation import FALLBACK_RIDGE, Missing, dense_prediction, missing_masks
from symscope.forecast.model import Model, laid_out
from symscope.forecast.problem import Draw
from symscope.forecast.tangent import FiniteKernel
from symscope.forecast.task import Fitted, group_means
from symscope.groups import FiniteGroup
from symscope.training import MiniBatch, Optimiser, Stored

Progress = Callable[[int, int, float], object]
ADAM = Optimiser("adam", 1e-3)
SGD = Optimiser("sgd", 0.02, momentum=0.9)
STEPS = 600  # of the optimiser at least: fewer leave small data unlearned
KERNELS = 3  # left-out classes whose kernel after training is computed, unless told otherwise


@final
@dataclass(frozen=True)
class Training:
    """How the network is trained for the check; what is None is chosen for the network.

    Attributes:
        epochs: Passes over the points; by default 25, or as many as make 600 steps.
        batch: Points per step.
        optimiser: What takes the steps; by default Adam at 1e-3, at 3e-3 for networks that average over
            positions, which learn slowly.
        other: The optimiser of the second training, for the noise floor; by default SGD with momentum for
            Adam and Adam for SGD.
        sets: At most so many left-out classes are trained for, spread over all; by default all, or 4 for
            networks that are not made of full connections alone, which are trained one by one.
        kernels: Classes whose tangent kernel after training is computed; 0 for none.
    """

    epochs: int | None = None
    batch: int = 32
    optimiser: Optimiser | None = None
    other: Optimiser | None = None
    sets: int | None = None
    kernels: int = KERNELS

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "sets"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.kernels < 0:
            raise InputError(f"kernels: expected 0 or more, got {self.kernels}.")

    def chosen(self, module: nn.Module, points: int) -> Settled:
        """The settings for a network and so many points."""
        averages = any(isinstance(part, nn.AdaptiveAvgPool2d) for part in module.modules())
        optimiser = self.optimiser or (Optimiser("adam", 3e-3) if averages else ADAM)
        steps = -(-points // self.batch)
        epochs = self.epochs or max(25, -(-STEPS // steps))
        second = self.other or (SGD if optimiser.kind == "adam" else ADAM)
        together = _together(module)
        return Settled(
            epochs, self.batch, optimiser, second, self.sets or (10**9 if together else 4), together
        )


@final
@dataclass(frozen=True)
class Settled:
    """Settings with nothing left open.

    Attributes:
        epochs: Passes over the points.
        batch: Points per step.
        optimiser: Of the first training.
        second: Of the second.
        sets: Left-out classes trained for, at most.
        together: Whether the networks are trained together.
    """

    epochs: int
    batch: int
    optimiser: Optimiser
    second: Optimiser
    sets: int
    together: bool


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """What training gave; where numbers are asked for, "accuracy" is what is explained of their variation.

    Attributes:
        class_accuracy: For each class, the share of its missing points the trained network reads right; NaN
            for classes that no network was trained without.
        seen_accuracy: For each network, the share of the points it was trained on.
        second_accuracy: `class_accuracy` of a second training that differs in the optimiser alone.
        noise_floor: Mean over classes of the difference between the two trainings.
        moved: How far the tangent kernel moved, `1 - <K0, K> / (|K0| |K|)`, mean over some classes; NaN if
            not computed.
        refit_accuracy: For each class, regression with the kernel after training; NaN where not computed.
        losses: Mean loss over each epoch of the first training, mean over networks.
        settings: How it was trained.
    """

    class_accuracy: Float64[Tensor, "c"]
    seen_accuracy: Float64[Tensor, "sets"]
    second_accuracy: Float64[Tensor, "c"]
    noise_floor: float
    moved: float
    refit_accuracy: Float64[Tensor, "c"]
    losses: Float64[Tensor, "epochs"]
    settings: Settled

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
    masks = missing_masks(draw.labels, group, missing, draw.task.words.one)
    how = settings.chosen(model.builder(seed), masks[0].numel())
    runs = _runs(model, draw, masks, seed, torch.device(device), how.together, how.sets)
    half = how.epochs * runs.rounds
    first = runs.trained(how.epochs, how.batch, how.optimiser, _ahead(progress, 0, 2 * half))
    other = runs.trained(how.epochs, how.batch, how.second, _ahead(progress, half, 2 * half))
    accuracy, second = runs.by_class(first), runs.by_class(other)
    moved, refit = float("nan"), torch.full_like(accuracy, float("nan"))
    if settings.kernels:
        moved, refit = runs.kernels(first, settings.kernels)
    found = Outcome(
        accuracy,
        torch.cat([one.seen for one in first]),
        second,
        float((accuracy - second).abs().nanmean()),
        moved,
        refit,
        torch.cat([one.losses for one in first], 1).mean(1),
        replace(how, sets=len(runs.masks)),
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
    masks = missing_masks(draw.labels, group, missing, draw.task.words.one)
    together = _together(model.builder(seed))
    runs = _runs(model, draw, masks, seed, torch.device(device), together, len(masks))
    trained = runs.trained(epochs, 32, ADAM, _ahead(progress, 0, epochs * runs.rounds))
    return runs.kernels(trained, len(masks))[1]


@final
@dataclass(frozen=True, eq=False)
class _Runs:
    """One network for each missing set, trained together where that pays."""

    model: Model
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
        self, epochs: int, batch: int, optimiser: Optimiser, progress: Callable[[int], Progress]
    ) -> list[Fitted]:
        """The trained networks, in the order of the missing sets."""
        points = laid_out(self.draw.flat, self.model.layout).to(self.device, torch.float32)
        order = self.draw.points.shape[1]
        hidden = self.masks.flatten(1)
        batches = [hidden] if self.together else [row[None] for row in hidden]
        settings = MiniBatch(epochs, batch, optimiser, measured_every=epochs)
        found = []
        for k, rows in enumerate(batches):
            found.append(
                self.draw.task.fitted(
                    self.model.builder,
                    Stored(points, order),
                    self.draw,
                    rows,
                    settings,
                    [self.seed] * len(rows),
                    device=self.device,
                    progress=progress(k * epochs),
                )
            )
        return found

    def by_class(self, trained: list[Fitted]) -> Float64[Tensor, "c"]:
        """Accuracy at the missing points of each class; NaN for classes that miss none."""
        if self.owners:
            found = torch.full((self.draw.classes,), float("nan"), dtype=torch.float64)
            found[list(self.owners)] = torch.cat([one.missing for one in trained])
            return found
        module = trained[0].stack.copy(0).to("cpu", torch.float64)
        return self._shares(0, _outputs(module, self.draw, self.masks[0], self.model))

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
            shares = self._shares(k, dense_prediction(gram, self.draw, self.masks[k], ridge))
            refit = torch.where(shares.isnan(), refit, shares)
        return sum(moved) / len(moved), refit

    def _shares(self, k: int, prediction: Float[Tensor, "p t"]) -> Float64[Tensor, "c"]:
        """The score at the missing points of each class; NaN without any."""
        items = self.masks[k].nonzero()[:, 0]
        return group_means(self.draw.scores(prediction, items), self.draw.positions[items], self.draw.classes)


def _runs(
    model: Model,
    draw: Draw,
    masks: Bool[Tensor, "sets m n"],
    seed: int,
    device: torch.device,
    together: bool,
    most: int,
) -> _Runs:
    """Runs for at most so many of the missing sets, spread evenly; each knows the class it leaves out."""
    if len(masks) == 1:
        return _Runs(model, draw, masks, (), seed, device, together)
    count = min(most, len(masks))
    chosen = torch.linspace(0, len(masks) - 1, count).round().long().unique()
    return _Runs(model, draw, masks[chosen], tuple(chosen.tolist()), seed, device, together)


def _together(module: nn.Module) -> bool:
    """Whether copies batch well on any device: full connections do, convolutions on a CPU do not."""
    parts = [part for part in module.modules() if next(part.parameters(False), None) is not None]
    return all(isinstance(part, nn.Linear) for part in parts)


def _outputs(module: nn.Module, draw: Draw, mask: Bool[Tensor, "m n"], model: Model) -> Float[Tensor, "p c"]:
    """What a network says at missing points; of classes, of those that occur alone."""
    with torch.no_grad():
        outputs = module(laid_out(draw.points[mask], model.layout))
    return outputs[:, draw.columns]


def _ahead(progress: Progress | None, done: int, total: int) -> Callable[[int], Progress]:
    """Progress over several trainings: a function of what the earlier ones did."""

    def after(before: int) -> Progress:
        def one(epoch: int, epochs: int, loss: float) -> object:
            return None if progress is None else progress(done + before + epoch, total, loss)

        return one

    return after
