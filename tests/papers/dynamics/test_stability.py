"""Predicted and measured stability as claims."""

from __future__ import annotations

import pytest

from symscope import InputError
from symscope.runs import RunRequest, Verdict, Workers, run_experiments
from symscope_papers.dynamics.stability import stability_along_training as experiment
from symscope_papers.dynamics.stability.config import Stability


def test_the_spectrum_predicts_the_drift(tmp_path):
    settings = [
        'groups=["C3"]', "seeds=1", "samples=8", "horizon=1.0", "moments=3", "repeats=24", "steps=6",
        "passes=[2, 8]",
    ]  # fmt: skip
    [outcome] = run_experiments(
        [RunRequest.of("dynamics/stability", device="cpu", changes=settings)], tmp_path, Workers(processes=0)
    )
    assert not outcome.problems
    assert not outcome.failed
    assert {claim.verdict for claim in outcome.claims} == {Verdict.HOLDS, None}
    assert all(claim.quote for claim in outcome.claims if claim.verdict)
    tables = outcome.tables()
    config = Stability(groups=("C3",), seeds=1)
    for name, change in [
        ("rates", {"measured": -0.5, "verdict": "unstable"}),
        ("noise", {"exact": 1.0}),
        ("noise", {"sampled": tables["noise"]["passes"]}),
        ("spectrum", {"verdict": "stable"}),
    ]:
        worse = {**tables, name: tables[name].assign(**change)}
        failed = [c for c in experiment.claims(config, worse) if c.verdict is Verdict.CONTRADICTED]
        assert failed, name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": 0}, "expected 1 or more"),
        ({"moments": 2}, "moments: expected 3 or more"),
        ({"horizon": 0.0}, "horizon: expected a positive number"),
        ({"passes": ()}, "passes: expected at least one value"),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        Stability(**change)
