"""Forecasts in a budget: cases and what they are made of, figures of merit, and one small run."""

from __future__ import annotations

import dataclasses
import math

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.forecasting.methods import as_question
from symscope.groups import cyclic
from symscope.networks import arrange_inputs, user_model
from symscope.runs import CellContext
from symscope_papers.forecast.bank.config import Bank
from symscope_papers.forecast.bank.measure import bank_question
from symscope_papers.forecast.bank.networks import NETWORKS as BANK_NETWORKS
from symscope_papers.forecast.bank.scores import CASE
from symscope_papers.forecast.budgets import budgets
from symscope_papers.forecast.budgets.claims import judge_claims
from symscope_papers.forecast.budgets.config import HELD_OUT, budget_cases
from symscope_papers.forecast.budgets.data import case_action, case_data
from symscope_papers.forecast.budgets.figures import draw_plots
from symscope_papers.forecast.budgets.kinds import MOTIFS, NODES, PLANTED, TEXTURES, motif, motif_graphs
from symscope_papers.forecast.budgets.measure import cells, measure_cell
from symscope_papers.forecast.budgets.networks import NETWORKS, user_network
from symscope_papers.forecast.budgets.row_networks import CausalBlock
from symscope_papers.forecast.budgets.scores import budget_merits
from symscope_papers.forecast.budgets.set_networks import EdgeConvolutions
from symscope_papers.forecast.budgets.strokes import LETTERS, WIRES, letter_points
from symscope_papers.forecast.coverages import case_coverage

SMALL = dataclasses.replace(budgets.presets["quick"].config, steps=60, samples=8)


def tables_of(config):
    """The tables of a run, as the engine puts them together."""
    rows: dict[str, list] = {}
    for number, cell in enumerate(cells(config)):
        result = measure_cell(config, cell, CellContext(seed=number, run_seed=0, device="cpu"))
        for name, part in result.items():
            rows.setdefault(name, []).extend(dict(cell) | row for row in part)
    return {name: pd.DataFrame(part) for name, part in rows.items() if part}


@pytest.fixture(scope="module")
def tables():
    return tables_of(SMALL)


def test_a_small_run_has_trainings_and_forecasts_in_each_budget(tables):
    assert set(tables) == {"cases", "trained", "asked", "forecasts"}
    assert len(tables["cases"]) == 2
    assert len(tables["asked"]) == 2 * len(SMALL.shares)
    spent = tables["asked"].merge(tables["cases"], on=CASE)
    assert spent["budget"].to_list() == pytest.approx((spent["share"] * spent["whole_seconds"]).to_list())
    rows = tables["forecasts"]
    assert (rows["low"] <= rows["forecast"] + 1e-9).all()
    assert (rows["forecast"] <= rows["high"] + 1e-9).all()
    trained = tables["trained"]
    assert trained["first_accuracy"].between(0, 1).all()
    assert (tables["cases"]["first_fitted"] != tables["cases"]["second_fitted"]).all()  # another seed


def test_claims_and_figures_follow_from_the_tables(tables):
    claims = judge_claims(SMALL, tables)
    assert {one.statement.partition(" cases")[0] for one in claims} == {"All"}
    assert all(one.measured is not None for one in claims)
    plots = draw_plots(SMALL, tables)
    assert [one.name for one in plots] == ["scatter", "where"]
    assert all(axes.get_xlabel() for one in plots for axes in one.figure.axes)


def test_budgets_that_are_refused_are_kept_with_the_reason():
    config = dataclasses.replace(SMALL, shares=(0.001,), networks=("set-transformer",), data=("points",))
    refused = tables_of(config)
    assert set(refused) == {"cases", "trained", "asked"}
    assert (refused["asked"]["method"] == "refused").all()
    assert refused["asked"]["refused"].str.contains("got a budget of").all()
    assert judge_claims(config, refused) == draw_plots(config, refused) == []


