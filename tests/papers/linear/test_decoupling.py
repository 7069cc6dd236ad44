from __future__ import annotations

from dataclasses import replace

import pytest

from symscope import InputError
from symscope_papers.linear.decoupling import decoupling
from symscope_papers.linear.decoupling.config import Decoupling
from tests.papers.linear.runs import FAILED, HOLDS, finished, verdicts


def test_decoupling(tmp_path):
    outcome, tables = finished(
        tmp_path, "linear/decoupling", "points=10", "runs=3", "epochs=60", "records=10"
    )
    assert verdicts(outcome.claims) == [HOLDS] * 2
    paths = tables["paths"].copy()
    paths.loc[0, "asymmetric"] += 1e-9
    assert verdicts(decoupling.claims(Decoupling(), {"paths": paths}))[0] is FAILED


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"runs": 1}, "runs: expected 2 or more"),
    ],
)
def test_bad_configs_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        replace(Decoupling(), **change)
