"""An experiment that is not complete is refused where it is written."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from symscope import InputError
from symscope.report import new_figure
from symscope.runs import Plot, Preset
from symscope.runs._registry import find_experiment
from tests.runs.program import TOY


@dataclass
class Loose:
    size: int = 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "Matrices"}, "family/name"),
        ({"id": "toy/two words"}, "family/name"),
        ({"config": Loose}, "frozen dataclass"),
        ({"config": int}, "frozen dataclass"),
        ({"presets": {}}, "missing: paper, quick"),
        ({"presets": {"quick": Preset(3, "x"), "paper": Preset(4, "x")}}, "'quick' must hold a Toy, got int"),
        ({"threads": 0}, "of at least 1"),
        ({"version": 0}, "of at least 1"),
    ],
)
def test_incomplete_experiments_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(find_experiment("toy/matrices", [TOY]), **change)


def test_plots_need_a_name_and_an_alt_text():
    with pytest.raises(InputError, match="small letters"):
        Plot("../norms", new_figure(1, 1), "t", "s", "a")
    with pytest.raises(InputError, match="alt text"):
        Plot("norms", new_figure(1, 1), "t", "s", " ")