def test_figures_of_merit_of_numbers_made_up_by_hand():
    """Two cases in 10 % of the time, a third refused; the held-out one alone."""
    first = dict.fromkeys(CASE, "a") | {"held_out": False, "share": 0.1, "position": 0}
    second = first | {"network": "b", "held_out": True}
    third = first | {"network": "c"}
    forecast = {"method": "pilot", "forecast": 0.5, "low": 0.4, "high": 0.6}
    accuracy = {"first_accuracy": 0.7, "second_accuracy": 0.6, "other_accuracy": 0.3}
    tables = {
        "forecasts": pd.DataFrame([first | forecast, second | forecast | {"forecast": 0.65, "high": 0.8}]),
        "trained": pd.DataFrame([one | accuracy for one in (first, second, third)]).drop(columns="share"),
        "asked": pd.DataFrame(
            [
                first | {"method": "pilot", "seconds": 2.0, "budget": 1.0, "steps_share": 0.04},
                second | {"method": "kernel", "seconds": 1.0, "budget": 1.0, "steps_share": 0.0},
                third | {"method": "refused", "seconds": 0.1, "budget": 1.0},
            ]
        ),
    }
    one = budget_merits(tables)[0.1]
    assert one.merit.error == pytest.approx(((0.2 + 0.1) / 2 + 0.05) / 2)
    assert one.merit.floor == pytest.approx(0.1)
    assert one.other_floor == pytest.approx(0.4)
    assert one.merit.covered == pytest.approx(3 / 4)
    assert (one.asked, one.refused, one.kernel) == (3, 1, 1)
    assert (one.time, one.longest, one.pilots) == (1.5, 2.0, 0.04)
    held_out = budget_merits(tables, "held out")[0.1]
    assert held_out.merit.error == pytest.approx(0.05)
    assert (held_out.asked, held_out.refused) == (1, 0)
    words = [claim.why for claim in judge_claims(SMALL, tables)]
    assert words[0].startswith("Came out.")  # 0.05 / 0.1, held out
    assert words[4].startswith("Came out.")  # 1 of all
    assert words[6].startswith("Did not come out.")  # intervals hold 3 of 4


def test_the_list_of_cases_says_what_is_held_out_and_has_new_networks():
    cases = budget_cases()
    assert len({tuple(case[name] for name in CASE) for case in cases}) == len(cases) == 66
    assert not set(NETWORKS) & set(BANK_NETWORKS)
    assert {case["network"] for case in cases} == set(NETWORKS)
    for case in cases:
        assert case["held_out"] is (case["network"] in HELD_OUT)
        low, high = {"seconds": (40, 400), "minutes": (300, 800)}[case["length"]]
        assert low <= case["samples"] <= high
    held_out = [case["data"] for case in cases if case["held_out"] and case["length"] == "seconds"]
    assert len(held_out) == 15
    assert {"letters", "waves", "letter-points", "wires"} <= set(held_out)


@pytest.mark.parametrize(
    "case", budget_cases(), ids=lambda case: "-".join(str(case[name]) for name in CASE[:4])
)
def test_every_case_can_be_asked_and_its_network_is_drawn_from_the_seed(case):
    if case["data"] in ("digits", "noisy", "large-digits"):
        pytest.importorskip("sklearn")
    known, new = case_data(case["data"], 3, seed=2)
    assert float(torch.cdist(known.x.flatten(1).double(), new.x.flatten(1).double()).min()) > 0
    action = case_action(case["data"], case["action"], tuple(known.x.shape[1:]))
    asked = as_question(
        known, action, new=new, **case_coverage(case["coverage"], known.classes, action.group)
    )
    assert (asked.coverage is None) is (case["coverage"] == "one")
    model = user_model(user_network(case["network"], asked.shape, asked.outputs), asked.shape, asked.outputs)
    x = arrange_inputs(known.x[:3].double(), model.layout)
    one, same, other = (model.builder(seed).eval() for seed in (1, 1, 2))
    assert one(x).shape == (3, asked.outputs)
    assert torch.equal(one(x), same(x))
    assert not torch.equal(one(x), other(x))


@pytest.mark.parametrize("coverage", ["one", "half", "gap", "once"])
@pytest.mark.parametrize(("data", "action"), [("pulses", "shift"), ("points", "C8")])
def test_coverage_is_that_of_the_bank(coverage, data, action):
    cell = {"data": data, "action": action, "coverage": coverage, "samples": 5}
    theirs = bank_question(Bank(mnist="sample"), cell, seed=0)
    known, new = case_data(data, 5, seed=0)
    acting = case_action(data, action, tuple(known.x.shape[1:]))
    ours = as_question(known, acting, new=new, **case_coverage(coverage, known.classes, acting.group))
    assert ours.group.order == theirs.group.order
    assert torch.equal(ours.data.x, theirs.data.x)
    if theirs.coverage is None:
        assert ours.coverage is None
    else:
        assert torch.equal(ours.coverage.seen, theirs.coverage.seen)


def test_letters_are_upright_and_the_same_as_points():
    """The mean T has its ink in the top row and the middle column; so have its points."""
    images, _ = case_data("letters", 60, seed=1)
    mean = images.x[images.labels == list(LETTERS).index("T")].mean(0)
    assert float(mean[2:5].sum()) > 2 * float(mean[11:14].sum())
    assert float(mean[:, 7:9].mean()) > 2 * float(mean[:, :4].mean())
    points = letter_points(60, seed=1)
    x, y = points.x[points.labels == list(LETTERS).index("L")].flatten(0, 1).unbind(1)
    assert float(((x < -0.2) | (y < -0.6)).double().mean()) > 0.95


