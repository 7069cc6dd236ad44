"""The group experiment on small groups, and claims that can fail."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.groups import symmetric
from symscope.runs import Surroundings, Verdict
from symscope.spectral.irrep_blocks import fourier_blocks, frequencies
from symscope_papers.spectral.group_orbits import (
    Groups,
    group_claims,
    groups,
    irrep_profile,
    missing_masks,
)
from tests.tolerances import FOURIER

SMALL = Groups(seeds=2, side=14, shifts=(2, 7), nodes=4, points=3)


@pytest.fixture(scope="module")
def tables():
    found = {}
    for number, cell in enumerate(groups.cells(SMALL)):
        for name, rows in groups.measure(SMALL, cell, Surroundings(number, 0, "cpu")).items():
            found.setdefault(name, []).extend({**cell, **row} for row in rows)
    return {name: pd.DataFrame(rows) for name, rows in found.items()}


def test_every_claim_is_reproduced(tables):
    claims = group_claims(SMALL, tables)
    assert len(claims) == 12
    assert {claim.verdict for claim in claims} == {Verdict.REPRODUCED}


def test_claims_can_fail(tables):
    for number, table, row, column, value in [
        (0, "errors", 2, "difference", 1e-6),
        (9, "errors", -1, "difference", 1e-6),
        (10, "errors", -1, "error", 1e-12),
        (11, "irreps", 2, "slope", 0.9),
    ]:
        worse = {name: frame.copy() for name, frame in tables.items()}
        worse[table].loc[worse[table].index[row], column] = value
        assert group_claims(SMALL, worse)[number].verdict is Verdict.NOT_REPRODUCED, number


def test_missing_sets_are_of_three_kinds(tables):
    errors = tables["errors"]
    for _, part in errors.groupby("case"):
        sizes = part.groupby(["missing", "set"]).size()
        assert (sizes["one point"] == 1).all()
        assert (sizes["a class's points"] == 2).all()
        assert (sizes["a third of all points"] >= 3).all()
    masks = missing_masks(torch.tensor([[0, 0, 2, 2], [0, 1, 2, 3]]), 1, seed=1)
    assert not masks[:, 0, [1, 3]].any()  # a point is named by its first element only


def test_parts_of_a_profile_are_those_of_its_blocks():
    """By characters here, by matrices of the irreps there."""
    group = symmetric(3)
    draw = torch.rand(2, 2, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    profile = draw + draw.transpose(0, 1)[:, :, group.inverses]
    parts = [irrep_profile(profile, frequency, group) for frequency in frequencies(group)]
    torch.testing.assert_close(sum(parts), profile, rtol=0, atol=FOURIER)
    for i, part in enumerate(parts):
        for j, (_, block) in enumerate(fourier_blocks(part, group)):
            kept = [b for _, b in fourier_blocks(profile, group)][j]
            expected = kept if i == j else torch.zeros_like(kept)
            torch.testing.assert_close(block, expected, rtol=0, atol=FOURIER)


def test_figures_show_what_limits(tables):
    agreement, shares = groups.plot(SMALL, tables)
    assert len([axes for axes in agreement.figure.axes if axes.get_title(loc="left")]) == 10
    titles = [axes.get_title(loc="left") for axes in shares.figure.axes if axes.get_title(loc="left")]
    assert len(titles) == 8  # invariant networks have no shares to show
    assert any("S4: graphs" in title for title in titles)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cases": ("d4-mlp", "d4-vit")}, "cases: expected some of .* got d4-vit"),
        ({"cases": ()}, "got none"),
        ({"seeds": 0}, "at least 1 of each class, got 0"),
        ({"side": 20}, "14 or 28 pixels, got 20"),
        ({"shifts": (3, 7)}, r"two divisors of 14, got \(3, 7\)"),
        ({"nodes": 7}, "3 to 6 and 2 to 6, got 7 and 3"),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(SMALL, **change)
