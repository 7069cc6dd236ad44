"""What Propositions 1 to 4 and their proofs state, part by part."""

from __future__ import annotations

import pandas as pd
import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.propositions.config import Propositions
from symscope_papers.spectral.propositions.measure import PROPOSITION

NAMES = {
    ("fc", "translation"): "dense read-out over shifts",
    ("gap", "translation"): "global pooling over shifts",
    ("fc", "rotation"): "dense read-out over rotations",
    ("gap", "rotation"): "global pooling over rotations",
}
CIRCULANT = {
    "Prop. 1": "The kernel matrix of a fully connected convolutional network over a translation orbit "
    "is circulant",
    "Prop. 2": "The kernel matrix of a global average pooling convolutional network is not only circulant",
    "Prop. 3": "The kernel matrix of a fully connected convolutional network over a rotation orbit is "
    "circulant",
    "Prop. 4": "The kernel matrix of a global average pooling convolutional network over a rotation "
    "orbit is circulant",
}
ROUNDING = 1e-12
ANGLE = 1e-8  # an NTK holds angles between windows, those of equal ones known to 2e-8 / pi of half a turn
SINGULAR = 1e-10  # smallest over largest eigenvalue that rounding of matrices of this size leaves


def judge_claims(config: Propositions, tables: RunTables) -> list[Claim]:
    """The four propositions, the images of their proofs, and assumption 1's remark on representations."""
    table = tables["matrices"]
    digits = table[table["kind"] == "digit"]
    claims = []
    for case, source in PROPOSITION.items():
        mine, own = _of(table, *case), _of(digits, *case)
        nngp = mine[mine["kernel"] == "nngp"]
        claims.append(
            Claim.at_most(
                f"The kernel matrix of {NAMES[case]} is circulant.",
                f"{source}, App. C",
                nngp["circulant_gap"].max(),
                ROUNDING,
                quote=CIRCULANT[source],
                reading="To rounding, relative to the largest entry; the NNGP kernel, as in the proofs.",
                why=f"Largest over {len(nngp)} matrices; filters of side "
                f"{', '.join(map(str, config.filters))}.",
            )
        )
        if case == ("gap", "translation"):
            claims.append(
                Claim.at_most(
                    f"The kernel matrix of {NAMES[case]} is constant.",
                    f"{source}, App. C",
                    mine["spread"].max(),
                    ROUNDING,
                    quote="over a translation orbit is constant",
                    reading="To rounding.",
                    why="NNGP and NTK: largest minus smallest entry, relative to the largest.",
                )
            )
        else:
            claims += _general_claims(own, NAMES[case], source)
    claims.append(
        Claim.at_most(
            "All four are circulant for the NTK as well.",
            "App. C",
            table[table["kernel"] == "ntk"]["circulant_gap"].max(),
            ANGLE,
            quote="Essentially, the same proofs should hold for the NTK",
            reading="To rounding: an NTK holds angles between windows, of equal ones known to 2e-8 only.",
        )
    )
    return [*claims, *_example_claims(table), *_orthogonal_claims()]


def _general_claims(own: pd.DataFrame, name: str, source: str) -> list[Claim]:
    quote = {
        "Prop. 1": "this kernel matrix is in general not constant or rank-deficient",
        "Prop. 3": "but in general not constant or rank-deficient",
        "Prop. 4": "but in general not rank-deficient or constant",
    }[source]
    where = f"{source}, App. C" if source == "Prop. 1" else source
    cases = (
        ("spread", ANGLE, "constant", "largest minus smallest entry, over the largest"),
        ("rank_ratio", SINGULAR, "singular", "smallest eigenvalue over the largest"),
    )
    return [
        Claim.from_check(
            f"For digits the kernel matrix of {name} is not {word}.",
            where,
            float(own[column].min()) > border,
            measured=float(own[column].min()),
            threshold="more than rounding for every digit",
            quote=quote,
            why=f"{how.capitalize()}, the least of {len(own)} matrices, NNGP and NTK; median "
            f"{own[column].median():.2g}.",
        )
        for column, border, word, how in cases
    ]


