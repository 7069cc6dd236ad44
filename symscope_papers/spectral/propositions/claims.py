"""What Propositions 1 to 4 claim, part by part."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.propositions.config import Propositions
from symscope_papers.spectral.propositions.measure import PROPOSITION

NAMES = {
    ("fc", "translation"): "dense read-out over shifts",
    ("gap", "translation"): "global pooling over shifts",
    ("fc", "rotation"): "dense read-out over rotations",
    ("gap", "rotation"): "global pooling over rotations",
}
ROUNDING = 1e-12
ANGLE = 1e-8  # an NTK holds angles between windows, those of equal ones known to 2e-8 / pi of half a turn
FULL = 1e-6  # ours: smallest over largest eigenvalue, far above rounding
REGULAR = 1e-10  # ours: the same for digits, whose images under small shifts are nearly alike


def judge_claims(config: Propositions, tables: RunTables) -> list[Claim]:
    """The four propositions, part by part."""
    table = tables["matrices"]
    digits = table[table["kind"] == "digit"]
    cases = {case: _of(table, *case) for case in PROPOSITION}
    varied = [_of(digits, *case) for case in PROPOSITION if case != ("gap", "translation")]
    sides = ", ".join(map(str, config.filters))
    claims = [
        Claim.at_most(
            f"The kernel matrix of {NAMES[case]} is circulant.",
            source,
            nngp["circulant_gap"].max(),
            ROUNDING,
            why=f"NNGP, as in the proofs: largest departure over {len(nngp)} matrices, relative to the "
            f"largest entry; filters of side {sides}.",
        )
        for case, source in PROPOSITION.items()
        for nngp in [cases[case][cases[case]["kernel"] == "nngp"]]
    ]
    claims += [
        Claim.at_most(
            "All four are circulant for the NTK as well.",
            "App. C",
            table[table["kernel"] == "ntk"]["circulant_gap"].max(),
            ANGLE,
            why="An NTK holds angles between windows of the two images; that of equal windows is known to "
            "2e-8 only, hence the threshold.",
        ),
        Claim.at_most(
            "The kernel matrix of global pooling over shifts is constant.",
            "Prop. 2",
            cases["gap", "translation"]["spread"].max(),
            ROUNDING,
            why="NNGP and NTK: largest minus smallest entry, relative to the largest.",
        ),
        Claim.at_least(
            "In the other three cases it is not constant.",
            "Prop. 1, 3, 4",
            min(part["spread"].min() for part in varied),
            ANGLE,
            why="Smallest spread over all digits, NNGP and NTK; threshold is ours: more than rounding makes; "
            "it was set after results had been seen. Pooled quarter turns differ by "
            f"{_typical(digits, 'gap'):.1g} in the median, with a "
            f"dense read-out by {_typical(digits, 'fc'):.1g}.",
        ),
        Claim.at_least(
            "In the other three cases the matrices of digits have full rank.",
            "Prop. 1, 3, 4",
            min(part["rank_ratio"].min() for part in varied),
            REGULAR,
            why="Smallest eigenvalue over largest, the smallest over all digits; threshold is ours.",
        ),
    ]
    return claims + _example_claims(table)


def _example_claims(table: pd.DataFrame) -> list[Claim]:
    """What App. C claims of the images in its proofs."""
    one = table[table["image"] == "one pixel"]
    two = table[table["image"] == "two pixels"]
    equal = table[table["image"] == "two equal pixels"]
    ours = "Smallest eigenvalue over largest; threshold is ours."
    return [
        Claim.at_most(
            "One bright pixel, shifted by more than the filter: the matrix is a multiple of the identity.",
            "Prop. 1, App. C",
            _of(one, "fc", "translation")["off_diagonal"].max(),
            ROUNDING,
        ),
        Claim.at_least(
            "One bright pixel off the centre, rotated, dense read-out: the matrix has full rank.",
            "Prop. 3, App. C",
            _of(one, "fc", "rotation")["rank_ratio"].min(),
            FULL,
            why=ours,
        ),
        Claim.at_least(
            "Two bright pixels inside a filter, rotated, global pooling: the matrix has full rank.",
            "Prop. 4, App. C",
            two["rank_ratio"].min(),
            FULL,
            why=f"One pixel half as bright as the other. {ours}",
        ),
        Claim.at_most(
            "That example needs pixels of different brightness: two equal ones look the same upside down to "
            "a network that pools, and the matrix is singular.",
            "beyond the paper",
            equal["rank_ratio"].abs().max(),
            ANGLE,
        ),
    ]


def _typical(digits: pd.DataFrame, readout: str) -> float:
    return float(_of(digits, readout, "rotation")["spread"].median())


def _of(table: pd.DataFrame, readout: str, orbit: str) -> pd.DataFrame:
    return table[(table["readout"] == readout) & (table["orbit"] == orbit)]
