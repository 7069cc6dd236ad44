"""How many symmetries there are, at a tiny size, against theory."""

from __future__ import annotations

import pytest
import torch

from symscope.errors import InputError
from symscope_papers.discovery.number import number
from symscope_papers.discovery.number.config import DATA, Number
from symscope_papers.discovery.number.measure import swap_data
from tests.papers.discovery.gathered import gathered

SMALL = Number(networks=("linear 2-3-1", "tanh 2-3-1"), seeds=(0,), steps=(0, 3), samples=8)


def test_counts_are_those_of_theory():
    tables = gathered(number, SMALL)
    start = tables["counts"].query("step == 0").set_index(["network", "data"])["directions"]
    assert start["linear 2-3-1"].tolist() == [7, 7, 8]  # 9 parameters make 2 numbers, or 1 on a line
    assert start["tanh 2-3-1"].tolist() == [0, 0, 3]  # equal inputs see the sum of two weights
    claims = number.claims(SMALL, tables)
    assert {claim.verdict for claim in claims} == {None}
    assert [claim.measured for claim in claims] == ["0 of 3", "0 of 3", "7", "8", "0", "3"]
    falling = tables["counts"].groupby(["network", "data"])["loss"].agg(["first", "last"])
    assert (falling["last"] < falling["first"]).all()
    fewer = tables["counts"].copy()
    fewer.loc[fewer["step"] == 3, "directions"] = 1
    assert number.claims(SMALL, {"counts": fewer})[0].measured == "3 of 3"
    assert [plot.name for plot in number.plot(SMALL, tables)] == ["counts"]


def test_targets_do_not_see_the_swap():
    for kind in DATA:
        x, y = swap_data(kind)(50, torch.Generator().manual_seed(0))
        assert float((y[:, 0] - torch.sin(x.sum(1))).abs().max()) < 0.5
    assert torch.equal(x[:, 0], x[:, 1])


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="data: unknown 'swap'"):
        Number(data=("swap",))
    with pytest.raises(InputError, match="steps"):
        Number(steps=(3, 0))
