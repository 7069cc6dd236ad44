"""Claims of `discovery/homogeneous`: learned fields against the exact Lie algebras."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.learned.claims import OURS, drift_claims, length_claim, part
from symscope_papers.discovery.learned.config import LearnedRun

CLOSE = 10.0  # degrees, see OURS


ADDED = {
    "pointwise": "This objective, with eight data points in a batch, was added after the other two had "
    "failed here on ReLU networks. "
}


def _angle_claims(rows: pd.DataFrame, network: str, objective: str) -> list[Claim]:
    """Whether each field moves along the orbit, and whether together they show as many directions."""
    dimension = int(rows["exact_dimension"].iloc[0])
    return [
        Claim.at_most(
            f"Each learned field moves along the orbits of the exact Lie algebra: {network}, {objective} "
            "objective.",
            "Fig. 5",
            float(rows["field_angle"].median()),
            CLOSE,
            why="Angle in degrees of a field to the orbit, median over held-out parameters, the worst field, "
            f"median over seeds; a random direction: {rows['random_field_angle'].iloc[0]:.0f}. The exact "
            f"algebra has dimension {dimension}. {ADDED.get(objective, '')}{OURS} Stated apart "
            "from the next claim after first runs had shown fields in the orbit that are nearly parallel.",
        ),
        Claim.at_most(
            f"The learned fields together show as many directions of the orbits: {network}, {objective} "
            "objective.",
            "Fig. 5",
            float(rows["median_angle"].median()),
            CLOSE,
            why="Largest principal angle of their span to the orbit, in degrees, median over held-out "
            f"parameters; random directions: {rows['random_angle'].iloc[0]:.0f}. Median absolute cosine "
            f"of two fields at a point: {rows['alike'].astype(float).median():.2f}. Eq. 9 keeps generators "
            "apart, or fields on average; a field and a function of the parameters times it pass both. Where "
            f"fields are nearly parallel, the rest of their span is noise. {ADDED.get(objective, '')}{OURS}",
        ),
    ]


def homogeneous_claims(config: LearnedRun, tables: RunTables) -> list[Claim]:
    claims = []
    angles = tables["angles"]
    for network in config.networks:
        for objective in config.objectives:
            rows = part(angles[angles["network"] == network], objective)
            claims += _angle_claims(rows, network, objective)
    if "linear" in config.actions and "paper" in config.objectives:
        rows = part(angles, "paper", "linear")
        claims.append(
            Claim.at_most(
                "Generators learned with the action gθ lie in the exact Lie algebra.",
                "Fig. 5",
                float(rows["matrix_angle"].astype(float).median()),
                CLOSE,
                why=f"Largest principal angle of the matrices' span, in degrees; median of {len(rows)} "
                f"trainings. {OURS}",
            )
        )
    claims += drift_claims(tables, "Fig. 5", "Learned fields")
    return [*claims, length_claim(tables, "Eq. 8")] if "paper" in config.objectives else claims
