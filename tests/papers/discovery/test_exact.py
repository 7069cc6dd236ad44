"""The exact experiment, small: claims follow from the tables, pictures are drawn, failures are seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from symscope import InputError
from symscope.runs import CellContext, Verdict
from symscope_papers.discovery.exact import exact
from symscope_papers.discovery.exact.config import Exact
from tests.papers.discovery.gathered import gathered

SMALL = Exact(
    networks=("linear 1-2-1", "ReLU 2-2-2", "tanh 1-1-1", "attention 2-2"),
    seeds=(3,),
    points=4,
    wide="ReLU 4-9-3",
)


def test_claims_and_pictures():
    tables = gathered(exact, SMALL)
    claims = exact.claims(SMALL, tables)
    judged = [claim for claim in claims if claim.verdict]
    checked = [claim.verdict for claim in judged]
    no = Verdict.NOT_CHECKED  # linear networks of one input, no softmax, no sigmoid
    assert checked == [no, Verdict.HOLDS, no, Verdict.HOLDS, no, Verdict.HOLDS]
    assert all(claim.quote for claim in judged)
    measured = {claim.statement: claim.measured for claim in claims if claim.verdict is None}
    assert list(measured.values())[:3] == ["1 of 1"] * 3
    assert measured["Part of a bracket of two generators that lies outside what was found."] < 1e-9
    assert "9 in 63 parameters" in list(measured.values())[-1]
    networks = tables["networks"].set_index("network")
    assert networks.loc["linear 1-2-1", "algebra"] == "2 sl(2)"
    assert networks.loc["ReLU 4-9-3", "method"] == "layers"
    plots = exact.plot(SMALL, tables)
    assert [p.name for p in plots] == [
        "generators-linear-1-2-1",
        "generators-relu-2-2-2",
        "generators-attention-2-2",
        "dimensions",
        "spectra",
    ]

    worse = tables["networks"].copy()
    worse["found"] = worse["found"] + 1
    for column in ("drift", "span_sine", "closure", "conservation", "largest_chance"):
        worse[column] = 0.5
    claims = exact.claims(SMALL, {**tables, "networks": worse})
    verdicts = [claim.verdict for claim in claims if claim.verdict]
    assert verdicts == [Verdict.CONTRADICTED, Verdict.CONTRADICTED, no, Verdict.CONTRADICTED, no, verdicts[1]]
    assert [claim.measured for claim in claims if claim.verdict is None][:3] == ["0 of 1"] * 3


def test_what_is_not_there_is_not_checked():
    config = replace(SMALL, networks=("tanh 1-1-1",), wide="")
    verdicts = [claim.verdict for claim in exact.claims(config, gathered(exact, config))]
    assert verdicts.count(Verdict.HOLDS) == 1  # no symmetry
    assert verdicts.count(Verdict.NOT_CHECKED) == 5


def test_cells_repeat_and_bad_configs_are_refused():
    cell = {"network": "ReLU 2-2-2", "number": 0}
    rows = [exact.measure(SMALL, cell, CellContext(5, 0, "cpu"))["spectra"] for _ in range(2)]
    assert [float(r["value"]) for r in rows[0]] == [float(r["value"]) for r in rows[1]]
    with pytest.raises(InputError, match="seeds: expected 1 or more"):
        replace(SMALL, seeds=())
    with pytest.raises(InputError, match="points: expected 1 or more"):
        replace(SMALL, points=0)
