"""Two interleaved circles and a Gaussian kernel: the spectral formula seen whole (Fig. 2 and 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import pandas as pd
import torch

from symscope.data.synthetic import circles
from symscope.errors import InputError
from symscope.kernels import rbf_kernel
from symscope.runs import (
    Claim,
    Experiment,
    Plot,
    Preset,
    Results,
    Surroundings,
    Tables,
    above,
    below,
    holds,
    unchecked,
)
from symscope.spectral import precision
from symscope.spectral.circulant import (
    circulant_row,
    circulant_spectrum,
    gaussian_circles_spectrum,
    inverse_spectrum,
    spectral_error,
)
from symscope.spectral.dense import leave_one_out_residuals
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.circle_figures import density_plots, distance_plots

LOGSPACE = tuple(10 ** (-2 + 3 * i / 19) for i in range(20))
AGREEMENT = 1e-8
RISE = 1e-9  # what rounding may add between two sizes of equal error
PLATEAU = 1.8e-4


@final
@dataclass(frozen=True)
class Distance:
    """Config of `spectral/circles-distance`; kernel `exp(-inverse_scale^2 r^2)`, ridges times its trace."""

    points: int = 6
    distances: tuple[float, ...] = (0.0, *LOGSPACE)
    inverse_scale: float = 0.85
    relative_ridges: tuple[float, ...] = (1e-5, 0.0)

    def __post_init__(self) -> None:
        _check(self.inverse_scale, self.relative_ridges)
        _check_sweep("distances", self.distances)


@final
@dataclass(frozen=True)
class Density:
    """Config of `spectral/circles-density`; fields as in `Distance`."""

    points: tuple[int, ...] = tuple(range(4, 49, 4))
    distance: float = 1.0
    inverse_scale: float = 1.4
    relative_ridges: tuple[float, ...] = (1e-5, 0.0)

    def __post_init__(self) -> None:
        _check(self.inverse_scale, self.relative_ridges)
        _check_sweep("points", self.points)


def _check(inverse_scale: float, relative_ridges: tuple[float, ...]) -> None:
    if not 0 < inverse_scale < math.inf:
        raise InputError(f"inverse_scale: expected a positive number, got {inverse_scale}")
    if not relative_ridges or not all(0 <= ridge < 1 for ridge in relative_ridges):
        raise InputError(f"relative_ridges: expected numbers from 0 to below 1, got {relative_ridges}")


def _check_sweep(name: str, values: Sequence[float | int]) -> None:
    if len(values) < 2 or any(b <= a for a, b in pairwise(values)) or values[0] < 0:
        raise InputError(f"{name}: expected two or more increasing values, not negative; got {values}")


def measured(
    points: int, distance: float, inverse_scale: float, relative_ridges: tuple[float, ...]
) -> Results:
    """Every error of one data set: the paper's formula, its closed form, and the regression itself.

    The exact error is None where the kernel matrix is singular to rounding, the formula's where its Fourier
    transform is: nothing is jittered to get a number.
    """
    data = circles(points, distance)
    gram = rbf_kernel(1 / (math.sqrt(2) * inverse_scale))(data.x)
    labels = data.labels.to(torch.float64)
    spectrum = circulant_spectrum(circulant_row(gram))
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
            }
        )
        spectra += [
            {"relative_ridge": relative, "frequency": f, "inverse_lambda": float(inverse[f])}
            for f in range(points + 1)
        ]
    return {"errors": errors, "spectra": spectra}


def _or_none(quantity: Any) -> float | None:
    """The number, or None where the matrix is singular to rounding (which is a result, not a failure)."""
    try:
        return float(quantity())
    except InputError:
        return None


def _distance_cell(config: Distance, cell: Mapping[str, Any], surroundings: Surroundings) -> Results:
    return measured(config.points, cell["distance"], config.inverse_scale, config.relative_ridges)


def _density_cell(config: Density, cell: Mapping[str, Any], surroundings: Surroundings) -> Results:
    return measured(cell["points"], config.distance, config.inverse_scale, config.relative_ridges)


def agreement(errors: pd.DataFrame, source: str) -> Claim:
    """Claim: the formula gives the error of the regression itself, wherever the regression can be solved."""
    gap = (errors["spectral_error"] - errors["exact_error"]).abs()
    compared = int(gap.notna().sum())
    return below(
        "The spectral error equals the error of kernel regression with the same ridge.",
        source,
        float(gap.max()),
        AGREEMENT,
        why=f"Largest difference over {compared} of {len(gap)} problems; in the others the kernel "
        "matrix is singular "
        "to rounding, and the closed form of the spectrum is used."
        if compared < len(gap)
        else f"Largest difference over {compared} problems.",
    )


def _largest_rise(errors: pd.DataFrame, column: str) -> float:
    """How much a quantity rises at most from one size to the next, over all ridges."""
    return float(errors.groupby("relative_ridge")[column].apply(lambda values: values.diff().max()).max())


def distance_claims(config: Distance, tables: Tables) -> list[Claim]:
    """The claims of Fig. 3A-C."""
    errors = tables["errors"]
    bare = errors[errors["relative_ridge"] == errors["relative_ridge"].min()]
    first, last = bare.iloc[0], bare.iloc[-1]
    claims = [
        agreement(errors, "Fig. 3B"),
        below(
            "The error decreases as the distance between the orbits grows.",
            "Fig. 3B",
            _largest_rise(errors, "closed_form_error"),
            RISE,
            why="Largest rise from one distance to the next.",
        ),
        below(
            "Growing distance gives power to the highest frequency: the numerator of Eq. 7 shrinks.",
            "Fig. 3C",
            _largest_rise(errors, "inverse_lambda_n"),
            RISE,
            why=f"Largest rise of 1/λ_N; it falls from {first['inverse_lambda_n']:.3g} to "
            f"{last['inverse_lambda_n']:.3g} "
            f"while the mean of 1/λ goes from {first['mean_inverse_lambda']:.3g} to "
            f"{last['mean_inverse_lambda']:.3g}.",
        ),
    ]
    statement = "Interleaved in one plane the missing point is predicted wrongly, far apart correctly."
    if first["distance"] > 0 or last["distance"] < 1:
        return [*claims, unchecked(statement, "Fig. 3B", "needs distance 0 and one of 1 or more")]
    good = first["closed_form_error"] > 1 > last["closed_form_error"]
    errors_at_ends = f"error {first['closed_form_error']:.3g} at 0, {last['closed_form_error']:.3g}"
    words = f"{errors_at_ends} at {last['distance']:g}"
    return [
        *claims,
        holds(statement, "Fig. 3B", bool(good), measured=words, threshold="above 1, then below 1"),
    ]


def density_claims(config: Density, tables: Tables) -> list[Claim]:
    """The claims of Fig. 3D-F, and what the authors' ridge hides."""
    errors = tables["errors"]
    bare = errors[errors["relative_ridge"] == errors["relative_ridge"].min()]
    growth = bare["mean_inverse_lambda"].iloc[-1] / bare["mean_inverse_lambda"].iloc[0]
    claims = [
        agreement(errors, "Fig. 3E"),
        below(
            "The error decreases as the orbits get denser.",
            "Fig. 3E",
            _largest_rise(errors, "closed_form_error"),
            RISE,
            why="Largest rise from one number of points to the next.",
        ),
        above(
            "Denser orbits make the average inverse spectrum, the denominator of Eq. 7, explode.",
            "Fig. 3F",
            float(growth),
            100,
            why=f"Growth of the mean of 1/λ from N = {bare['points'].iloc[0]} to {bare['points'].iloc[-1]}.",
        ),
    ]
    plateau = "With the authors' ridge (1e-5 of the trace) the error levels off near 1.8e-4."
    falling = "Without ridge there is no plateau: the error goes on falling, below 1e-15 at N = 48."
    largest = errors[errors["points"] == 48].set_index("relative_ridge")["closed_form_error"]
    for statement, ridge, source in ((plateau, 1e-5, "Fig. 3E"), (falling, 0.0, "beyond the paper")):
        if ridge not in largest.index:
            claims.append(unchecked(statement, source, f"needs N = 48 and relative ridge {ridge:g}"))
        elif ridge:
            claims.append(
                below(statement, source, abs(largest[ridge] / PLATEAU - 1), 0.05, why="Relative distance.")
            )
        else:
            claims.append(below(statement, source, float(largest[ridge]), 1e-15))
    return claims


