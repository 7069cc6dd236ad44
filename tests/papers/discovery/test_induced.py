"""The induced experiment, small."""

from __future__ import annotations

from dataclasses import replace

import pytest

from symscope import InputError
from symscope.runs import Verdict
from symscope_papers.discovery.induced import carried
from symscope_papers.discovery.induced.config import Induced
from tests.papers.discovery.gathered import gathered

SMALL = Induced(wide=(3,), depths=(3,), batch=2, seeds=(1,), points=3)


def test_claims_and_pictures():
    tables = gathered(carried, SMALL)
    cases = tables["cases"]
    assert set(cases["rule"]) == {"Prop. 4.1", "Cor. 4.2", "Cor. 4.3", "Prop. 4.4"}
    claims = carried.claims(SMALL, tables)
    # Eq. 14 of a proof takes a sum out of the activation; what it is used for holds
    assert [claim.verdict for claim in claims] == [*[Verdict.HOLDS] * 4, Verdict.CONTRADICTED, None]
    assert all(claim.quote for claim in claims[:5])
    assert tables["sums"]["split"].max() < 1e-12 < 0.01 < tables["sums"]["defect"].min()
    assert (cases[cases["should_hold"]]["random_drift"] > 1e-3).all()
    assert [plot.name for plot in carried.plot(SMALL, tables)] == ["drifts", "carried-generator"]

    worse = cases.copy()
    worse["holds"], worse["drift"] = False, 0.0
    verdicts = [claim.verdict for claim in carried.claims(SMALL, {**tables, "cases": worse})]
    assert verdicts == [*[Verdict.CONTRADICTED] * 5, None]


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="wide: expected 3 or more"):
        replace(SMALL, wide=(2,))
    with pytest.raises(InputError, match="depths: expected 3 or more"):
        replace(SMALL, depths=(2,))
