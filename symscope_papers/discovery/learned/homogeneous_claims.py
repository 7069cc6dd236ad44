"""Claims of `discovery/homogeneous`: learned fields against the exact Lie algebras."""

from __future__ import annotations

from typing import Any

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.learned.claims import drift_claims, learned_claim, length_claim, part
from symscope_papers.discovery.learned.config import LearnedRun

WIDER = (
    "our method can learn the generators and group actions for wider two-layer homogeneous "
    "architectures as well"
)
ADDED = {
    "pointwise": "Added, with eight data points in a batch, after two other objectives had given nearly "
    "parallel fields on ReLU networks. "
}


def _angle_claims(rows: pd.DataFrame, network: str, objective: str) -> list[Claim]:
    """How far each field leaves the orbit, and how many directions of it they show together."""
    dimension = int(rows["exact_dimension"].iloc[0])
    measured: tuple[tuple[str, str, str, str], ...] = (
        (
            "field_angle",
            "random_field_angle",
            "Angle in degrees of a learned field to the orbit of the exact Lie algebra",
            f"The exact algebra has dimension {dimension}. ",
        ),
        (
            "median_angle",
            "random_angle",
            "Largest principal angle in degrees of all learned fields together to that orbit",
            f"Median absolute cosine of two fields at a point: {rows['alike'].astype(float).median():.2f}. "
            "Where fields are nearly parallel, the rest of their span is noise. ",
        ),
    )
    claims = []
    for column, rival, statement, why in measured:
        values = rows[column].astype(float)
        words: dict[str, Any] = {
            "uncertainty": f"({values.min():.3g} to {values.max():.3g} over {len(values)} seeds; a random "
            f"direction {rows[rival].iloc[0]:.0f})",
            "why": f"Median over held-out parameters, worst field, median over seeds. {why}"
            f"{ADDED.get(objective, '')}",
        }
        named = f"{statement}: {network}, {objective} objective."
        if objective == "paper":
            claims.append(Claim.quantified(named, "Sec. 5.3", float(values.median()), quote=WIDER, **words))
        else:
            claims.append(Claim.beyond(named, float(values.median()), expected="0", **words))
    return claims


def homogeneous_claims(config: LearnedRun, tables: RunTables) -> list[Claim]:
    claims = [learned_claim(config, tables, "Sec. 5.3, Fig. 5", WIDER)]
    angles = tables["angles"]
    for network in config.networks:
        for objective in config.objectives:
            rows = part(angles[angles["network"] == network], objective)
            claims += _angle_claims(rows, network, objective)
    linear = part(angles, "corrected", "linear")["matrix_angle"].astype(float)
    if len(linear):
        claims.append(
            Claim.beyond(
                "Largest principal angle in degrees of matrices learned with the action gθ to the exact Lie "
                "algebra.",
                float(linear.median()),
                expected="0",
                uncertainty=f"({linear.min():.3g} to {linear.max():.3g} over {len(linear)} trainings)",
            )
        )
    return [*claims, *drift_claims(tables, "Fig. 5", WIDER), *length_claim(tables)]
