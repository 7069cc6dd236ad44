"""What Sec. 3.2 states of two circles (Fig. 2 and 3), and what the authors' ridge hides."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.circles.config import Density, Distance

ROUNDING = 1e-8  # of two ways to solve one linear system
RISE = 1e-9  # what rounding may add between two sizes of equal error
EXACT = 1e-12  # of entries of a kernel matrix, relative to the largest


def judge_distance(config: Distance, tables: RunTables) -> list[Claim]:
    """The claims of Sec. 3.2 about the distance between orbits."""
    errors, source = tables["errors"], "Sec. 3.2, Fig. 3B"
    bare = errors[errors["relative_ridge"] == errors["relative_ridge"].min()]
    first, last = bare.iloc[0], bare.iloc[-1]
    return [
        *_circulant_claims(errors),
        _agreement(errors, source),
        Claim.at_most(
            "The error decreases as the distance between the orbits grows.",
            source,
            _largest_rise(errors, "closed_form_error"),
            RISE,
            quote="pulling the classes apart makes prediction over the missing point by a local kernel "
            "easier",
            why="Largest rise from one distance to the next.",
        ),
        Claim.at_most(
            "Growing distance gives power to the highest frequency: the numerator of Eq. 7 shrinks.",
            "Sec. 3.2, Fig. 3C",
            _largest_rise(errors, "inverse_lambda_n"),
            RISE,
            quote="an increase in the distance between orbits leads to an increase in the power of the "
            "highest "
            "frequency term of the kernel matrix",
            why=f"Largest rise of 1/λ_N; it falls from {first['inverse_lambda_n']:.3g} to "
            f"{last['inverse_lambda_n']:.3g} while the mean of 1/λ goes from "
            f"{first['mean_inverse_lambda']:.3g} to {last['mean_inverse_lambda']:.3g}.",
        ),
        _low_frequencies(tables["spectra"]),
        Claim.quantified(
            "The error at the smallest and at the largest distance; above 1 the prediction is wrong.",
            source,
            f"{first['closed_form_error']:.3g} at {first['distance']:g}, "
            f"{last['closed_form_error']:.3g} at {last['distance']:g}",
            quote="pulling the classes apart makes prediction over the missing point by a local kernel "
            "easier",
        ),
    ]


def judge_density(config: Density, tables: RunTables) -> list[Claim]:
    """The claims of Sec. 3.2 about orbit density, and what the authors' ridge hides."""
    errors, source = tables["errors"], "Sec. 3.2, Fig. 3E"
    bare = errors[errors["relative_ridge"] == errors["relative_ridge"].min()]
    fewest, most = (int(bare["points"].iloc[place]) for place in (0, -1))
    growth = bare["mean_inverse_lambda"].iloc[-1] / bare["mean_inverse_lambda"].iloc[0]
    claims = [
        *_circulant_claims(errors),
        _agreement(errors, source),
        Claim.at_most(
            "The error decreases as the orbits get denser.",
            source,
            _largest_rise(errors, "closed_form_error"),
            RISE,
            quote="increasing the point density of an orbit makes prediction over a missing point easier",
            why="Largest rise from one number of points to the next.",
        ),
        Claim.from_check(
            "Denser orbits raise the average inverse spectrum, the denominator of Eq. 7.",
            "Sec. 3.2, Fig. 3F",
            bool((bare["mean_inverse_lambda"].diff().iloc[1:] > 0).all()),
            measured=f"{int((bare['mean_inverse_lambda'].diff() <= 0).sum())} falls in {len(bare) - 1} steps",
            threshold="rises at every step",
            quote="increasing the number of angles along an orbit leads to an increase in the average "
            "inverse spectrum (denominator of Eq. 7)",
            why="A ridge in proportion to the trace is added: it takes the place of the smallest eigenvalues."
            if bare["relative_ridge"].iloc[0] > 0
            else "",
        ),
        _middle(tables["spectra"], bare),
        Claim.quantified(
            f"Growth of the average inverse spectrum from N = {fewest} to {most}.",
            "Sec. 3.2, Fig. 3F",
            float(growth),
            quote="causes the average of the inverse spectrum to diverge",
        ),
    ]
    last = errors[errors["points"] == most]
    for ridge, error in zip(last["relative_ridge"], last["closed_form_error"], strict=True):
        words = "without ridge" if ridge == 0 else f"with ridge {ridge:g} of the trace"
        claims.append(
            Claim.beyond(
                f"Error at N = {most} {words}.",
                float(error),
                why="The error goes on falling with N without a ridge; the authors' scripts add 1e-5 of the "
                "trace, with which it levels off near 1.8e-4.",
            )
        )
    return claims


