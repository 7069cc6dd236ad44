"""Every error of two circles: the formula, its closed form, and the regression itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.data.synthetic import circles
from symscope.errors import InputError
from symscope.kernels.classical import rbf_kernel
from symscope.runs import CellContext, CellResults
from symscope.spectral import precision
from symscope.spectral.circulant import circulant_row, circulant_spectrum, inverse_spectrum, spectral_error
from symscope.spectral.dense import leave_one_out_residuals
from symscope_papers.spectral.circles.config import Density, Distance
from symscope_papers.spectral.circles.gaussian_spectrum import gaussian_circles_spectrum


def circle_errors(
    points: int, distance: float, inverse_scale: float, relative_ridges: tuple[float, ...]
) -> CellResults:
    """Every error of one data set: the paper's formula, its closed form, and the regression itself.

    The exact error is None where the kernel matrix is singular to rounding, the formula's where its Fourier
    transform is: nothing is jittered to get a number.
    """
    data = circles(points, distance)
    gram = rbf_kernel(1 / (math.sqrt(2) * inverse_scale))(data.x)
    labels = data.labels.to(torch.float64)
    row = circulant_row(gram)
    spectrum = circulant_spectrum(row)
    full = torch.fft.fft(row)
    structure = {
        "circulant_gap": _circulant_gap(gram),
        "distance_gap": _circulant_gap(
            torch.cdist(data.x, data.x, compute_mode="donot_use_mm_for_euclid_dist")
        ),
        "spectrum_asymmetry": float((full - full.roll(-1).flip(0)).abs().max() / full.abs().max()),
    }
    closed = gaussian_circles_spectrum(points, distance, inverse_scale)
    errors, spectra = [], []
    for relative in relative_ridges:
        ridge = relative * float(gram.trace())
        inverse = inverse_spectrum(closed, ridge)
        errors.append(
            {
                "relative_ridge": relative,
                "spectral_error": _or_none(lambda ridge=ridge: spectral_error(spectrum, ridge)),
                "closed_form_error": float(spectral_error(closed, ridge)),
                "exact_error": _or_none(
                    lambda ridge=ridge: (
                        labels * leave_one_out_residuals(precision(gram, ridge), labels)
                    ).mean()
                ),
                "inverse_lambda_n": float(inverse[points]),
                "mean_inverse_lambda": float(inverse.mean()),
                **structure,
            }
        )
        spectra += [
            {"relative_ridge": relative, "frequency": f, "inverse_lambda": float(inverse[f])}
            for f in range(points + 1)
        ]
    return {"errors": errors, "spectra": spectra}


def _circulant_gap(matrix: Float[Tensor, "n n"]) -> float:
    """How far a matrix is from the circulant one of its first row, relative to the largest entry."""
    rows = torch.stack([matrix[0].roll(shift) for shift in range(len(matrix))])
    return float((matrix - rows).abs().max() / matrix.abs().max())


def _or_none(quantity: Any) -> float | None:
    """The number, or None where the matrix is singular to rounding (which is a result, not a failure)."""
    try:
        return float(quantity())
    except InputError:
        return None


def distance_cells(config: Distance) -> list[dict[str, Any]]:
    """One cell for each distance."""
    return [{"distance": distance} for distance in config.distances]


def density_cells(config: Density) -> list[dict[str, Any]]:
    """One cell for each number of points."""
    return [{"points": points} for points in config.points]


def measure_distance(config: Distance, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """The errors at one distance."""
    return circle_errors(config.points, cell["distance"], config.inverse_scale, config.relative_ridges)


def measure_density(config: Density, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """The errors with one number of points."""
    return circle_errors(cell["points"], config.distance, config.inverse_scale, config.relative_ridges)
