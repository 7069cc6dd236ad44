"""The forecasts that `forecast/quality` compares: each gives an accuracy for every left-out class."""

from __future__ import annotations

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from symscope.forecasting.methods import (
    FiniteKernel,
    Resample,
    TangentKernel,
    resample_prediction,
)
from symscope.groups import FiniteGroup
from symscope.kernels import conjugate_kernel
from symscope_papers.forecast.quality.config import HELD_LOSS
from symscope_papers.forecast.quality.kernel_logistic import kernel_logistic_regression
from symscope_papers.forecast.quality.left_out_case import LeaveOutCase, LeftOutNetworks

BORROWED = 2  # classes whose pilot training calibrates the others

VARIANTS: dict[str, str] = {  # what tables call them, and what a reader does
    "architecture": "architecture alone: regression with its kernel, same samples",
    "architecture-draws": "architecture alone, mean over resamples",
    "logistic": "architecture alone: logistic regression",
    "initial": "finite kernel at initialisation",
    "pilot-{k}": "finite kernel after {k} {epochs}",
    "linearised-{k}": "linearised after {k} {epochs}, cross-entropy",
    "combined-{k}": "mean of architecture over draws and linearised after {k} {epochs}",
    "own-{k}": "the network itself after {k} {epochs}",
    "calibrated-{k}": "architecture, level of two other classes' pilots",
    "borrowed": "architecture, level of all other classes' full trainings",
}


def variant_names(pilots: tuple[int, ...]) -> dict[str, str]:
    """Every variant of a run, and what it is, in the order of figures.

    >>> list(variant_names((3,)))[3:6]
    ['initial', 'pilot-3', 'linearised-3']
    """
    names: dict[str, str] = {}
    for name, words in VARIANTS.items():
        last = pilots[-1:] if name.startswith("calibrated") else pilots
        ks = last if "{k}" in name else (0,)
        names |= {name.format(k=k): words.format(k=k, epochs="epoch" if k == 1 else "epochs") for k in ks}
    return names


def architecture_gram(
    tangent: TangentKernel, task: LeaveOutCase, draw: Resample, seed: int
) -> Float[Tensor, "p p"]:
    """The kernel the forecast takes for this network, over the points of a draw."""
    points = draw.flat.to(task.device)
    if tangent.kind == "infinite":
        return tangent.kernel(seed)(points)
    return FiniteKernel(task.model.layout, task.model.builder(seed).to(task.device))(points)


def architecture(
    gram: Float[Tensor, "p p"], draw: Resample, group: FiniteGroup, left_out: tuple[int, ...]
) -> Float64[Tensor, "1 sets"]:
    """The forecast itself: the exact group form."""
    return resample_prediction(gram.cpu(), draw, group).accuracy[list(left_out)][None].double()


def by_logistic(gram: Float[Tensor, "p p"], task: LeaveOutCase, steps: int) -> Float64[Tensor, "1 sets"]:
    """Logistic regression with one kernel for all left-out classes, from zero."""
    return torch.tensor(
        [[logistic_accuracy(gram, task, k, steps) for k in range(len(task.left_out))]], dtype=torch.float64
    )


def logistic_accuracy(
    gram: Float[Tensor, "p p"],
    task: LeaveOutCase,
    which: int,
    steps: int,
    start: Float[Tensor, "p c"] | None = None,
) -> float:
    """Accuracy of logistic regression at the missing points of one set."""
    seen = ~task.hidden[which]
    result = kernel_logistic_regression(gram, task.one_hot, seen, start, steps=steps, tolerance=HELD_LOSS)
    return task.share(result.outputs, which)


def outputs(task: LeaveOutCase, module: nn.Module) -> Float[Tensor, "p c"]:
    """What a network says about all points, in float64."""
    with torch.no_grad():
        return module.to(task.device, torch.float64)(task.inputs)


