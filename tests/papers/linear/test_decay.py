from __future__ import annotations

from dataclasses import replace

import pytest

from symscope import InputError
from symscope_papers.linear.decay import decay
from symscope_papers.linear.decay.config import Decay
from tests.papers.linear.runs import FAILED, HOLDS, finished, measured, verdicts


def test_decay(tmp_path):
    outcome, tables = finished(
        tmp_path, "linear/decay", "points=12", "runs=2", "epochs=600", "learning_rate=0.02", "records=40"
    )
    assert verdicts(outcome.claims) == [HOLDS] * 3
    runs = tables["runs"]
    assert runs["eigenvalue"].nunique() == 1  # one data set, several starts
    assert runs["final_asymmetry"].between(1e-8, 1e-2).all()
    assert tables["paths"].groupby("run")["asymmetry"].first().nunique() == 2
    assert 0 < measured(outcome.claims, "Relative difference between the fitted rate") < 0.01
    wrong = runs.assign(straightness=0.999, flow_against_integration=1e-6, limit_asymmetry=1e-6)
    assert verdicts(decay.claims(Decay(), {**tables, "runs": wrong})) == [FAILED] * 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"records": 3}, "records: expected 4 or more"),
        ({"learning_rate": 1.5}, "learning_rate: expected above 0 and below 1, got 1.5"),
    ],
)
def test_bad_configs_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        replace(Decay(), **change)
