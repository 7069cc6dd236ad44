from __future__ import annotations

from dataclasses import replace

import pytest

from symscope import InputError
from symscope_papers.linear.equivariance import equivariance
from symscope_papers.linear.equivariance.config import ASYMMETRIC, Equivariance
from tests.papers.linear.runs import FAILED, HOLDS, finished, verdicts


def test_equivariance(tmp_path):
    sets = ["points=12", "runs=2", "epochs=400", "learning_rate=0.03", "records=30"]
    outcome, tables = finished(tmp_path, "linear/equivariance", *sets)
    assert verdicts(outcome.claims) == [HOLDS] * 4
    runs, paths = tables["runs"], tables["paths"]
    assert (runs["fast_eigenvalue"] > runs["slow_eigenvalue"]).all()
    start = paths[(paths["epoch"] == 0) & (paths["shared"] == "asymmetric")]
    assert start[ASYMMETRIC[0]].nunique() == 1
    wrong = {
        "runs": runs.assign(slow_straightness=0.99, limit_commutator=1e-6),
        "paths": paths.assign(**{ASYMMETRIC[1]: paths[ASYMMETRIC[1]] + 1e-6 * paths["run"]}),
    }
    result = verdicts(equivariance.claims(Equivariance(), wrong))
    assert result == [FAILED, FAILED, FAILED, HOLDS]


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="expected 2 or more"):
        replace(Equivariance(), runs=1)
