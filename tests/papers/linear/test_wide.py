from __future__ import annotations

from dataclasses import replace

import pytest

from symscope import InputError
from symscope.runs import Verdict
from symscope_papers.linear.wide import wide
from symscope_papers.linear.wide.config import Wide
from tests.papers.linear.runs import FAILED, HOLDS, verdicts
from tests.papers.linear.tables import tables_of_cells

SMALL = Wide(widths=(5, 20, 80), depths=(1, 2), starts=40, networks=2, orbits=2, steps=20, held_out=20)


@pytest.fixture(scope="module")
def tables():
    return tables_of_cells(wide, SMALL)


def test_untrained_outputs_have_the_variance_of_the_closed_form(tables):
    starts = tables["starts"]
    one = starts[(starts["depth"] == 1) & (starts["initialisation"] == "default")]
    assert len(one) == 3 * 40
    mean, error = one.groupby("width")["square"].mean(), one.groupby("width")["square"].sem()
    for width in SMALL.widths:  # E|x|² = 1 on the cube
        assert abs(mean[width] - (2 / 54 + 1 / (3 * width))) < 4 * error[width] + 0.005


def test_claims_follow_the_numbers(tables):
    size = replace(SMALL, widths=(5, 20, 1000))
    unchecked = [FAILED, Verdict.NOT_CHECKED, Verdict.NOT_CHECKED, HOLDS]
    assert verdicts(wide.claims(SMALL, tables)) == unchecked
    falling = tables["trained"].assign(linear_gap=lambda t: (1 + 0.1 * t["network"]) * t["width"] ** -0.5)
    assert verdicts(wide.claims(size, {**tables, "trained": falling})) == [FAILED, HOLDS, HOLDS, HOLDS]
    deep = falling.assign(linear_gap=lambda t: t["linear_gap"].where(t["depth"] == 1, 1 + 0.1 * t["network"]))
    assert verdicts(wide.claims(size, {**tables, "trained": deep}))[1:3] == [HOLDS, FAILED]
    vanishing = tables["starts"].assign(square=lambda t: (1 + 1e-3 * t["start"]) / t["width"])
    worse = {
        "starts": vanishing,
        "trained": tables["trained"].assign(linear_gap=lambda t: 0.1 * t["width"]),
        "ranks": tables["ranks"].assign(rank=51),
    }
    assert verdicts(wide.claims(size, worse)) == [HOLDS, FAILED, FAILED, FAILED]
    assert [plot.name for plot in wide.plot(SMALL, tables)] == ["widths"]


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="widths: expected"):
        replace(SMALL, widths=(10, 20))
    with pytest.raises(InputError, match="starts: expected 3 or more"):
        replace(SMALL, starts=2)
