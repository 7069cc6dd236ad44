"""App. B and two examples from practice as claims."""

from __future__ import annotations

import pytest

from symscope import InputError
from symscope.runs import RunRequest, Verdict, Workers, run_experiments
from symscope_papers.dynamics.counterexamples import counterexamples as experiment
from symscope_papers.dynamics.counterexamples.config import Counterexamples


def test_both_converses_fail(tmp_path):
    asked = RunRequest.of("dynamics/counterexamples", device="cpu", changes=["sizes=[3, 4]", "steps=5"])
    [outcome] = run_experiments([asked], tmp_path, Workers(processes=0))
    assert not outcome.problems
    assert [claim.verdict for claim in outcome.claims] == [Verdict.HOLDS] * 3 + [None] * 2
    tables = outcome.tables()
    curves = tables["curves"]
    for name, risk, sign in [("U", "augmented", 1), ("U", "nominal", -1), ("V", "equivariant", 1)]:
        part = curves[(curves["example"] == name) & (curves["risk"] == risk) & (curves["step"] != 0)]
        assert (sign * part["change"] > 0).all()
    worse = tables["minima"].assign(strict=True, lowest=0.5)
    verdicts = [c.verdict for c in experiment.claims(Counterexamples(), {**tables, "minima": worse})]
    assert verdicts[:3] == [Verdict.CONTRADICTED] * 3


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="sizes: expected numbers from 3 to 7"):
        Counterexamples(sizes=(2,))
    with pytest.raises(InputError, match="steps: expected 3 or more"):
        Counterexamples(steps=2)
