"""The answer for a user's own network and data: will it read transformations it has not seen?"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.data import Action, LabelledData, MeasuredData
from symscope.errors import InputError
from symscope.forecasting._advice import Advice, advice
from symscope.forecasting._cautions import cautions, symmetry_cautions
from symscope.forecasting._check import Outcome, Training, outcome
from symscope.forecasting._class_pairs import Pairs, class_pairs
from symscope.forecasting._density import Density, densities, enough
from symscope.forecasting._equivariance import Equivariance, equivariance
from symscope.forecasting._expectation import Expectation, Missing, expectation, missing_masks
from symscope.forecasting._kernel_choice import Tangent, default_items, tangent_of
from symscope.forecasting._pilot import Pilot, pilot
from symscope.forecasting._question import Draw, Problem, as_problem, drawn
from symscope.networks import UserModel, user_model
from symscope.numerics import Progress, check_count, check_ridge
from symscope.spectral import IrrepShare

Stage = Callable[[str], object]


@final
@dataclass(frozen=True, eq=False)
class Forecast:
    """Whether a network will read transformations of a class that it has not seen.

    Where numbers are asked for, classes are groups of items by their numbers, lowest first, and every
    accuracy is the share of the numbers' variation that is explained, `1 - mean |f - y|^2 / variance`: 1 is
    perfect, 0 as good as saying the mean, below 0 worse.

    Attributes:
        problem: Data and action.
        model: The network.
        kernel: The kernel's name.
        kernel_reason: Why this kernel.
        per_class: Items of each class in one draw.
        classes: The classes, in the order of all rows below.
        class_accuracy: `[draws, classes]`: share of missing points read right.
        class_spread: `[draws, classes]`: the same, standard deviation over items.
        class_error: Mean of `1 - f_true` at missing points, over draws; for numbers, the root mean square
            error in their own units.
        confusion: `[class, read as]`, mean over draws; None for numbers.
        table: `[class, element]`, mean over draws; NaN where it was not asked or not affordable.
        irreps: What holds missing points in place.
        departure: How far the kernel is from respecting the group.
        pairs: Classes two by two.
        densities: The same with fewer and more transformations; none where missing cases were named.
        target: The accuracy asked for.
        missing: The missing cases the user named; None for the sweep over all classes.
        first: The first draw's items.
        first_expectation: What is expected of them.
        notes: What was special, in words.
        seed: All randomness follows from it.
        seconds: How long it took.
        cautions: Warnings: a kernel far from the group, points that coincide, image size, padding and stride.
        equivariance: Measurements of the network at initialisation.
        equivariance_after: The same after training, if it was trained.
        pilot: What a pilot training, gone on with its kernel held, says; None without.
        outcome: What training gave; None if the forecast was not checked.
        advice: What to do, ranked.
    """

    problem: Problem
    model: UserModel
    kernel: str
    kernel_reason: str
    per_class: int
    classes: tuple[int, ...]
    class_accuracy: Float[Tensor, "draws c"]
    class_spread: Float[Tensor, "draws c"]
    class_error: Float[Tensor, "c"]
    confusion: Float[Tensor, "c c"] | None
    table: Float[Tensor, "c n"]
    irreps: tuple[IrrepShare, ...]
    departure: float
    pairs: Pairs
    densities: tuple[Density, ...]
    target: float
    missing: Missing
    first: Draw
    first_expectation: Expectation
    notes: tuple[str, ...]
    seed: int
    seconds: float
    cautions: tuple[str, ...] = ()
    equivariance: Equivariance | None = None
    equivariance_after: Equivariance | None = None
    pilot: Pilot | None = None
    outcome: Outcome | None = None
    advice: tuple[Advice, ...] = ()

    @property
    def expected(self) -> float:
        """The accuracy to go by, mean of `expected_by_class`."""
        return float(self.expected_by_class.nanmean())

    @property
    def expected_by_class(self) -> Float[Tensor, "c"]:
        """For each class: from the pilot training if there was one, else from the architecture alone."""
        return self.class_accuracy.mean(0) if self.pilot is None else self.pilot.class_accuracy

    @property
    def accuracy(self) -> float:
        """Share of missing points read right, mean over classes and draws."""
        return float(self.class_accuracy.nanmean())

    @property
    def interval(self) -> tuple[float, float]:
        """Where 95 % of new draws of items (and initialisations) should lie around `expected`, at most 1."""
        accuracy, spread = self.class_accuracy, self.class_spread
        if self.pilot is not None:
            accuracy, spread = self.pilot.class_accuracy[None], self.pilot.class_spread[None]
        return self.problem.task.interval(accuracy, spread, self.per_class)

    @property
    def limiting(self) -> tuple[IrrepShare, ...]:
        """The irreps that hold generalisation back, the one furthest below its fair share first."""
        held = [one for one in self.irreps if one.limits]
        return tuple(sorted(held, key=lambda one: one.share / one.weight))

    @property
    def enough(self) -> Density | None:
        """The smallest group of the same family that reaches the target."""
        return enough(self.densities, self.target)


def forecast(
    model: str | nn.Module | Callable[..., nn.Module],
    data: LabelledData | MeasuredData,
    action: Action | str = "C8 rotation",
    *,
    missing: Missing = None,
    class_names: Sequence[str] | None = None,
    target: float = 0.9,
    kernel: str = "auto",
    per_class: int | None = None,
    draws: int = 3,
    ridge: float = 0.0,
    standardise: bool | None = None,
    weights: str | os.PathLike[str] | None = None,
    name: str | None = None,
    seed: int = 0,
    effort: float = 1.0,
    pilot_epochs: int = 0,
    train: bool | Training = False,
    device: torch.device | str = "cpu",
    stage: Stage | None = None,
    progress: Progress | None = None,
) -> Forecast:
    """Before training: will this network read transformations of a class that it has not seen?

    Some items of every class are shown in all transformations, except one class, which lacks one (or the
    cases in `missing`). A wide network trained on the rest is regression with its tangent kernel; the exact
    group form, `residual_M = (P_MM)^-1 (P y)_M`, gives its outputs at what was left out. Numbers to predict
    are standardised and asked for in the same way, up to five groups of items in the place of classes.

    Args:
        model: "mlp", "conv-fc", "conv-gap", "vit"; a function that returns a module; or a module.
        data: Items with classes, or `MeasuredData` with numbers that no transformation changes.
        action: An `Action`, or a group and how it acts: "C8 rotation", "D4", "C14xC14 shift", "flip".
        missing: Elements that are missing of some classes, all at once, `{class: [elements]}`; by default
            each class in turn lacks the identity. Groups of numbers are 0 (lowest) to 4.
        class_names: What tables and pictures call classes 0, 1, ...; their numbers when not given.
        target: Accuracy, or share of the variation explained, that would be good enough.
        kernel: "infinite", "finite", or "auto": infinite width where the architecture has it.
        per_class: Items of each class; by default as many as take seconds, 2 to 8.
        draws: Draws of items, and of weights where the kernel is finite: for the uncertainty.
        ridge: Absolute, added to the kernel's diagonal.
        standardise: Centre and scale each point; by default for images.
        weights: A saved state dict to start from.
        name: What the report calls the network.
        seed: All randomness follows from it.
        effort: Multiplies the budget for kernels that take long.
        pilot_epochs: If not 0, say 10, train for so many epochs first, and go on from there with the tangent
            kernel held. Closer to what training gives, and no longer a forecast from the architecture alone.
        train: Check the forecast by training the network; True, or how to train.
        device: Where kernels are computed and networks trained.
        stage: Called with a few words before each part.
        progress: Called as `progress(words with the loss, epochs done, epochs in all)` while networks train.

    Raises:
        InputError: Whatever of these cannot be used, in one sentence.

    >>> from symscope.data import mnist_sample
    >>> found = forecast("mlp", mnist_sample().of_classes(0, 1, 4), "C4 rotation", per_class=2, draws=2)
    >>> found.kernel, found.class_accuracy.shape
    ('infinite-width NTK', torch.Size([2, 3]))
    """
    start = time.perf_counter()
    say = stage or (lambda words: None)
    check_numbers(target, draws, effort, seed, pilot_epochs)
    check_ridge(ridge)
    problem = as_problem(data, action, standardise, class_names)
    network = user_model(model, problem.shape, problem.outputs, name=name, weights=weights)
    problem.task.check(problem, network)
    classes = torch.tensor(problem.data.classes)
    missing_masks(classes, problem.group, missing, problem.task.words.one)  # refuses what is not there
    fewest = (per_class or 2) * len(classes) * problem.group.order
    tangent = tangent_of(network, problem.shape, kernel, fewest, effort)
    items = _items(per_class, problem, tangent, effort)
    found = _before_training(
        problem, network, tangent, items, draws, missing, ridge, target, seed, effort, device, say
    )
    settings = train if isinstance(train, Training) else Training()
    if pilot_epochs:
        say(f"pilot training of {pilot_epochs} epochs")
        tried = pilot(
            network,
            found.first,
            problem.group,
            missing,
            pilot_epochs,
            seed,
            settings,
            device=device,
            progress=progress,
        )
        found = replace(found, pilot=tried)
    if train:
        say("training")
        found = _checked(found, settings, device, progress)
    say("advice")
    rows = advice(found, tangent, found.expected, effort)
    return replace(found, advice=rows, seconds=time.perf_counter() - start)


def _before_training(
    problem: Problem,
    network: UserModel,
    tangent: Tangent,
    items: int,
    draws: int,
    missing: Missing,
    ridge: float,
    target: float,
    seed: int,
    effort: float,
    device: torch.device | str,
    say: Stage,
) -> Forecast:
    """Everything that needs no training."""
    found: list[Expectation] = []
    for k in reversed(range(draws)):  # the first draw last: its matrix is used once more
        say(f"{tangent.name}, draw {draws - k} of {draws}")
        draw = drawn(problem, items, seed + k)
        gram = tangent.kernel(seed + k)(draw.flat.to(device)).cpu()
        found.insert(0, expectation(gram, draw, problem.group, missing, ridge))
    say(f"{problem.task.words.many} two by two")
    pairs = class_pairs(gram, draw, problem.group, found[0].ridge)
    say("fewer and more transformations")
    # other groups have other elements: those named in `missing` are this one's
    denser = densities(problem, tangent, min(items, 3), seed, target, effort) if missing is None else ()
    say("equivariance")
    module, images = network.builder(seed), draw.images[:, problem.group.identity]
    departure = sum(one.departure for one in found) / draws
    return Forecast(
        problem=problem,
        model=network,
        kernel=tangent.name,
        kernel_reason=tangent.reason,
        per_class=items,
        classes=problem.data.classes,
        class_accuracy=torch.stack([one.accuracy for one in found]),
        class_spread=torch.stack([one.spread for one in found]),
        class_error=torch.stack([one.error for one in found]).mean(0),
        confusion=_mean_confusion(found),
        table=torch.stack([one.table for one in found]).mean(0),
        irreps=found[0].irreps,
        departure=departure,
        pairs=pairs,
        densities=denser,
        target=target,
        missing=missing,
        first=draw,
        first_expectation=found[0],
        notes=tuple(dict.fromkeys(note for one in found for note in one.notes)),
        seed=seed,
        seconds=0.0,
        cautions=(
            *symmetry_cautions(departure, draw, problem.group),
            *cautions(module, network, problem, images),
        ),
        equivariance=equivariance(module, network, problem, images),
    )


def _mean_confusion(found: Sequence[Expectation]) -> Float[Tensor, "c c"] | None:
    there = [one.confusion for one in found if one.confusion is not None]
    return torch.stack(there).mean(0) if there else None


def _checked(
    found: Forecast, settings: Training, device: torch.device | str, progress: Progress | None
) -> Forecast:
    """The forecast with what training gave beside it."""
    there, module = outcome(
        found.model,
        found.first,
        found.problem.group,
        found.missing,
        settings,
        found.seed,
        device=device,
        progress=progress,
    )
    images = found.first.images[:, found.problem.group.identity]
    after = equivariance(module, found.model, found.problem, images)
    return replace(found, outcome=there, equivariance_after=after)


def check_numbers(target: float, draws: int, effort: float, seed: int, pilot_epochs: int) -> None:
    """Refuses numbers that make no sense."""
    if not 0 < target <= 1:
        raise InputError(f"target: expected an accuracy (or share) above 0 and at most 1, got {target}.")
    check_count("draws", draws)
    if not 0 < effort < math.inf:
        raise InputError(f"effort: expected a positive number, got {effort}.")
    if pilot_epochs < 0:
        raise InputError(f"pilot_epochs: expected 0 or more, got {pilot_epochs}.")
    if seed < 0:
        raise InputError(f"seed: expected 0 or more, got {seed}.")


def _items(per_class: int | None, problem: Problem, tangent: Tangent, effort: float) -> int:
    if per_class is not None:
        return check_count("per_class", per_class)
    classes = len(problem.data.classes)
    return default_items(tangent, classes, problem.group.order, problem.smallest_class, effort)
