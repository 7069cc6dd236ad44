"""Training beside the forecast: the check of what it predicts, and a pilot it may start from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor, nn

from symscope.forecasting._equivariance import Equivariance, equivariance
from symscope.forecasting._kernel_choice import FiniteKernel
from symscope.forecasting._kernel_prediction import FALLBACK_RIDGE
from symscope.forecasting._options import CheckOptions, ForecastOptions, TrainingPlan
from symscope.forecasting._prediction_task import sample_spread
from symscope.forecasting._question import Question, missing_masks
from symscope.forecasting._resample import Resample
from symscope.forecasting._training_runs import held_kernel_prediction, training_runs
from symscope.networks import UserModel
from symscope.numerics import Progress, partial_progress

LEARNED = 0.95  # accuracy on seen points below which a comparison with the forecast means little


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
    masks = missing_masks(resample.labels, question.group, question.missing)
    plan = settings.plan(model.builder(options.seed), masks[0].numel())
    runs = training_runs(model, resample, masks, options.seed, options.device, plan.batched, plan.classes)
    half = plan.epochs * runs.rounds
    first = runs.train(plan.epochs, plan.batch, plan.optimiser, partial_progress(progress, 0, 2 * half))
    second = runs.train(
        plan.epochs, plan.batch, plan.second_optimiser, partial_progress(progress, half, 2 * half)
    )
    accuracy, second_accuracy = runs.class_scores(first), runs.class_scores(second)
    change, refit = float("nan"), torch.full_like(accuracy, float("nan"))
    if settings.kernel_classes:
        change, refit = runs.kernels(first, settings.kernel_classes)
    module = first[0].stack.copy(0).to("cpu", torch.float64)
    check = TrainingCheck(
        accuracy,
        torch.cat([one.seen for one in first]),
        second_accuracy,
        torch.cat([one.seen for one in second]),
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
    masks, epochs = missing_masks(resample.labels, question.group, question.missing), options.pilot_epochs
    plan = settings.plan(model.builder(options.seed), masks[0].numel())
    runs = training_runs(model, resample, masks, options.seed, options.device, plan.batched, len(masks))
    networks = runs.train(epochs, plan.batch, plan.optimiser, progress)
    accuracy = torch.full((resample.classes,), float("nan"), dtype=torch.float64)
    spread = accuracy.clone()
    modules = [one.stack.copy(k) for one in networks for k in range(len(one.stack))]
    points = resample.flat.to(runs.device)
    for k, module in enumerate(modules):
        start = runs.outputs(module)
        gram = FiniteKernel(model.layout, module)(points).cpu()
        ridge = FALLBACK_RIDGE * float(gram.diagonal().mean())
        prediction = held_kernel_prediction(gram, resample, ~masks[k].flatten(), start, ridge)
        scores = runs.missing_scores(k, prediction)
        accuracy = torch.where(scores.isnan(), accuracy, scores)
        samples = masks[k].nonzero()[:, 0]
        own = resample.scores(prediction, samples)
        scatter = sample_spread(own, samples, resample.positions[samples], resample.classes)
        spread = torch.where(scatter.isnan(), spread, scatter)
    return PilotForecast(epochs, accuracy, spread)
