from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope_papers.linear.shear import shear
from symscope_papers.linear.shear.config import Shear
from symscope_papers.linear.shear.measure import elements
from tests.papers.linear.runs import FAILED, HOLDS, finished, measured, verdicts


def test_shear(tmp_path):
    sets = ["points=10", "shears=0,0.5", "translations=3", "epochs=300", "records=20"]
    outcome, tables = finished(tmp_path, "linear/shear", *sets)
    assert verdicts(outcome.claims) == [HOLDS] * 3
    assert measured(outcome.claims, "Reflections about a point") == "1 of 1"
    groups = tables["groups"]
    assert len(groups) == 3
    assert groups.loc[groups["shear"] == 0, "coupling"].max() < 1e-12
    assert groups.loc[groups["shear"] > 0, "assumption"].str.contains("fails: the transposes of").all()
    wrong = groups.assign(transposes=True, drift=1e-10, limit_asymmetry=1e-3)
    result = verdicts(shear.claims(Shear(), {"groups": wrong}))
    assert result == [FAILED] * 3


def test_elements_act_on_positions_and_the_reflection_is_a_group():
    x = torch.tensor([[1.0, 0.2], [1.0, -3.0]], dtype=torch.float64)
    mirror = elements("reflection", 0.75, 3)
    assert torch.allclose((x @ mirror[1])[:, 1], 1.5 - x[:, 1])
    assert torch.equal(mirror[1] @ mirror[1], mirror[0])
    shifted = elements("translations", 0.5, 5)
    assert sorted((x @ g)[0, 1].item() for g in shifted) == pytest.approx([-0.8, -0.3, 0.2, 0.7, 1.2])
    assert torch.equal(shifted[0], torch.eye(2, dtype=torch.float64))


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="shears: expected"):
        replace(Shear(), shears=(0.5, 1.0))
    with pytest.raises(InputError, match="translations: expected an odd number"):
        replace(Shear(), translations=4)
    with pytest.raises(InputError, match="points: expected 2 or more"):
        replace(Shear(), points=1)