def initial(task: LeaveOutCase, repeats: int) -> Float64[Tensor, "repeats sets"]:
    """Regression with the tangent kernel at the weights that training starts from."""
    sets = list(range(len(task.left_out)))
    return torch.stack(
        [task.regressed(task.kernel(task.model.builder(seed)), sets) for seed in task.seeds[:repeats]]
    )


def after_pilot(
    task: LeaveOutCase, pilot: LeftOutNetworks, repeats: int, steps: int
) -> tuple[Float64[Tensor, "repeats sets"], Float64[Tensor, "repeats sets"]]:
    """Two forecasts from networks trained shortly: regression with their kernel, and their linearisation.

    The second goes on from the network's own outputs, as training would if the kernel stopped moving.
    """
    regression, linearised = [], []
    for s in range(repeats):
        for k in range(len(task.left_out)):
            module = pilot.module(s, k)
            gram = task.kernel(module)
            regression.append(float(task.regressed(gram, [k])))
            linearised.append(logistic_accuracy(gram, task, k, steps, outputs(task, module)))
    shape = (repeats, len(task.left_out))
    both = (torch.tensor(values, dtype=torch.float64).reshape(shape) for values in (regression, linearised))
    first, second = both
    return first, second


def calibrate_forecast(
    forecast: Float64[Tensor, "1 sets"], there: Float64[Tensor, "repeats sets"], others: int | None
) -> Float64[Tensor, "repeats sets"]:
    """A forecast moved by what it was wrong by on other classes, within 0 and 1.

    `a_c + mean over c' of (t_c' - a_c')`, c' the next classes in turn, never c itself: whoever lacks one
    transformation of class c has it of the others, and can leave it out to see.

    Args:
        forecast: a.
        there: t, trainings of the same classes.
        others: Number of other classes; all if None.

    >>> a, t = torch.tensor([[0.2, 0.4, 0.9]]), torch.tensor([[0.3, 0.6, 1.0]])
    >>> calibrate_forecast(a.double(), t.double(), None).mul(100).round().tolist()
    [[35.0, 50.0, 100.0]]
    """
    sets = forecast.shape[1]
    count = sets - 1 if others is None else min(others, sets - 1)
    if count < 1:
        return torch.full_like(there, float("nan"))
    gap = there - forecast
    shifts = torch.stack([gap.roll(-k, 1) for k in range(1, count + 1)]).mean(0)
    return (forecast + shifts).clamp(0, 1)


def refits(
    task: LeaveOutCase, done: LeftOutNetworks, repeats: int, steps: int
) -> list[dict[str, float | int]]:
    """Regression and logistic regression with the kernel after training, beside the network itself.

    Five ways to use what was learned: the network's outputs (`own`), the kernel with squared loss (`refit`)
    and with cross-entropy (`refit_logistic`), both from zero, its last layer alone with squared loss
    (`refit_head`), and the network trained on with its kernel held (`continued`). How far the kernel moved is
    `1 - <K0, K> / (|K0| |K|)`; `refit_initial` is regression with K0.
    """
    rows: list[dict[str, float | int]] = []
    for s in range(repeats):
        before = task.kernel(task.model.builder(task.seeds[s]))
        for k, position in enumerate(task.left_out):
            module = done.module(s, k).to(task.device, torch.float64)
            gram = task.kernel(module)
            with torch.no_grad():
                hidden = conjugate_kernel(module)(task.inputs)
            cosine = (gram * before).sum() / (gram.norm() * before.norm())
            rows.append(
                {
                    "repeat": s,
                    "label": position,
                    "own": float(done.missing[s, k]),
                    "refit_initial": float(task.regressed(before, [k])),
                    "refit": float(task.regressed(gram, [k])),
                    "refit_head": float(task.regressed(hidden, [k])),
                    "refit_logistic": logistic_accuracy(gram, task, k, steps),
                    "continued": logistic_accuracy(gram, task, k, steps, outputs(task, module)),
                    "moved": 1 - float(cosine),
                }
            )
    return rows
