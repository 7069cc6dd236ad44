"""The paper's statements as claims."""

from __future__ import annotations

import pytest

from symscope import InputError
from symscope.runs import RunRequest, Verdict, Workers, run_experiments
from symscope_papers.dynamics.identities import identities as experiment
from symscope_papers.dynamics.identities.config import Identities
from symscope_papers.dynamics.identities.statements import IDENTITIES


def test_every_statement_holds_but_equation_3(tmp_path):
    asked = RunRequest.of(
        "dynamics/identities", device="cpu", changes=['groups=["C3", "C2xC2"]', "networks=1"]
    )
    [outcome] = run_experiments([asked], tmp_path, Workers(processes=0))
    assert not outcome.problems
    assert not outcome.failed
    by_source = {claim.source: claim.verdict for claim in outcome.claims if claim.verdict}
    assert {by_source[name] for name in IDENTITIES} == {Verdict.HOLDS}
    assert by_source["Remark 1, Eq. 3"] is Verdict.CONTRADICTED
    assert all(claim.quote for claim in outcome.claims if claim.verdict)
    gaps = outcome.tables()["feature_averaging"]
    assert (gaps["gap"] > 1e-6).all()  # Jensen: the augmented risk is the larger one
    assert (gaps["gap_on_e"].abs() < 1e-12).all()
    tables = outcome.tables()
    worse = tables["identities"].copy()
    worse.loc[worse["identity"] == "Prop. 2", "error"] = 1e-9
    claims = experiment.claims(Identities(), {**tables, "identities": worse})
    assert {claim.source: claim.verdict for claim in claims}["Prop. 2"] is Verdict.CONTRADICTED
    plain = tables["identities"].assign(declaration="V -> V")
    claims = experiment.claims(Identities(), {**tables, "identities": plain})
    assert {claim.source: claim.verdict for claim in claims}["Sec. 5"] is Verdict.NOT_CHECKED


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="networks: expected 1 or more"):
        Identities(networks=0)
    with pytest.raises(InputError, match="at least one name"):
        Identities(groups=())
