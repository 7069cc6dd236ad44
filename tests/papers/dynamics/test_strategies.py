"""Fig. 1 at the smallest size: the same whatever the cells, and starts in E."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.dynamics import training_assumptions
from symscope.dynamics.layer_vectors import equivariant_split
from symscope.runs import Verdict
from symscope_papers.dynamics.permutation.config import Permutation
from symscope_papers.dynamics.rotation.config import Rotation
from symscope_papers.dynamics.strategies.measure import mini_batches, product_rate, starting_layers
from symscope_papers.dynamics.translation.config import Translation
from tests.papers.dynamics.strategy_cases import CASES, measured


@pytest.mark.parametrize("name", CASES)
def test_problems_meet_the_assumptions_and_start_in_e(name):
    _, config, build = CASES[name]
    problem = build(config, 1, torch.float64, "cpu")
    assert [result.holds for result in training_assumptions(problem)] == [True, True, True]
    start = starting_layers(problem, [0, 1], 1)
    parts = equivariant_split(problem.network, start)
    assert float(parts.total_residual.max()) < 1e-12
    assert float(parts.total_equivariant.min()) > 1
    assert not torch.equal(start[0][0], start[0][1])


@pytest.mark.parametrize("name", CASES)
def test_the_authors_setting_starts_in_e_and_its_equivariant_strategy_is_off_e_by_a_step(name):
    experiment, config, build = CASES[name]
    config = replace(config, scripts=True, precision="double", check_runs=0)
    problem = build(config, 1, torch.float64, "cpu")
    assert [result.holds for result in training_assumptions(problem)] == [True, True, True]
    tables = measured(experiment, config)
    last = tables["paths"].query(f"strategy == 'equivariant' and epoch == {config.epochs}")
    assert (last["drift"] > 1e-6 * last["travelled"]).all()
    assert (last["drift"] < last["travelled"]).all()
    assert (last["published_travelled"] <= last["travelled"] * (1 + 1e-12)).all()
    verdicts = {claim.statement: claim.verdict for claim in experiment.claims(config, tables)}
    assert verdicts["EQUIVARIANT stays in E."] is Verdict.CONTRADICTED


@pytest.mark.parametrize("name", CASES)
def test_results_do_not_depend_on_how_runs_are_put_together(name):
    experiment, config, _ = CASES[name]
    config = replace(config, precision="double")
    apart = measured(experiment, replace(config, block=1, together=False))["paths"]
    side_by_side = measured(experiment, replace(config, block=3, together=True))["paths"]
    keys = ["run", "strategy", "epoch"]
    one, other = (t.sort_values(keys).reset_index(drop=True) for t in (apart, side_by_side))
    pd.testing.assert_frame_equal(one[keys], other[keys])
    scale = one["travelled"].max()
    assert (one[["travelled", "drift"]] - other[["travelled", "drift"]]).abs().max().max() < 1e-9 * scale


def test_what_the_scripts_plot_is_the_square_where_one_layer_moves():
    paths = measured(*CASES["translation"][:2])["paths"]
    moving = paths[paths["drift"] > 0]
    assert (moving["published"] <= moving["drift"] ** 2 * (1 + 1e-9)).all()  # sum of squares, then root
    assert (moving["published"] >= moving["drift"] ** 2 / 3).all()  # three layers can leave E


def test_the_rate_of_products_is_that_of_a_product():
    assert product_rate(torch.device("cpu"), torch.float64, 64) > 1e6


def test_bad_configs_are_refused():
    for change, message in [
        ({"runs": 0}, "runs: expected 1 or more"),
        ({"rate": 0.0}, "rate: expected a positive number"),
        ({"precision": "half"}, "precision: unknown 'half'"),
        ({"check_runs": 31}, "check_runs: expected numbers from 0 to 30"),
    ]:
        for kind in (Permutation, Translation, Rotation):
            with pytest.raises(InputError, match=message):
                kind(**change)
    with pytest.raises(InputError, match="batch: expected at most 4 samples"):
        mini_batches(torch.ones(4, 2), torch.ones(4, 1), 5)
