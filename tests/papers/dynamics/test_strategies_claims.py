"""Claims of Fig. 1 follow from the tables and can fail; every experiment draws its figures."""

from __future__ import annotations

import pandas as pd
import pytest

from symscope.runs import ClaimKind, Verdict
from symscope_papers.dynamics.rotation.measure import graph_rows
from symscope_papers.dynamics.strategies.claims import orders_claims
from symscope_papers.dynamics.strategies.config import lower_precision
from tests.papers.dynamics.strategy_cases import CASES, GRAPHS, HERE, measured


@pytest.mark.parametrize("name", CASES)
def test_claims_follow_from_the_tables_and_can_fail(name):
    experiment, config, _ = CASES[name]
    tables, lower = measured(experiment, config), lower_precision(config)
    claims = experiment.claims(config, tables)
    verdicts = {claim.statement: claim.verdict for claim in claims}
    assert all(claim.quote for claim in claims if claim.verdict)
    inside, leaves = "EQUIVARIANT stays in E.", "AUGMENTED leaves E in every run."
    slower = "AUGMENTED moves out of E more slowly than NOMINAL."
    assert {verdicts[name] for name in (inside, leaves, slower)} == {Verdict.HOLDS}
    assert Verdict.NOT_CHECKED in verdicts.values()  # what belongs to the paper's size
    assert len(experiment.plot(config, tables)) == 3
    paths = tables["paths"]
    still = paths.assign(drift=paths["drift"].where(paths["strategy"] != "augmented", 1e-30))
    wide = paths.assign(drift=paths["travelled"], published=paths["travelled"] ** 2)
    for change, statement in (
        ({"paths": still}, leaves),
        ({"paths": wide}, inside),
        ({"paths": paths.assign(drift=paths["travelled"].mean())}, slower),
    ):
        worse = experiment.claims(config, {**tables, **change})
        failed = {claim.statement for claim in worse if claim.verdict is Verdict.CONTRADICTED}
        assert statement in failed
    measured_claims = {claim.statement: claim for claim in claims if claim.kind is ClaimKind.BEYOND}
    rounding = f"Largest relative difference of |A_E⊥| and |A - A0| between {lower} and double precision."
    assert measured_claims[rounding].measured < 1e-3
    noise = "Drift of AUGMENTED over that of the noise of sampling group elements."
    assert 0.5 < measured_claims[noise].measured < 2


@pytest.mark.parametrize("name", ["permutation", "translation"])
def test_orders_of_magnitude_are_of_norms_and_at_least_two(name):
    experiment, config, _ = CASES[name]
    paths = measured(experiment, config)["paths"]
    for share, verdict in ((1 / 36, Verdict.CONTRADICTED), (1 / 281, Verdict.HOLDS)):
        ends = paths.assign(drift=paths["strategy"].map({"augmented": share, "nominal": 1.0}).fillna(0.0))
        claims = orders_claims({"paths": ends}, whole=True)
        assert [claim.verdict for claim in claims] == [verdict, None, None]


def test_rotations_are_compared_with_graphs_and_sizes_with_what_is_stated():
    experiment, config, _ = CASES["rotation"]
    tables = measured(experiment, config)
    assert [cell for cell in experiment.cells(config) if cell["part"] == "graphs"] == []
    paper, authors = (experiment.presets[name].config for name in ("paper", "authors"))
    assert experiment.cells(paper)[-1] == {"part": "graphs", "first": 0}
    graphs = pd.DataFrame(graph_rows(GRAPHS, HERE))
    assert len(graphs) == 2 * GRAPHS.runs
    ratio = graphs.groupby("strategy")["drift"].mean()
    assert ratio["nominal"] > ratio["augmented"]
    tables["graphs"] = graphs.assign(drift=graphs["strategy"].map({"augmented": 1.0, "nominal": 1e9}))
    closer = "AUGMENTED and NOMINAL are nearer to each other under rotations than in Experiment 1."
    sizes = "Shifts orthogonal to E are of order 1e-7, shifts in all of order 1e-3."
    verdicts = {claim.statement: claim.verdict for claim in experiment.claims(paper, tables)}
    assert verdicts[closer] is Verdict.HOLDS
    assert verdicts[sizes] is Verdict.NUMBER_DIFFERS
    tables["graphs"] = graphs.assign(drift=1.0)
    verdicts = {claim.statement: claim.verdict for claim in experiment.claims(paper, tables)}
    assert verdicts[closer] is Verdict.CONTRADICTED
    for drift, verdict in ((2.5e-4, Verdict.CONTRADICTED), (1e-7, Verdict.HOLDS)):
        tables["paths"] = tables["paths"].assign(drift=drift, published_travelled=1.2e-3)
        verdicts = {claim.statement: claim.verdict for claim in experiment.claims(authors, tables)}
        assert verdicts[sizes] is verdict
