"""The propositions on a few digits, and against matrices made by hand."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.groups import cyclic
from symscope.runs import CellContext, ClaimKind, Verdict
from symscope_papers.spectral.propositions import propositions
from symscope_papers.spectral.propositions.claims import judge_claims
from symscope_papers.spectral.propositions.config import Propositions
from symscope_papers.spectral.propositions.measure import structure

SMALL = Propositions(digits=3, filters=(3,), shifts=4)


@pytest.fixture(scope="module")
def tables():
    result = {}
    for cell in propositions.cells(SMALL):
        for name, rows in propositions.measure(SMALL, cell, CellContext(5, 0, "cpu")).items():
            result.setdefault(name, []).extend({**cell, **row} for row in rows)
    return {name: pd.DataFrame(rows) for name, rows in result.items()}


def test_the_propositions_hold_and_one_of_their_examples_does_not(tables):
    claims = judge_claims(SMALL, tables)
    stated = [claim for claim in claims if claim.kind is ClaimKind.STATED]
    assert len(stated) == 16
    assert all(claim.quote for claim in stated)
    against = [claim.statement for claim in stated if claim.verdict is not Verdict.HOLDS]
    assert len(against) == 1
    assert against[0].startswith("The sum of two images of one bright pixel each")
    mended, other = [claim.measured for claim in claims if claim.kind is ClaimKind.BEYOND]
    assert mended > 1e-4
    assert other == "0, 1"  # cyclic, and not orthogonal


def test_claims_can_fail(tables):
    for words, readout, orbit, image, column, value in [
        ("dense read-out over shifts is circulant", "fc", "translation", None, "circulant_gap", 1e-9),
        ("pooling over shifts is circulant", "gap", "translation", None, "circulant_gap", 1e-9),
        ("dense read-out over rotations is circulant", "fc", "rotation", None, "circulant_gap", 1e-9),
        ("pooling over rotations is circulant", "gap", "rotation", None, "circulant_gap", 1e-9),
        ("for the NTK as well", "fc", "rotation", None, "circulant_gap", 1e-6),
        ("pooling over shifts is constant", "gap", "translation", None, "spread", 1e-9),
        ("pooling over rotations is not constant", "gap", "rotation", None, "spread", 1e-10),
        ("dense read-out over shifts is not singular", "fc", "translation", None, "rank_ratio", 1e-14),
        ("multiple of the identity", "fc", "translation", "one pixel", "off_diagonal", 1e-9),
        ("rotated, dense read-out", "fc", "rotation", "one pixel", "rank_ratio", 1e-12),
    ]:
        table = tables["matrices"].copy()
        chosen = (table["readout"] == readout) & (table["orbit"] == orbit)
        if image is not None:
            chosen &= table["image"] == image
        table.loc[chosen, column] = value
        [claim] = [c for c in judge_claims(SMALL, {"matrices": table}) if words in c.statement]
        assert claim.verdict is Verdict.CONTRADICTED, words


def test_structure_of_a_matrix_made_by_hand():
    gram = torch.tensor([[4.0, 1.0, 2.0], [1.0, 4.0, 1.0], [2.0, 1.0, 4.0]], dtype=torch.float64)
    result = structure(gram, cyclic(3))  # nearest circulant: 4 on the diagonal, 4/3 beside it
    assert result["circulant_gap"] == pytest.approx(2 / 3 / 4)
    assert result["spread"] == pytest.approx(3 / 4)
    assert result["off_diagonal"] == pytest.approx(2 / 4)
    values = torch.linalg.eigvalsh(gram)
    assert result["rank_ratio"] == pytest.approx(float(values[0] / values[-1]))


def test_figures_say_what_they_show(tables):
    plots = propositions.plot(SMALL, tables)
    assert [plot.name for plot in plots] == ["matrices", "spectra", "examples"]
    labels = [axes.get_xlabel() for axes in plots[2].figure.axes]
    assert "rank 2 of 4" in labels
    assert labels.count("rank 4 of 4") == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"digits": 0}, "digits: expected numbers from 1 to 2000, got 0"),
        ({"shifts": 5}, "shifts: expected divisors of 28 from 2 on, got 5"),
        ({"filters": ()}, "filters: expected at least one"),
        ({"filters": (1,)}, "filters: expected numbers from 3 to 13"),
        ({"filters": (4,)}, "an odd side"),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(SMALL, **change)
