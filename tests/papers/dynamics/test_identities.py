"""The paper's statements as claims."""

from __future__ import annotations

import pytest

from symscope import InputError
from symscope.runs import RunRequest, Verdict, Workers, run_experiments
from symscope_papers.dynamics.identities import identities as experiment
from symscope_papers.dynamics.identities.config import Identities
from symscope_papers.dynamics.identities.statements import IDENTITIES


def test_every_statement_is_reproduced_but_equation_3(tmp_path):
    asked = RunRequest.of(
        "dynamics/identities", device="cpu", changes=['groups=["C3", "C2xC2"]', "networks=1"]
    )
    [outcome] = run_experiments([asked], tmp_path, Workers(processes=0))
    assert not outcome.problems
    assert not outcome.failed
    by_source = {claim.source: claim.verdict for claim in outcome.claims}
    assert {by_source[name] for name in IDENTITIES} == {Verdict.HOLDS}
    assert by_source["Remark 1, Eq. 3"] is Verdict.CONTRADICTED
    assert by_source["beyond the paper"] is Verdict.HOLDS
    tables = outcome.tables()
    worse = tables["identities"].copy()
    worse.loc[worse["identity"] == "Prop. 2", "error"] = 1e-9
    claims = experiment.claims(Identities(), {**tables, "identities": worse})
    assert {claim.source: claim.verdict for claim in claims}["Prop. 2"] is Verdict.CONTRADICTED


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="networks: expected 1 or more"):
        Identities(networks=0)
    with pytest.raises(InputError, match="at least one name"):
        Identities(groups=())
