"""Claims of `discovery/scalar-linear`: the generator is the rescaling diag(1, -1)."""

from __future__ import annotations

import numpy as np

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.learned.claims import drift_claims, length_claim, part
from symscope_papers.discovery.learned.config import LearnedRun


def _cosines(tables: RunTables, objective: str, action: str) -> np.ndarray:
    """Of every seed's matrix h with diag(1, -1)."""
    rows = part(tables["generators"], objective, action)
    result = []
    for _, one in rows.groupby("seed"):
        square = one["learned"].to_numpy(float).reshape(2, 2)
        result.append(abs(square[0, 0] - square[1, 1]) / (np.sqrt(2) * np.linalg.norm(square)))
    return np.array(result)


def scalar_claims(config: LearnedRun, tables: RunTables) -> list[Claim]:
    claims = []
    for objective in config.objectives:
        angles = part(tables["angles"], objective)["median_angle"].to_numpy(float)
        claims.append(
            Claim.at_least(
                "The field learned by an action network is that of diag(1, -1), up to a scale at each point "
                f"({objective} objective).",
                "Fig. 2",
                float(np.cos(np.deg2rad(angles)).min()),
                0.95,
                why=f"Cosine at the median held-out parameters, smallest of {len(angles)} seeds. Judged "
                "point by point since the first run: the matrix h itself, which Fig. 2 shows, did not match "
                "(a claim below), because a network may read h in any basis.",
            )
        )
    if "linear" in config.actions and "paper" in config.objectives:
        cosines = _cosines(tables, "paper", "linear")
        claims.append(
            Claim.at_least(
                "The generator learned with the action gθ is diag(1, -1) up to scale.",
                "Fig. 2",
                float(cosines.min()),
                0.95,
                why=f"Smallest cosine over {len(cosines)} seeds.",
            )
        )
    raw = np.concatenate([_cosines(tables, objective, "network") for objective in config.objectives])
    claims.append(
        Claim.from_check(
            "The matrix h of an action network need not look like diag(1, -1) itself: some seed's does not.",
            "Sec. 5.3",
            bool(raw.min() < 0.95),
            measured="cosines " + ", ".join(f"{value:.2f}" for value in raw),
            threshold="one below 0.95",
            why="As the paper says, a network may read h in any basis; Fig. 2 shows one that does match. "
            "Added after the first run had shown it.",
        )
    )
    claims += drift_claims(tables, "Fig. 2", "Learned fields")
    return [*claims, length_claim(tables, "Eq. 8")] if "paper" in config.objectives else claims