def _distance_plots(config: Distance, tables: Tables) -> list[Plot]:
    return distance_plots(config.points, config.inverse_scale, tables)


def _density_plots(config: Density, tables: Tables) -> list[Plot]:
    return density_plots(config.distance, config.inverse_scale, tables)


circles_distance = Experiment(
    id="spectral/circles-distance",
    paper=PAPER,
    figure="Fig. 2, 3A-C",
    shows="Pulling two orbits apart makes a missing point predictable; the spectral error says by how much.",
    config=Distance,
    presets={
        "quick": Preset(Distance(distances=(0.0, *LOGSPACE[::3])), "seconds"),
        "paper": Preset(Distance(), "seconds"),
    },
    cells=lambda config: [{"distance": distance} for distance in config.distances],
    measure=_distance_cell,
    plot=_distance_plots,
    claims=distance_claims,
)

circles_density = Experiment(
    id="spectral/circles-density",
    paper=PAPER,
    figure="Fig. 3D-F",
    shows="Denser orbits make a missing point predictable; the authors' plateau at large N is their ridge.",
    config=Density,
    presets={
        "quick": Preset(Density(points=(4, 8, 12, 16, 20, 24)), "seconds"),
        "paper": Preset(Density(), "seconds"),
    },
    cells=lambda config: [{"points": points} for points in config.points],
    measure=_density_cell,
    plot=_density_plots,
    claims=density_claims,
)
