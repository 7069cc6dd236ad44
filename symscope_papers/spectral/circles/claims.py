"""What Fig. 3 claims, and what the authors' ridge hides."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.circles.config import Density, Distance

AGREEMENT = 1e-8
RISE = 1e-9  # what rounding may add between two sizes of equal error
PLATEAU = 1.8e-4


def agreement_claim(errors: pd.DataFrame, source: str) -> Claim:
    """Claim: the formula gives the error of the regression itself, wherever the regression can be solved."""
    gap = (errors["spectral_error"] - errors["exact_error"]).abs()
    compared = int(gap.notna().sum())
    return Claim.at_most(
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


def judge_distance(config: Distance, tables: RunTables) -> list[Claim]:
    """The claims of Fig. 3A-C."""
    errors = tables["errors"]
    bare = errors[errors["relative_ridge"] == errors["relative_ridge"].min()]
    first, last = bare.iloc[0], bare.iloc[-1]
    claims = [
        agreement_claim(errors, "Fig. 3B"),
        Claim.at_most(
            "The error decreases as the distance between the orbits grows.",
            "Fig. 3B",
            _largest_rise(errors, "closed_form_error"),
            RISE,
            why="Largest rise from one distance to the next.",
        ),
        Claim.at_most(
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
        return [*claims, Claim.not_checked(statement, "Fig. 3B", "needs distance 0 and one of 1 or more")]
    good = first["closed_form_error"] > 1 > last["closed_form_error"]
    errors_at_ends = f"error {first['closed_form_error']:.3g} at 0, {last['closed_form_error']:.3g}"
    words = f"{errors_at_ends} at {last['distance']:g}"
    return [
        *claims,
        Claim.from_check(statement, "Fig. 3B", bool(good), measured=words, threshold="above 1, then below 1"),
    ]


def judge_density(config: Density, tables: RunTables) -> list[Claim]:
    """The claims of Fig. 3D-F, and what the authors' ridge hides."""
    errors = tables["errors"]
    bare = errors[errors["relative_ridge"] == errors["relative_ridge"].min()]
    growth = bare["mean_inverse_lambda"].iloc[-1] / bare["mean_inverse_lambda"].iloc[0]
    claims = [
        agreement_claim(errors, "Fig. 3E"),
        Claim.at_most(
            "The error decreases as the orbits get denser.",
            "Fig. 3E",
            _largest_rise(errors, "closed_form_error"),
            RISE,
            why="Largest rise from one number of points to the next.",
        ),
        Claim.at_least(
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
            claims.append(Claim.not_checked(statement, source, f"needs N = 48 and relative ridge {ridge:g}"))
        elif ridge:
            claims.append(
                Claim.at_most(
                    statement, source, abs(largest[ridge] / PLATEAU - 1), 0.05, why="Relative distance."
                )
            )
        else:
            claims.append(Claim.at_most(statement, source, float(largest[ridge]), 1e-15))
    return claims
