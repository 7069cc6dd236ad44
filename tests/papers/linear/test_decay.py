from __future__ import annotations

from dataclasses import replace

import pytest

from symscope import InputError
from symscope_papers.linear.decay import decay
from symscope_papers.linear.decay.config import Decay
from tests.papers.linear.runs import FAILED, HOLDS, finished, verdicts


def test_decay(tmp_path):
    outcome, tables = finished(
        tmp_path, "linear/decay", "points=12", "runs=2", "epochs=600", "learning_rate=0.02", "records=40"
    )
    assert verdicts(outcome.claims) == [HOLDS] * 5
    runs = tables["runs"]
    assert runs["eigenvalue"].nunique() == 1  # one data set, several starts
    assert runs["final_asymmetry"].between(1e-8, 1e-2).all()
    assert tables["paths"].groupby("run")["asymmetry"].first().nunique() == 2
    wrong = runs.assign(fitted_rate=1.02 * runs["fitted_rate"], limit_asymmetry=1e-6)
    worse = verdicts(decay.claims(Decay(), {**tables, "runs": wrong}))
    assert worse[1] is FAILED
    assert worse[4] is FAILED


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