def _circulant_claims(errors: pd.DataFrame) -> list[Claim]:
    cases = (
        (
            "distance_gap",
            "distances",
            "the pairwise distance matrix computed over points of the dataset is circulant",
        ),
        ("circulant_gap", "the Gaussian kernel", "also produces a circulant kernel matrix over the dataset"),
    )
    result = [
        Claim.at_most(
            f"The matrix of {what} over the interleaved circles is circulant.",
            "Sec. 3.2, Fig. 2B",
            float(errors[column].max()),
            EXACT,
            quote=quote,
            reading="To rounding, relative to the largest entry.",
        )
        for column, what, quote in cases
    ]
    result.append(
        Claim.at_most(
            "The spectrum is symmetric: the eigenvalues at frequencies f and -f are equal.",
            "Sec. 3.2, footnote 2",
            float(errors["spectrum_asymmetry"].max()),
            EXACT,
            quote="As a consequence, the spectrum is symmetric",
            reading="To rounding, relative to the largest eigenvalue.",
        )
    )
    return result


def _agreement(errors: pd.DataFrame, source: str) -> Claim:
    """The formula gives the error of the regression itself, wherever the regression can be solved."""
    gap = (errors["spectral_error"] - errors["exact_error"]).abs()
    compared = int(gap.notna().sum())
    rest = (
        "; in the others the kernel matrix is singular to rounding, and the closed form of the spectrum "
        "is used"
        if compared < len(gap)
        else ""
    )
    return Claim.at_most(
        "The spectral error equals the error of kernel regression with the same ridge.",
        source,
        float(gap.max()),
        ROUNDING,
        quote="As expected by their mathematical equivalence, the two agree across the investigated "
        "range of values",
        reading="An equality, to rounding.",
        why=f"Largest difference over {compared} of {len(gap)} problems{rest}.",
    )


def _low_frequencies(spectra: pd.DataFrame) -> Claim:
    statement = "With both circles in one plane, power falls from the lowest frequency to the highest."
    source, quote = "Sec. 3.2, Fig. 3C", "whose spectrum is instead dominated by the low frequency components"
    plane = spectra[
        (spectra["distance"] == 0) & (spectra["relative_ridge"] == spectra["relative_ridge"].min())
    ]
    if plane.empty:
        return Claim.not_checked(statement, source, "needs distance 0", quote=quote)
    inverse = plane.sort_values("frequency")["inverse_lambda"]
    return Claim.from_check(
        statement,
        source,
        bool((inverse.diff().iloc[1:] > 0).all()),
        measured=f"λ_0 / λ_N = {inverse.iloc[-1] / inverse.iloc[0]:.3g}",
        threshold="λ falls at every frequency",
        quote=quote,
    )


def _middle(spectra: pd.DataFrame, bare: pd.DataFrame) -> Claim:
    """1/lambda is largest strictly between frequency 0 and N, while 1/lambda_N does not grow."""
    mine = spectra[spectra["relative_ridge"] == bare["relative_ridge"].iloc[0]]
    tops = {
        int(points): int(part.loc[part["inverse_lambda"].idxmax(), "frequency"])
        for points, part in mine.groupby("points")
    }
    inside = all(0 < top < points for points, top in tops.items())
    return Claim.from_check(
        "The inverse spectrum is largest between the lowest and the highest frequency, and λ_N does not "
        "fall as "
        "orbits get denser.",
        "Sec. 3.2, Fig. 3F",
        inside and float(bare["inverse_lambda_n"].diff().max()) <= RISE,
        measured=", ".join(f"largest at {top} of {points}" for points, top in tops.items()),
        threshold="inside at every N; 1/λ_N never rises",
        quote="remain large, leading to the “explosion in the middle” of the inverse spectrum",
    )


def _largest_rise(errors: pd.DataFrame, column: str) -> float:
    """How much a quantity rises at most from one size to the next, over all ridges."""
    return float(errors.groupby("relative_ridge")[column].apply(lambda values: values.diff().max()).max())