def test_screws_are_mirror_images():
    data, _ = case_data("wires", 200, seed=3)
    middle = [
        data.x[data.labels == list(WIRES).index(f"{side} screw")].mean((0, 1)) for side in ("right", "left")
    ]
    torch.testing.assert_close(middle[0][:2], middle[1][:2], rtol=0, atol=0.05)
    assert float(middle[0][2]) == pytest.approx(1 / 6, abs=0.05)
    assert float(middle[1][2]) == pytest.approx(-1 / 6, abs=0.05)


def test_textures_have_their_wavelengths():
    """Stripes of 4 pixels: four in an image, across it and not down."""
    data, _ = case_data("textures", 60, seed=4)
    for kind, count in (("stripes", 4), ("broad stripes", 3)):
        spectrum = torch.fft.rfft2(data.x[data.labels == TEXTURES.index(kind)]).abs().mean(0)
        spectrum[0, 0] = 0
        assert divmod(int(spectrum.argmax()), spectrum.shape[1]) == (0, count)


def test_the_second_channel_of_waves_is_late_or_early():
    data, _ = case_data("waves", 100, seed=5)
    first, second = data.x.unbind(1)
    lag = (first[:, :-1] * second[:, 1:]).sum(1) - (first[:, 1:] * second[:, :-1]).sum(1)
    late = data.labels % 2 == 0
    assert float((lag[late] > 0).double().mean()) > 0.95
    assert float((lag[~late] < 0).double().mean()) > 0.95


def test_motifs_are_between_the_first_nodes():
    data = motif_graphs(200, seed=6)
    assert torch.equal(data.x, data.x.mT)
    for k, kind in enumerate(MOTIFS):
        mean = data.x[data.labels == k].mean(0)
        torch.testing.assert_close(mean[:PLANTED, :PLANTED], motif(kind), rtol=0, atol=0.05)
        others = mean[PLANTED:, PLANTED:].sum() / ((NODES - PLANTED) * (NODES - PLANTED - 1))
        assert float(others) == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("name", ["set-transformer", "set-max", "edge-conv"])
def test_networks_of_sets_do_not_mind_the_order_of_points(name):
    module = user_network(name, (12, 3), 5)(0).double().eval()
    x = torch.randn(4, 12, 3, dtype=torch.float64)
    torch.testing.assert_close(module(x), module(x[:, torch.randperm(12)]), rtol=0, atol=1e-12)


def test_the_graph_network_minds_the_numbers_of_nodes():
    module = user_network("max-gnn", (10, 10), 5)(0).double()
    a = motif_graphs(2, seed=7).x
    order = cyclic(10).permutations[3]
    assert not torch.allclose(module(a), module(a[:, order][:, :, order]), atol=1e-3)


def test_edges_go_to_the_nearest_points():
    module = EdgeConvolutions(2, 3, nearest=2).double()
    x = torch.randn(1, 6, 2, dtype=torch.float64)
    far = torch.cdist(x, x)[0]
    wanted = []
    for i in range(6):
        near = sorted((j for j in range(6) if j != i), key=lambda j: float(far[i, j]))[:2]
        wanted.append(torch.stack([module.edges[0](torch.cat([x[0, i], x[0, j] - x[0, i]])) for j in near]))
    first = torch.stack([one.amax(0) for one in wanted]).relu()
    layers: list[torch.Tensor] = []
    hook = module.edges[1].register_forward_pre_hook(lambda _, inputs: layers.append(inputs[0][0, :, 0, :48]))
    module(x)
    hook.remove()
    torch.testing.assert_close(layers[0], first, rtol=0, atol=1e-12)


def test_temporal_convolutions_see_the_past_only():
    block = CausalBlock(2, 4, dilation=2).eval()
    x = torch.randn(1, 2, 20)
    changed = x.clone()
    changed[:, :, 12:] += 1
    assert torch.equal(block(x)[:, :, :12], block(changed)[:, :, :12])
    assert not torch.equal(block(x)[:, :, 12:], block(changed)[:, :, 12:])


def test_unknown_names_wrong_shapes_and_settings_are_refused():
    with pytest.raises(InputError, match="no 'wave'"):
        case_data("wave", 3, 0)
    with pytest.raises(InputError, match="no 'mixr'"):
        user_network("mixr", (8, 8), 2)
    with pytest.raises(InputError, match="does not take inputs of shape"):
        user_network("tcn", (8, 8), 2)
    with pytest.raises(InputError, match="no 'twice'"):
        case_coverage("twice", (0, 1), cyclic(4))
    with pytest.raises(InputError, match="shares: expected"):
        dataclasses.replace(SMALL, shares=(0.1, math.inf))
