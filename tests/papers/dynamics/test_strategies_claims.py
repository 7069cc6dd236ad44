"""Claims of Fig. 1 follow from the tables and can fail; every experiment draws its figures."""

from __future__ import annotations

import pytest

from symscope.runs import Verdict
from symscope_papers.dynamics.strategies.config import lower_precision
from tests.papers.dynamics.strategy_cases import CASES, measured


@pytest.mark.parametrize("name", CASES)
def test_claims_follow_from_the_tables_and_can_fail(name):
    experiment, config, _ = CASES[name]
    tables, lower = measured(experiment, config), lower_precision(config)
    rounding = f"Drift is not rounding: {lower} and double precision give the same."
    verdicts = {claim.statement: claim.verdict for claim in experiment.claims(config, tables)}
    good = {s for s, verdict in verdicts.items() if verdict is Verdict.HOLDS}
    assert {
        "EQUIVARIANT stays in E.",
        "AUGMENTED leaves E in every run.",
        rounding,
    } <= good
    assert len(experiment.plot(config, tables)) == 3
    paths = tables["paths"]
    still = paths.assign(drift=paths["drift"].where(paths["strategy"] != "augmented", 1e-30))
    wide = paths.assign(drift=paths["travelled"], published=paths["travelled"] ** 2)
    off = tables["precision"].assign(**{f"drift_{lower}": tables["precision"]["drift_double"] * 1.01})
    slow = tables["work"].assign(seconds=1e4)
    for change, statement in (
        ({"paths": still}, "AUGMENTED leaves E in every run."),
        ({"paths": wide}, "EQUIVARIANT stays in E."),
        ({"paths": wide}, "The drift of AUGMENTED is the noise of sampling group elements."),
        ({"precision": off}, rounding),
    ):
        worse = experiment.claims(config, {**tables, **change})
        failed = {claim.statement for claim in worse if claim.verdict is Verdict.CONTRADICTED}
        assert statement in failed
    hours = "The experiment takes a small part of the authors' 75 GPU hours for all three."
    assert verdicts[hours] is Verdict.NOT_CHECKED
    for work, verdict in ((tables["work"], Verdict.HOLDS), (slow, Verdict.CONTRADICTED)):
        large = experiment.claims(experiment.presets["paper"].config, {**tables, "work": work})
        assert {claim.statement: claim.verdict for claim in large}[hours] is verdict
