"""The smallest stabilising penalty as a claim."""

from __future__ import annotations

import pytest

from symscope import InputError
from symscope.runs import RunRequest, Verdict, Workers, run_experiments
from symscope_papers.dynamics.penalty import penalty as experiment
from symscope_papers.dynamics.penalty.config import Penalty


def test_the_eigenvalue_gives_the_penalty(tmp_path):
    settings = [
        'groups=["C3"]', "seeds=1", "samples=12", "multiples=[0.0, 2.0]", "times=3.0", "bisections=3",
    ]  # fmt: skip
    [outcome] = run_experiments(
        [RunRequest.of("dynamics/penalty", device="cpu", changes=settings)], tmp_path, Workers(processes=0)
    )
    assert not outcome.problems
    assert not outcome.failed
    assert [claim.verdict for claim in outcome.claims] == [Verdict.HOLDS] * 3
    tables = outcome.tables()
    assert (tables["penalties"]["predicted"] > 0).all()
    wrong = tables["penalties"].assign(measured=1.0)
    swapped = tables["paths"].assign(multiple=2.0 - tables["paths"]["multiple"])
    config = Penalty(bisections=3)
    assert experiment.claims(config, {**tables, "penalties": wrong})[0].verdict is Verdict.CONTRADICTED
    assert experiment.claims(config, {**tables, "paths": swapped})[1].verdict is Verdict.CONTRADICTED


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="multiples: expected no 1"):
        Penalty(multiples=(0.0, 1.0))
    with pytest.raises(InputError, match="from 0 to 3"):
        Penalty(multiples=(4.0,))
    with pytest.raises(InputError, match="times: expected a positive number"):
        Penalty(times=0.0)
