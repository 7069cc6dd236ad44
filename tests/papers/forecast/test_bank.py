"""The bank of forecasts: baselines, figures of merit, and one small run of it."""

from __future__ import annotations

import dataclasses
import math

import pandas as pd
import pytest
import torch

from docs.tooling.forecast_bank import _with_forecasts
from symscope.forecasting.methods import (
    StepCost,
    class_scores,
    forecast_samples,
    nearest_neighbours,
    true_designs,
)
from symscope.runs import CellContext
from symscope.training import Optimiser, StepPlan
from symscope_papers.forecast.bank import bank
from symscope_papers.forecast.bank.claims import judge_claims
from symscope_papers.forecast.bank.config import Bank
from symscope_papers.forecast.bank.figures import draw_plots
from symscope_papers.forecast.bank.measure import bank_question, cells, measure_cell, plan_of_cost
from symscope_papers.forecast.bank.scores import CASE, decisions, matched, merit

SMALL = dataclasses.replace(
    bank.presets["quick"].config, data=("points",), networks=("mlp",), steps=24, costs=(0.03, 0.1)
)


@pytest.fixture(scope="module")
def tables():
    """The bank's tables for two cases, as the engine puts them together."""
    rows: dict[str, list] = {}
    for number, cell in enumerate(cells(SMALL)):
        result = measure_cell(SMALL, cell, CellContext(seed=number, run_seed=0, device="cpu"))
        for name, part in result.items():
            rows.setdefault(name, []).extend(dict(cell) | row for row in part)
    return {name: pd.DataFrame(part) for name, part in rows.items()}


def test_a_small_run_has_forecasts_trainings_and_baselines(tables):
    assert set(tables) == {"cases", "pilots", "trained", "baselines", "remedies", "audits"}
    assert set(tables["cases"]["coverage"]) == {"half", "one"}
    pilots = tables["pilots"]
    for name in ("after", "near", "sure", "fitted", "progress"):
        assert pilots[name].between(0, 1).all()
    assert set(tables["remedies"]["remedy"]) == {"nothing", "average", "augment"}
    assert set(tables["baselines"]["baseline"]) >= {"nearest neighbour", "kernel"}
    rows = matched(tables)
    assert set(rows["forecast_of"]) >= {"network after 10%", "network after 3%", "nearest neighbour"}
    assert not rows["accuracy"].isna().any()


def test_claims_and_figures_follow_from_the_tables(tables):
    claims = judge_claims(SMALL, tables)
    assert any("nearest neighbour" in one.statement for one in claims)
    plots = draw_plots(SMALL, tables)
    assert [one.name for one in plots] == ["scatter", "errors", "where"]
    assert all(axes.get_xlabel() or axes.get_title(loc="left") for one in plots for axes in one.figure.axes)


@pytest.mark.parametrize("cost", [0.01, 0.03, 0.1, 0.5])
@pytest.mark.parametrize(("full", "designs", "replaced"), [(3000, 1, 10), (600, 1, 1), (900, 2, 10)])
def test_a_plan_costs_what_it_may(cost, full, designs, replaced):
    whole = StepPlan(full, 128, Optimiser("adam", 1e-3))
    plan = plan_of_cost(cost, whole, designs, replaced, StepCost())
    allowed = cost * full * replaced
    assert plan.steps <= max(allowed, 4 * 2 * designs)
    assert plan.steps >= 0.5 * min(allowed, full * designs)
    # the definition of cost: points that pass through the network
    [pilot] = plan.trainings
    points = pilot.steps * pilot.batch * plan.repeats * designs
    assert points <= plan.steps * whole.batch


def test_forecasts_alone_take_the_place_of_those_of_the_bank(tables):
    config = dataclasses.replace(SMALL, trainings=False)
    bank_tables = {name: table.copy() for name, table in tables.items()}
    bank_tables["pilots"]["after"] = -1.0
    new: dict[str, list] = {}
    for number, cell in enumerate(cells(config)):
        result = measure_cell(config, cell, CellContext(seed=number, run_seed=0, device="cpu"))
        assert set(result) == {"pilots", "advice", "seconds"}
        for name, part in result.items():
            new.setdefault(name, []).extend(cell | row for row in part)
    renewed = _with_forecasts(bank_tables, {name: pd.DataFrame(rows) for name, rows in new.items()})
    columns = [*CASE, "cost", "kind", "position", "after"]
    pd.testing.assert_frame_equal(
        renewed["pilots"][columns].sort_values(columns, ignore_index=True),
        tables["pilots"][columns].sort_values(columns, ignore_index=True),
    )
    assert renewed["remedies"]["forecast"].to_list() == pytest.approx(
        tables["remedies"]["forecast"].to_list()
    )
    assert renewed["trained"] is bank_tables["trained"]
    assert judge_claims(config, renewed) == draw_plots(config, renewed) == []


def test_nearest_neighbours_are_those_of_all_distances():
    config = Bank(mnist="sample")
    asked = bank_question(
        config, {"data": "points", "action": "C8", "coverage": "half", "samples": 6}, seed=1
    )
    samples = forecast_samples(asked, 0)
    design = true_designs(samples, asked.group)[0]
    result = class_scores(nearest_neighbours(samples, [design], torch.device("cpu")))
    known, new = samples.known, samples.new
    points, labels = known.points[design.seen].flatten(1), known.positions[design.seen.nonzero()[:, 0]]
    for position in (0, 1):
        mine = new.points[new.positions == position][:, design.missing[position]].flatten(0, 1).flatten(1)
        guessed = labels[torch.cdist(mine.double(), points.double()).argmin(1)]
        assert float(result[position]) == pytest.approx(float((guessed == position).double().mean()))
    assert result[2:].isnan().all()


def test_figures_of_merit_of_numbers_made_up_by_hand():
    first = dict.fromkeys(CASE, "a") | {"forecast": 0.4, "low": 0.3, "high": 0.6, "position": 0}
    rows = pd.DataFrame(
        [
            first | {"accuracy": 0.5, "second_accuracy": 0.7},
            first
            | {
                "position": 1,
                "forecast": 0.9,
                "low": 0.8,
                "high": 1.0,
                "accuracy": 0.9,
                "second_accuracy": 0.9,
            },
            first
            | {
                "data": "b",
                "forecast": 0.2,
                "low": 0.1,
                "high": 0.25,
                "accuracy": 0.3,
                "second_accuracy": 0.2,
            },
        ]
    )
    one = merit(rows)
    assert one.error == pytest.approx(((0.2 + 0.0) / 2 + 0.05) / 2)  # cases count once
    assert one.floor == pytest.approx(((0.2 + 0.0) / 2 + 0.1) / 2)
    assert one.covered == pytest.approx(4 / 6)
    assert one.ranks == pytest.approx(1.0)
    assert math.isnan(merit(rows.drop(columns=["low", "high"])).covered)


def test_a_decision_is_right_to_within_the_noise_floor():
    case = dict.fromkeys(CASE, "a")
    remedies = pd.DataFrame(
        [
            case | {"remedy": "nothing", "forecast": 0.2, "accuracy": 0.3},
            case | {"remedy": "augment", "forecast": 0.9, "accuracy": 0.85},
            case | {"remedy": "average", "forecast": 0.8, "accuracy": 0.9},
        ]
    )
    for gap, right in ((0.06, True), (0.04, False)):
        trained = pd.DataFrame([case | {"kind": "new", "accuracy": 0.3, "second_accuracy": 0.3 + gap}])
        row = decisions({"remedies": remedies, "trained": trained}).iloc[0]
        assert (row["advised"], row["best"], row["right"]) == ("augment", "average", right)
