"""Networks trained for every missing set: on what is not missing, as one batched network where that pays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor, nn

from symscope.forecasting._kernel_choice import FiniteKernel
from symscope.forecasting._kernel_logistic import kernel_logistic_regression
from symscope.forecasting._kernel_prediction import FALLBACK_RIDGE, dense_prediction
from symscope.forecasting._prediction_task import group_means
from symscope.forecasting._resample import Resample
from symscope.networks import Stack, UserModel, arrange_inputs
from symscope.numerics import Progress, partial_progress
from symscope.training import MiniBatch, Optimiser, StoredPoints, train_classifiers, train_regressors

HELD_STEPS, HELD_LOSS = 400, 0.01  # logistic regression ends at this mean cross-entropy, or so many steps


@final
@dataclass(frozen=True, eq=False)
class TrainedNetworks:
    """Networks trained on what is not missing.

    Attributes:
        stack: One network for each missing set.
        losses: Mean loss over each epoch.
        missing: Score at missing points.
        seen: Score at all others.
    """

    stack: Stack
    losses: Float64[Tensor, "epochs copies"]
    missing: Float64[Tensor, "copies"]
    seen: Float64[Tensor, "copies"]


def train_networks(
    builder: Callable[[int], nn.Module],
    points: StoredPoints,
    resample: Resample,
    hidden: Bool[Tensor, "copies p"],
    settings: MiniBatch,
    seed: int,
    **where: Any,
) -> TrainedNetworks:
    """Train one network for each row of `hidden`: classes by cross-entropy, numbers by squared loss.

    Args:
        builder: The network for a seed.
        points: All points as the network takes them.
        resample: Samples and their classes or numbers.
        hidden: Points each network is not trained on.
        settings: How to train.
        seed: Seed for weights and order.
        **where: Device and progress, as for `train_classifiers`.
    """
    tests, seeds = {"missing": hidden, "seen": ~hidden}, [seed] * len(hidden)
    if resample.targets is None:
        labels = resample.labels.repeat_interleave(points.order)
        classified = train_classifiers(builder, points, labels, ~hidden, tests, settings, seeds, **where)
        missing, seen = (classified.accuracies[name][-1] for name in tests)
        return TrainedNetworks(classified.stack, classified.losses, missing, seen)
    numbers = resample.outputs.repeat_interleave(points.order, 0)
    done = train_regressors(builder, points, numbers, ~hidden, tests, settings, seeds, **where)
    unit = resample.targets.variance / numbers.shape[1]  # errors are means over outputs
    missing, seen = (1 - done.errors[name][-1] / unit for name in tests)
    return TrainedNetworks(done.stack, done.losses, missing, seen)


def held_kernel_prediction(
    gram: Float[Tensor, "p p"],
    resample: Resample,
    seen: Bool[Tensor, "p"],
    start: Float[Tensor, "p c"],
    ridge: float,
) -> Float[Tensor, "k c"]:
    """What training from some outputs, with the kernel held fixed, ends in at the points that are not seen.

    Classes: cross-entropy lowered until it is small, which needs no ridge. Numbers: squared loss to its end,
    which is regression of what is left.
    """
    order = len(gram) // len(resample.labels)
    if resample.targets is None:
        labels = resample.one_hot.repeat_interleave(order, 0)
        fit = kernel_logistic_regression(gram, labels, seen, start, steps=HELD_STEPS, tolerance=HELD_LOSS)
        return fit.outputs
    left = (resample.outputs.repeat_interleave(order, 0) - start)[seen]
    inner = gram[seen][:, seen] + ridge * torch.eye(int(seen.sum()), dtype=gram.dtype)
    return start[~seen] + gram[~seen][:, seen] @ torch.linalg.solve(inner, left)


@final
@dataclass(frozen=True, eq=False)
class TrainingRuns:
    """One network for each missing set; made by `training_runs`.

    Attributes:
        model: The network.
        resample: Samples and their orbits.
        masks: Missing points of each set.
        owners: Position of the class each set leaves out; empty if one set leaves out several.
        seed: Seed for weights and order.
        device: Device to train on.
        batched: Whether all networks are trained as one batched network.
    """

    model: UserModel
    resample: Resample
    masks: Bool[Tensor, "sets m n"]
    owners: tuple[int, ...]
    seed: int
    device: torch.device
    batched: bool

    @property
    def rounds(self) -> int:
        """Trainings one after the other."""
        return 1 if self.batched else len(self.masks)

    def train(
        self, epochs: int, batch: int, optimiser: Optimiser, progress: Progress | None
    ) -> list[TrainedNetworks]:
        """The trained networks, in the order of the missing sets."""
        points = arrange_inputs(self.resample.flat, self.model.layout).to(self.device, torch.float32)
        stored = StoredPoints(points, self.resample.points.shape[1])
        hidden = self.masks.flatten(1)
        rounds = [hidden] if self.batched else [row[None] for row in hidden]
        settings = MiniBatch(epochs, batch, optimiser, measured_every=epochs)
        return [
            train_networks(
                self.model.builder,
                stored,
                self.resample,
                rows,
                settings,
                self.seed,
                device=self.device,
                progress=partial_progress(progress, k * epochs, self.rounds * epochs),
            )
            for k, rows in enumerate(rounds)
        ]

    def class_scores(self, networks: list[TrainedNetworks]) -> Float64[Tensor, "c"]:
        """The score at the missing points of each class; NaN for classes that miss none."""
        if self.owners:
            result = torch.full((self.resample.classes,), float("nan"), dtype=torch.float64)
            result[list(self.owners)] = torch.cat([one.missing for one in networks])
            return result
        module = networks[0].stack.copy(0)
        return self.missing_scores(0, self.outputs(module)[self.masks[0].flatten()])

    def kernels(self, networks: list[TrainedNetworks], most: int) -> tuple[float, Float64[Tensor, "c"]]:
        """How far kernels changed, and the score of regression with them, for at most so many sets."""
        modules = [one.stack.copy(k) for one in networks for k in range(len(one.stack))]
        chosen = torch.linspace(0, len(modules) - 1, min(most, len(modules))).round().long().unique().tolist()
        points = self.resample.flat.to(self.device)
        before = FiniteKernel(self.model.layout, self.model.builder(self.seed).to(self.device))(points).cpu()
        refit = torch.full((self.resample.classes,), float("nan"), dtype=torch.float64)
        changes = []
        for k in chosen:
            module = modules[k].to(self.device, torch.float64)
            gram = FiniteKernel(self.model.layout, module)(points).cpu()
            cosine = (gram * before).sum() / (gram.norm() * before.norm())
            changes.append(1 - float(cosine))
            ridge = FALLBACK_RIDGE * float(gram.diagonal().mean())
            scores = self.missing_scores(k, dense_prediction(gram, self.resample, self.masks[k], ridge))
            refit = torch.where(scores.isnan(), refit, scores)
        return sum(changes) / len(changes), refit

    def outputs(self, module: nn.Module) -> Float[Tensor, "p c"]:
        """A network's outputs at all points, in float64; of classes, those that occur alone."""
        points = arrange_inputs(self.resample.flat, self.model.layout).to(self.device)
        with torch.no_grad():
            result = module.to(self.device, torch.float64)(points).cpu()
        return result[:, self.resample.columns]

    def missing_scores(self, k: int, prediction: Float[Tensor, "p t"]) -> Float64[Tensor, "c"]:
        """The score at the missing points of one set by class; NaN for classes that miss none."""
        samples = self.masks[k].nonzero()[:, 0]
        positions = self.resample.positions[samples]
        return group_means(self.resample.scores(prediction, samples), positions, self.resample.classes)


def training_runs(
    model: UserModel,
    resample: Resample,
    masks: Bool[Tensor, "sets m n"],
    seed: int,
    device: torch.device | str,
    batched: bool,
    most: int,
) -> TrainingRuns:
    """Runs for at most so many of the missing sets, spread evenly; each knows the class it leaves out."""
    if len(masks) == 1:
        return TrainingRuns(model, resample, masks, (), seed, torch.device(device), batched)
    count = min(most, len(masks))
    chosen = torch.linspace(0, len(masks) - 1, count).round().long().unique()
    owners = tuple(chosen.tolist())
    return TrainingRuns(model, resample, masks[chosen], owners, seed, torch.device(device), batched)
