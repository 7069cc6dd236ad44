"""What Sec. 3.4 states of several samples per class, and what the exact group form predicts."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.pairs.angles import at_angles, correlations, distances
from symscope_papers.spectral.pairs.judged import (
    agreement_measurements,
    correlation,
    predicts_claim,
    same_conclusions,
    slope,
    standard_error,
)
from symscope_papers.spectral.seeds.config import Seeds

SOURCE = "Sec. 3.4, Fig. 6A, App. F"
CORRECTLY = (
    "the average spectral error correctly predicts exact NTK error across a large number of such trials"
)
WELL = (
    "predicts well the generalization behavior of infinite-width networks on a dataset comprising "
    "multiple seeds "
    "per class"
)


def judge_claims(config: Seeds, tables: RunTables) -> list[Claim]:
    """The claims of Sec. 3.4 at the angles of Fig. 6A and at all, NNGP, and the exact group form."""
    table = tables["trials"]
    ntk, nngp = (table[table["kernel"] == kernel] for kernel in ("NTK", "NNGP"))
    claims = _stated_claims(ntk, config.shown)
    size = f"{config.trials} data sets of 2 x {config.seeds} digits"
    return [
        *claims,
        same_conclusions(claims, _stated_claims(nngp, config.shown), "several samples per class"),
        Claim.not_testable(
            "Orbits of the same class do not interact for the purpose of prediction.",
            "Sec. 3.4",
            "An assumption of the method, not a finding; what it costs is the difference measured here.",
            quote="orbits belonging to the same class do not interact for the purpose of prediction",
        ),
        *agreement_measurements(
            ntk, f"Average over pairs, {size}", SOURCE, CORRECTLY, predicted="spectral", exact="exact"
        ),
        Claim.quantified(
            "Spearman's rho over the data sets of all numbers of angles together.",
            SOURCE,
            float(ntk["spectral"].corr(ntk["exact"], method="spearman")),
            quote=WELL,
            uncertainty=f"over {len(ntk)} data sets",
        ),
        Claim.beyond(
            "Exact group form against the exact error: Pearson's r and mean absolute difference.",
            at_angles(
                correlations(ntk, "projected", "exact"), distances(ntk, "projected", "exact"), form=".4f .2g"
            ),
            expected="1 and 0 to rounding at 2 and 4 angles, where rotations are exact",
        ),
    ]


def _stated_claims(table: pd.DataFrame, shown: int) -> list[Claim]:
    return [
        _slope_claim(table[table["angles"] == shown], shown),
        predicts_claim(
            table,
            "The average over pairs predicts the exact error, trial by trial, at every number of angles.",
            SOURCE,
            WELL,
            predicted="spectral",
            exact="exact",
        ),
    ]


def _slope_claim(part: pd.DataFrame, shown: int) -> Claim:
    """Whether average spectral errors lie along the diagonal that Fig. 6A draws."""
    value, error = slope(part, "exact", "spectral"), standard_error(part, _spectral_slope)
    return Claim.from_check(
        f"Average spectral errors follow exact errors one to one ({shown} angles).",
        "Sec. 3.4, Fig. 6A",
        abs(value - 1) <= 2 * error,
        measured=value,
        threshold="slope 1 within two standard errors",
        quote=CORRECTLY,
        reading="Correctly: along the diagonal on the figure's axes, spectral against exact error.",
        uncertainty=f"± {error:.2g}",
        why=f"r = {correlation(part, 'exact', 'spectral'):.2f}: the average ranks data sets, but where "
        "the exact error "
        "of two differs by 1, the average differs by the slope only.",
    )


def _spectral_slope(part: pd.DataFrame) -> float:
    return slope(part, "exact", "spectral")