def _example_claims(table: pd.DataFrame) -> list[Claim]:
    """What App. C states of the images in its proofs."""
    one, two, equal = (
        table[table["image"] == name] for name in ("one pixel", "two pixels", "two equal pixels")
    )
    ratio = "Smallest eigenvalue over the largest."
    return [
        Claim.at_most(
            "One bright pixel, shifted by more than the filter: the matrix is a multiple of the identity.",
            "App. C, proof of Prop. 1",
            _of(one, "fc", "translation")["off_diagonal"].max(),
            ROUNDING,
            quote="Doing so results in a kernel matrix over the orbit that is a multiple of the identity",
            reading="To rounding.",
        ),
        Claim.from_check(
            "One bright pixel off the centre, rotated, dense read-out: the matrix has full rank.",
            "App. C, proof of Prop. 3",
            float(_of(one, "fc", "rotation")["rank_ratio"].min()) > SINGULAR,
            measured=float(_of(one, "fc", "rotation")["rank_ratio"].min()),
            threshold="more than rounding",
            quote="This can be obtained by choosing a “Dirac-like” image whose only active pixel is not "
            "at the "
            "center of the image",
            why=ratio,
        ),
        Claim.from_check(
            "The sum of two images of one bright pixel each, inside a filter, rotated, global pooling: "
            "the matrix has "
            "full rank.",
            "App. C, proof of Prop. 4",
            float(equal["rank_ratio"].min()) > SINGULAR,
            measured=float(equal["rank_ratio"].abs().max()),
            threshold="more than rounding",
            quote="one can resort to using a seed image that is the sum of two “Dirac-like” images, "
            "each with a "
            "single nonzero pixel, and both of them in an area contained within the filter size",
            reading="Both pixels equally bright, as the text gives no brightness.",
            why=f"{ratio} Two equal pixels look the same upside down to a network that pools: the "
            "matrix has rank 2 "
            "of 4. The proposition itself stands: see the next measurement, and the digits.",
        ),
        Claim.beyond(
            "The same with one pixel half as bright as the other: smallest eigenvalue over the largest.",
            float(two["rank_ratio"].min()),
            expected="above 0: the example that proves Prop. 4",
        ),
    ]


def _orthogonal_claims() -> list[Claim]:
    """The representations at hand are orthogonal, as permutations; a cyclic group has others, too."""
    pixels = torch.eye(16, dtype=torch.float64).reshape(16, 4, 4)
    actions = (pixels.roll(1, 2), pixels.rot90(1, (1, 2)))
    away = max(_from_orthogonal(action.flatten(1)) for action in actions)
    g = torch.tensor([[1.0, 1.0], [0.0, -1.0]], dtype=torch.float64)
    return [
        Claim.at_most(
            "The representation by which shifts and quarter turns act on images is orthogonal.",
            "Sec. 3.3, proof of assumption 1",
            away,
            1e-12,
            quote="due to the properties of the cyclic group, such representation is orthogonal",
            reading="Of the representation that the paper names, the regular one, which permutes pixels. "
            "Turns finer than a quarter interpolate, the paper's “pixel discretization effects”.",
            why="Largest entry of gᵀg - 1.",
        ),
        Claim.beyond(
            "The same of a representation of the cyclic group of order 2, g = [[1, 1], [0, -1]]: g² - 1, and "
            "gᵀg - 1.",
            f"{float((g @ g - torch.eye(2, dtype=torch.float64)).abs().max()):g}, {_from_orthogonal(g):g}",
            expected="0, and 0 if the group's being cyclic were the reason",
            why="Permutations are orthogonal; a representation of a finite group is so in a suitable basis.",
        ),
    ]


def _from_orthogonal(g: Float64[Tensor, "n n"]) -> float:
    return float((g.T @ g - torch.eye(len(g), dtype=g.dtype)).abs().max())


def _of(table: pd.DataFrame, readout: str, orbit: str) -> pd.DataFrame:
    return table[(table["readout"] == readout) & (table["orbit"] == orbit)]
