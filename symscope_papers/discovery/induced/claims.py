"""Claims of `discovery/induced`: the propositions of Sec. 4, judged to rounding."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.induced.config import RULES, TOLERANCE, Induced

QUOTES = {
    "Prop. 4.1": "then there is an induced G-symmetry of L",
    "Cor. 4.2": "symmetries identified in narrower networks also apply to wider networks",
    "Cor. 4.3": "symmetries of a subset of layers are also symmetries in the entire network",
    "Prop. 4.4": "admits a G-symmetry for all d' < d",
}
READINGS = {
    "Prop. 4.4": "The data a smaller batch is filled up with are the same at every use, as t is a map."
}


def judge_claims(config: Induced, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    cases = tables["cases"]
    claims = []
    for rule, statement in RULES.items():
        part = cases[(cases["rule"] == rule) & cases["should_hold"]]
        good = part["holds"] & part["holds_in_part"]
        claims.append(
            Claim.from_check(
                statement,
                rule,
                bool(len(part)) and bool(good.all()),
                measured=f"{int(good.sum())} of {len(part)}; largest loss drift {part['drift'].max():.1e}",
                threshold=f"all, on held-out parameters and data, to the accuracy of flows ({TOLERANCE:g})",
                quote=QUOTES[rule],
                reading=READINGS.get(rule, ""),
            )
        )
    claims.append(
        Claim.at_most(
            "The sum over inputs can be taken out of the activation, as the proof of Cor. 4.2 does.",
            "Eq. 14",
            float(tables["sums"]["defect"].max()),
            TOLERANCE,
            quote="can be decomposed into",
            reading="Eq. 14 as written: the sum over l of U_ij σ(V_jl X_lk).",
            why="Relative difference from U σ(V X), worst of tanh and ReLU. The split over hidden units, "
            f"Eq. 15, which the proof needs, is exact: {float(tables['sums']['split'].max()):.1e}.",
        )
    )
    control = cases[~cases["should_hold"]]["drift"]
    if not len(control):
        return claims
    words = (
        "Loss drift of a data-dependent symmetry that is carried over without h, the features its part sees."
    )
    why = "Least of all seeds: a control that must fail."
    return [*claims, Claim.beyond(words, float(control.min()), expected="far above rounding", why=why)]
