"""Training beside the forecast: the check of what it predicts, and a pilot it may start from.

One network is trained for every missing set, on what is not missing: as one batched network where that pays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor, nn

from symscope.forecasting._equivariance import Equivariance, equivariance
from symscope.forecasting._kernel_choice import FiniteKernel
from symscope.forecasting._kernel_logistic import kernel_logistic_regression
from symscope.forecasting._kernel_prediction import FALLBACK_RIDGE, dense_prediction
from symscope.forecasting._options import CheckOptions, ForecastOptions, TrainingPlan
from symscope.forecasting._prediction_task import group_means, sample_spread
from symscope.forecasting._question import Question, missing_masks
from symscope.forecasting._resample import Resample
from symscope.forecasting._short_repr import short_repr
from symscope.networks import UserModel, arrange_inputs
from symscope.numerics import Progress, partial_progress
from symscope.training import MiniBatch, Optimiser, StoredPoints, TrainedNetworks, train_networks

LEARNED = 0.95  # accuracy on seen points below which a comparison with the forecast means little
HELD_STEPS, HELD_LOSS = 400, 0.01  # logistic regression ends at this mean cross-entropy, or so many steps


@final
@dataclass(frozen=True, eq=False)
class TrainingCheck:
    """What training gave; for regression, "accuracy" is the share of the numbers' variation explained.

    Attributes:
        class_accuracy: Held-out accuracy of each class; NaN for classes that no network was trained without.
        seen_accuracy: Accuracy of each network on the points it was trained on.
        second_accuracy: `class_accuracy` of a second training that differs in the optimiser alone.
        second_seen_accuracy: `seen_accuracy` of the second training.
        noise_floor: Mean over classes of the difference between the two trainings.
        kernel_change: How far training changed the tangent kernel, `1 - <K0, K> / (|K0| |K|)`, mean over some
            classes; NaN if not computed.
        refit_accuracy: Held-out accuracy of regression with the kernel after training, for each class; NaN
            where not computed.
        losses: Mean loss over each epoch of the first training, mean over networks.
        plan: How the networks were trained.
        equivariance: Equivariance of the first trained network.
    """

    class_accuracy: Float64[Tensor, "c"]
    seen_accuracy: Float64[Tensor, "sets"]
    second_accuracy: Float64[Tensor, "c"]
    second_seen_accuracy: Float64[Tensor, "sets"]
    noise_floor: float
    kernel_change: float
    refit_accuracy: Float64[Tensor, "c"]
    losses: Float64[Tensor, "epochs"]
    plan: TrainingPlan
    equivariance: Equivariance

    __repr__ = short_repr

    @property
    def accuracy(self) -> float:
        """Mean over classes."""
        return float(self.class_accuracy.nanmean())

    @property
    def underfit_optimisers(self) -> tuple[str, ...]:
        """The optimisers whose networks have not learned the points they were trained on."""
        both = (
            (self.plan.optimiser, self.seen_accuracy),
            (self.plan.second_optimiser, self.second_seen_accuracy),
        )
        return tuple(
            f"{one.kind} at {one.learning_rate:g}" for one, seen in both if float(seen.mean()) < LEARNED
        )


@final
@dataclass(frozen=True, eq=False)
class PilotForecast:
    """The forecast from a short training, from whose end the network goes on with its kernel held fixed.

    Attributes:
        epochs: Epochs of the short training.
        class_accuracy: Predicted held-out accuracy of each class; NaN where nothing is missing.
        class_spread: Standard deviation of the same over samples.
    """

    epochs: int
    class_accuracy: Float64[Tensor, "c"]
    class_spread: Float64[Tensor, "c"]

    __repr__ = short_repr

    @property
    def accuracy(self) -> float:
        """Mean over classes."""
        return float(self.class_accuracy.nanmean())


def training_check(
    model: UserModel,
    question: Question,
    resample: Resample,
    settings: CheckOptions,
    options: ForecastOptions,
    progress: Progress | None = None,
) -> tuple[TrainingCheck, nn.Module]:
    """Train the network once for each missing set, twice over, and measure what the forecast predicted.

    Args:
        model: Network to train.
        question: Action and missing cases.
        resample: Samples the forecast was made for.
        settings: How to train.
        options: Seed and device of the forecast.
        progress: Called as `progress(words with the loss, epochs done, epochs in all)`.

    Returns:
        What was measured, and the trained network of the first missing set.

    Raises:
        InputError: A network that cannot be trained this way, or a loss that is not finite.
    """
    runs = training_runs(model, question, resample, settings, options)
    plan, half = runs.plan, runs.plan.epochs * runs.rounds
    first = runs.train(plan.epochs, plan.optimiser, partial_progress(progress, 0, 2 * half))
    second = runs.train(plan.epochs, plan.second_optimiser, partial_progress(progress, half, 2 * half))
    accuracy, second_accuracy = runs.class_scores(first), runs.class_scores(second)
    change, refit = float("nan"), torch.full_like(accuracy, float("nan"))
    if settings.kernel_classes:
        change, refit = runs.kernels(first, settings.kernel_classes)
    module = first[0].stack.copy(0).to("cpu", torch.float64)
    check = TrainingCheck(
        accuracy,
        runs.scores(first, "seen"),
        second_accuracy,
        runs.scores(second, "seen"),
        float((accuracy - second_accuracy).abs().nanmean()),
        change,
        refit,
        torch.cat([one.losses for one in first], 1).mean(1),
        replace(plan, classes=len(runs.masks)),
        equivariance(module, model, question, resample.images[:, question.group.identity]),
    )
    return check, module


def pilot_forecast(
    model: UserModel,
    question: Question,
    resample: Resample,
    settings: CheckOptions,
    options: ForecastOptions,
    progress: Progress | None = None,
) -> PilotForecast:
    """The accuracy of each class if the network, trained for a few epochs, were linear from there on.

    `f = f_k + K a`: outputs f_k and tangent kernel K after k epochs; a is what training with K held fixed
    would make of it (the network linearised at the pilot's end, as in Fort et al. 2020, arXiv:2010.15110). No
    longer a forecast from the architecture alone: what the first epochs do to the kernel, and what they fit
    with it, is in it.

    Args:
        model: Network to train.
        question: Action and missing cases.
        resample: Samples to train on.
        settings: How to train, but for the number of epochs.
        options: Epochs of the pilot, seed and device.
        progress: Called as `progress(words with the loss, epochs done, epochs in all)`.

    Raises:
        InputError: A network that cannot be trained this way, or a loss that is not finite.
    """
    runs = training_runs(model, question, resample, settings, options, every=True)
    accuracy = torch.full((resample.classes,), float("nan"), dtype=torch.float64)
    spread = accuracy.clone()
    for k, module in enumerate(_modules(runs.train(options.pilot_epochs, runs.plan.optimiser, progress))):
        start, gram, mask = runs.outputs(module), runs.gram(module), runs.masks[k]
        ridge = FALLBACK_RIDGE * float(gram.diagonal().mean())
        prediction = held_kernel_prediction(gram, resample, ~mask.flatten(), start, ridge)
        scores = runs.missing_scores(k, prediction)
        accuracy = torch.where(scores.isnan(), accuracy, scores)
        samples = mask.nonzero()[:, 0]
        own = resample.scores(prediction, samples)
        scatter = sample_spread(own, samples, resample.positions[samples], resample.classes)
        spread = torch.where(scatter.isnan(), spread, scatter)
    return PilotForecast(options.pilot_epochs, accuracy, spread)


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
        plan: How the networks are trained.
        seed: Seed for weights and order.
        device: Device to train on.
    """

    model: UserModel
    resample: Resample
    masks: Bool[Tensor, "sets m n"]
    owners: tuple[int, ...]
    plan: TrainingPlan
    seed: int
    device: torch.device

    @property
    def rounds(self) -> int:
        """Trainings one after the other."""
        return 1 if self.plan.batched else len(self.masks)

    def train(self, epochs: int, optimiser: Optimiser, progress: Progress | None) -> list[TrainedNetworks]:
        """The trained networks, in the order of the missing sets: classes by cross-entropy, else squares."""
        resample, order = self.resample, self.masks.shape[2]
        points = arrange_inputs(resample.flat, self.model.layout).to(self.device, torch.float32)
        wanted = resample.labels if resample.targets is None else resample.outputs
        settings = MiniBatch(epochs, self.plan.batch, optimiser, measured_every=epochs)
        return [
            train_networks(
                self.model.builder,
                StoredPoints(points, order),
                wanted.repeat_interleave(order, 0),
                ~hidden,
                {"missing": hidden, "seen": ~hidden},
                settings,
                [self.seed] * len(hidden),
                device=self.device,
                progress=partial_progress(progress, k * epochs, self.rounds * epochs),
            )
            for k, hidden in enumerate(self.masks.flatten(1).chunk(self.rounds))
        ]

    def scores(self, networks: list[TrainedNetworks], name: str) -> Float64[Tensor, "sets"]:
        """The score of each network on its missing or its seen points; 1 is perfect."""
        measured = torch.cat([one.measured[name][-1] for one in networks])
        targets = self.resample.targets
        if targets is None:
            return measured
        return 1 - measured / (targets.variance / self.resample.outputs.shape[1])  # errors are means

    def class_scores(self, networks: list[TrainedNetworks]) -> Float64[Tensor, "c"]:
        """The score at the missing points of each class; NaN for classes that miss none."""
        if self.owners:
            result = torch.full((self.resample.classes,), float("nan"), dtype=torch.float64)
            result[list(self.owners)] = self.scores(networks, "missing")
            return result
        module = networks[0].stack.copy(0)
        return self.missing_scores(0, self.outputs(module)[self.masks[0].flatten()])

    def kernels(self, networks: list[TrainedNetworks], most: int) -> tuple[float, Float64[Tensor, "c"]]:
        """How far kernels changed, and the score of regression with them, for at most so many sets."""
        modules = _modules(networks)
        before = self.gram(self.model.builder(self.seed))
        refit = torch.full((self.resample.classes,), float("nan"), dtype=torch.float64)
        changes = []
        for k in spread_evenly(len(modules), most):
            gram = self.gram(modules[k])
            cosine = (gram * before).sum() / (gram.norm() * before.norm())
            changes.append(1 - float(cosine))
            ridge = FALLBACK_RIDGE * float(gram.diagonal().mean())
            scores = self.missing_scores(k, dense_prediction(gram, self.resample, self.masks[k], ridge))
            refit = torch.where(scores.isnan(), refit, scores)
        return sum(changes) / len(changes), refit

    def gram(self, module: nn.Module) -> Float[Tensor, "p p"]:
        """The tangent kernel of a network over all points, in float64."""
        module = module.to(self.device, torch.float64)
        return FiniteKernel(self.model.layout, module)(self.resample.flat.to(self.device)).cpu()

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
    question: Question,
    resample: Resample,
    settings: CheckOptions,
    options: ForecastOptions,
    every: bool = False,
) -> TrainingRuns:
    """Runs for every missing set, or for as many as the plan allows, spread evenly."""
    masks = missing_masks(resample.labels, question.group, question.missing)
    plan = settings.plan(model.builder(options.seed), masks[0].numel())
    chosen = spread_evenly(len(masks), len(masks) if every else plan.classes)
    owners = () if len(masks) == 1 else tuple(chosen)
    device = torch.device(options.device)
    return TrainingRuns(model, resample, masks[chosen], owners, plan, options.seed, device)


def spread_evenly(count: int, most: int) -> list[int]:
    """At most so many of the numbers from 0 on, spread evenly.

    >>> spread_evenly(10, 4), spread_evenly(3, 9)
    ([0, 3, 6, 9], [0, 1, 2])
    """
    return torch.linspace(0, count - 1, min(most, count)).round().long().unique().tolist()


def _modules(networks: list[TrainedNetworks]) -> list[nn.Module]:
    return [one.stack.copy(k) for one in networks for k in range(len(one.stack))]
