"""Errors of data sets of two classes: averaged over pairs, exact, and in the group form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.data import LabelledData
from symscope.groups import cyclic
from symscope.numerics import seeded
from symscope.runs import CellContext, CellResults
from symscope.spectral import leave_out, leave_out_residual, precision, projected_profile
from symscope.spectral.circulant import mean_pair_error, pair_errors
from symscope_papers.digits import digits
from symscope_papers.spectral.pairs.orbits import rotated
from symscope_papers.spectral.seeds.config import Seeds
from symscope_papers.spectral.symmetrised import mean_set_error
from symscope_papers.spectral.wide_networks import section_kernels


def two_classes(data: LabelledData, trial: int, count: int, seed: int) -> LabelledData:
    """The data set of one trial: so many digits of each of two random classes, class after class.

    Args:
        data: All digits.
        trial: Number of the trial.
        count: Digits per class.
        seed: Seed of the run.

    Raises:
        InputError: A class with too few digits.

    >>> from symscope.data import mnist_sample
    >>> drawn = two_classes(mnist_sample(), trial=0, count=3, seed=0)
    >>> len(drawn), len(drawn.classes)
    (6, 2)
    """
    generator = seeded(seed, 2, trial)
    order = torch.randperm(len(data.classes), generator=generator)[:2].tolist()
    classes = [data.classes[place] for place in order]
    inner = int(torch.randint(2**31, (1,), generator=generator))
    return data.per_class(count, inner, classes)


def cells(config: Seeds) -> list[dict[str, Any]]:
    """One cell for each number of angles."""
    digits(config.mnist)  # missing files are reported before anything runs
    return [{"angles": n} for n in config.angles]


def measure_cell(config: Seeds, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """The errors of all data sets."""
    data = digits(config.mnist)
    wide = section_kernels(config.network)
    rows = []
    for trial in range(config.trials):
        drawn = two_classes(data, trial, config.seeds, context.run_seed)
        points = rotated(drawn.x.to(context.device), cell["angles"], config.centred).flatten(0, 1)
        classes = torch.tensor([0, 1]).repeat_interleave(config.seeds).to(context.device)
        first, second = int(drawn.labels[0]), int(drawn.labels[-1])
        for name, kernel in (("NTK", wide.ntk), ("NNGP", wide.nngp)):
            errors = trial_errors(
                kernel(points), classes, cell["angles"], config.ridge, config.spectral_ridge
            )
            rows.append({"trial": trial, "kernel": name, "class_a": first, "class_b": second, **errors})
    return {"trials": rows}


def trial_errors(
    gram: Float[Tensor, "p p"],
    classes: Int64[Tensor, "m"],
    angles: int,
    ridge: float = 0.0,
    spectral_ridge: float = 0.0,
) -> dict[str, float]:
    """The errors of one data set of two classes, whose upright images are left out class by class.

    Args:
        gram: K over all points, orbit after orbit.
        classes: Class of each sample, 0 or 1.
        angles: Number of points of an orbit.
        ridge: Ridge of regression and of its group form.
        spectral_ridge: Ridge of the spectral error, as a share of the trace of a pair's kernel.

    Returns:
        `exact`, by dense regression: the mean of `y (y - prediction)` over the missing images, averaged over
        which class loses them (section 3.4); `spectral`, Eq. 7 averaged over pairs across the classes;
        `projected`, the exact group form; `departure`, the invariance error of the kernel.
    """
    group = cyclic(angles)
    signs = 1.0 - 2.0 * classes.to(gram.dtype)
    points = signs.repeat_interleave(angles)
    inverse = precision(gram, ridge)
    exact = []
    for one in (0, 1):
        missing = (classes == one).nonzero()[:, 0] * angles  # element 0: the upright images
        exact.append(float((points[missing] * leave_out_residual(inverse, points, missing)).mean()))
    projection = projected_profile(gram, group)
    masks = torch.zeros(2, len(classes), angles, dtype=torch.bool)
    for one in (0, 1):
        masks[one, (classes == one).cpu(), 0] = True
    result = leave_out(projection.profile, signs, masks, group, ridge)
    pairs = pair_errors(
        projection.profile, group, spectral_ridge * 2 * angles * float(gram.diagonal().mean())
    )
    return {
        "exact": sum(exact) / 2,
        "spectral": float(mean_pair_error(pairs, classes)),
        "projected": float(mean_set_error(result.residual, result.label, result.sets)),
        "departure": projection.invariance_error,
    }
