"""Claims of `discovery/scalar-linear`: the generator is the rescaling diag(1, -1)."""

from __future__ import annotations

import numpy as np

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.learned.claims import drift_claims, length_claim, outcome, part
from symscope_papers.discovery.learned.config import LearnedRun

MATCHES = "which matches the expected generator that generates the rescaling group"
BASIS = "we do not expect the learned generators to look similar to the elements of the Lie algebra"


def _matrices(tables: RunTables, objective: str, action: str = "network") -> list[np.ndarray]:
    """Every seed's matrix h."""
    rows = part(tables["generators"], objective, action)
    return [one["learned"].to_numpy(float).reshape(2, 2) for _, one in rows.groupby("seed")]


def cosine_with_rescaling(h: np.ndarray) -> float:
    """Absolute cosine of a 2 x 2 matrix with diag(1, -1).

    >>> round(cosine_with_rescaling(np.array([[1.0, 0.0], [0.0, -1.0]])), 6)
    1.0
    """
    return float(abs(h[0, 0] - h[1, 1]) / (np.sqrt(2) * np.linalg.norm(h)))


def looks_like_rescaling(h: np.ndarray) -> bool:
    """Whether the entries of diag(1, -1) stand out: opposite signs on the diagonal, less beside it.

    >>> looks_like_rescaling(np.array([[1.0, 0.2], [0.1, -0.6]])), looks_like_rescaling(np.eye(2))
    (True, False)
    """
    beside = max(abs(h[0, 1]), abs(h[1, 0]))
    return bool(h[0, 0] * h[1, 1] < 0 and min(abs(h[0, 0]), abs(h[1, 1])) > beside)


def scalar_claims(config: LearnedRun, tables: RunTables) -> list[Claim]:
    claims = [_picture_claim(config, tables)]
    for objective in config.objectives:
        raw = [cosine_with_rescaling(h) for h in _matrices(tables, objective)]
        angles = part(tables["angles"], objective)["median_angle"].to_numpy(float)
        cosines = np.cos(np.deg2rad(angles))
        words = f"{objective} objective, action network"
        shown = "smallest of {} seeds; median {:.3g}"
        pairs = (
            (f"Cosine of the learned matrix h with diag(1, -1) ({words}).", raw, BASIS),
            (
                f"Cosine of the learned field with that of diag(1, -1), point by point ({words}).",
                cosines,
                MATCHES,
            ),
        )
        for statement, values, quote in pairs:
            note = f"({shown.format(len(values), float(np.median(values)))})"
            least = float(np.min(values))
            if objective == "paper":
                claims.append(
                    Claim.quantified(statement, "Fig. 2, Sec. 5.3", least, quote=quote, uncertainty=note)
                )
            else:
                claims.append(Claim.beyond(statement, least, uncertainty=note))
    if linear := [cosine_with_rescaling(h) for h in _matrices(tables, "corrected", "linear")]:
        claims.append(
            Claim.beyond(
                "Cosine of the generator learned with the action gθ with diag(1, -1).",
                min(linear),
                expected="1",
                uncertainty=f"(smallest of {len(linear)} seeds)",
            )
        )
    return [*claims, *drift_claims(tables, "Fig. 2", MATCHES), *length_claim(tables)]


def _picture_claim(config: LearnedRun, tables: RunTables) -> Claim:
    """Fig. 2 as a picture: in most trainings h shows the pattern of diag(1, -1)."""
    statement = "The generator h learned with an action network looks like diag(1, -1)."
    matrices = _matrices(tables, "paper")
    if not matrices:
        return Claim.not_checked(
            statement, "Fig. 2", "the paper's objective is not in the config", quote=MATCHES
        )
    angles = part(tables["angles"], "paper")["median_angle"].to_numpy(float)
    alike = sum(looks_like_rescaling(h) for h in matrices)
    cosines = ", ".join(f"{cosine_with_rescaling(h):.2f}" for h in matrices)
    return outcome(
        config,
        statement,
        "Fig. 2",
        alike > len(matrices) / 2,
        measured=f"{alike} of {len(matrices)} seeds (cosines {cosines})",
        threshold="more than half of the seeds: opposite signs on the diagonal, less beside it",
        quote=MATCHES,
        reading="Fig. 2 shows one training; read as what most trainings give.",
        why="One random matrix in twelve looks so. Sec. 5.3 goes on that an action network may read h in any "
        "basis, so that the field, not h, is to be compared: its cosine with that of diag(1, -1) is "
        f"{np.cos(np.deg2rad(angles.max())):.4f} or more.",
    )
