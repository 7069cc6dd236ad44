"""The learned experiments at tiny sizes: tables, figures, claims; and verdicts that follow the numbers."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
import torch

from symscope.errors import InputError
from symscope.runs import CellContext, Verdict
from symscope_papers.discovery.learned import homogeneous, scalar_linear, skip, tanh_deep
from symscope_papers.discovery.learned.claims import drift_claims
from symscope_papers.discovery.learned.config import LearnedRun
from symscope_papers.discovery.learned.measure import cells, largest_angle, likeness, matrix_angle
from symscope_papers.discovery.learned.networks import KeptAction, action_builder, small_problem
from tests.papers.discovery.gathered import gathered

TINY = {"seeds": 2, "steps": 2, "samples": 20, "minibatch": 8, "points": 2, "flow_steps": 1}


@pytest.mark.parametrize("experiment", [scalar_linear, skip], ids=lambda e: e.id.partition("/")[2])
def test_runs_from_cells_to_figures(experiment):
    config = replace(experiment.presets["quick"].config, **TINY)
    tables = gathered(experiment, config)
    assert len(experiment.claims(config, tables)) >= 4
    count = len(cells(config))
    generators = int(tables["fields"]["generator"].max()) + 1
    assert len(tables["fields"]) == count * 2 * generators
    assert ("angles" in tables) is not config.dependent
    plots = experiment.plot(config, tables)
    assert [plot.name.partition("-")[0] for plot in plots] == ["generators", "curves", "drift"]
    assert all(plot.figure.axes for plot in plots)


def test_pointwise_sees_eight_data_points_and_gives_angles():
    config = replace(homogeneous.presets["quick"].config, networks=("linear 1-2-1",), **TINY)
    cell = {"network": "linear 1-2-1", "objective": "pointwise", "action": "network"}
    assert cell in cells(config)
    [first, second] = homogeneous.measure(config, cell, CellContext(1, 0, "cpu"))["angles"]
    for row in (first, second):
        assert 0 <= float(row["field_angle"]) <= float(row["median_angle"]) + 1e-9 <= 90 + 1e-9
        assert 0 < float(row["alike"]) < 1


@pytest.fixture(scope="module")
def fields():
    rows = [
        {
            "network": "tanh 2-2-2-1",
            "objective": objective,
            "action": action,
            "seed": 0,
            "generator": number,
            "drift_ratio": 0.05,
            "judgement": "SYMMETRY",
            "length": 0.9,
            "derivative": 0.01,
            "data_dependence": 0.5,
            "other_data_drift": 0.2,
            "share_W1": 0.6,
            "share_W2": 0.05,
            "share_W3": 0.35,
        }
        for objective, action in (
            ("scale-free", "network"),
            ("scale-free", "without W2"),
            ("paper", "network"),
        )
        for number in range(3)
    ]
    return pd.DataFrame(rows)


def test_verdicts_follow_the_numbers(fields):
    config = tanh_deep.presets["quick"].config
    good = tanh_deep.claims(config, {"fields": fields})
    assert {claim.verdict for claim in good} == {Verdict.HOLDS}
    bad = fields.assign(drift_ratio=0.5, data_dependence=0.01, share_W2=0.5, other_data_drift=1e-6)
    assert {claim.verdict for claim in tanh_deep.claims(config, {"fields": bad})} == {Verdict.CONTRADICTED}
    assert len(skip.claims(config, {"fields": fields})) == len(good) - 2
    assert [c.verdict for c in drift_claims({"fields": bad}, "Fig. 3", "Fields")] == [
        Verdict.CONTRADICTED
    ] * 3


def test_angles_decide_the_claims_of_fig_5(fields):
    config = replace(homogeneous.presets["quick"].config, networks=("ReLU 2-2-2",))
    cells = [(name, "network") for name in config.objectives] + [("paper", "linear")]
    angles = pd.DataFrame(
        [
            {
                "network": "ReLU 2-2-2",
                "objective": objective,
                "action": action,
                "field_angle": 2.0,
                "random_field_angle": 60.0,
                "alike": 0.1,
                "median_angle": 3.0,
                "random_angle": 70.0,
                "exact_dimension": 2,
                "matrix_angle": 4.0 if action == "linear" else None,
            }
            for objective, action in cells
        ]
    )
    table = pd.concat([fields[fields["action"] == "network"]] * 1)
    verdicts = [c.verdict for c in homogeneous.claims(config, {"fields": table, "angles": angles})]
    assert set(verdicts) == {Verdict.HOLDS}
    worse = angles.assign(median_angle=40.0, matrix_angle=40.0)
    verdicts = [c.verdict for c in homogeneous.claims(config, {"fields": table, "angles": worse})]
    fails, passes = Verdict.CONTRADICTED, Verdict.HOLDS
    assert verdicts[:7] == [passes, fails, passes, fails, passes, fails, fails]
    verdicts = [
        c.verdict
        for c in homogeneous.claims(config, {"fields": table, "angles": angles.assign(field_angle=40.0)})
    ]
    assert verdicts[:7] == [fails, passes, fails, passes, fails, passes, passes]


def test_angles_are_those_between_planes():
    tilt = torch.tensor(0.3, dtype=torch.float64)
    outer = torch.eye(4, dtype=torch.float64)[:, :2]
    inner = torch.stack(
        [torch.cos(tilt) * outer[:, 0] + torch.sin(tilt) * torch.eye(4).double()[:, 3], outer[:, 1]], 1
    )
    assert abs(float(matrix_angle(inner, outer)) - float(torch.rad2deg(tilt))) < 1e-10
    assert float(matrix_angle(3 * outer[:, :1], torch.cat([outer, outer], 1))) < 1e-6  # repeated columns
    both = largest_angle(inner.T[:, None, :], outer.T[:, None, :])
    assert abs(float(both[0]) - float(torch.rad2deg(tilt))) < 1e-10


def test_a_field_and_a_function_times_it_lie_in_the_orbit_but_are_alike():
    one = torch.tensor([[1.0, 2.0, 0.0], [0.5, -1.0, 0.0]], dtype=torch.float64)
    fields = torch.stack([one, torch.tensor([[3.0], [-0.2]], dtype=torch.float64) * one])
    assert torch.allclose(likeness(fields), torch.ones(2, dtype=torch.float64))
    noisy = fields + 1e-6 * torch.tensor([[[0.0, 0.0, 1.0]], [[0.0, 0.0, -1.0]]], dtype=torch.float64)
    plane = torch.eye(3, dtype=torch.float64)[:2, None].expand(2, 2, 3)
    assert float(largest_angle(noisy[:1], plane).max()) < 1e-3
    assert float(largest_angle(noisy, plane).min()) > 89


def test_an_action_without_w2_leaves_w2_alone():
    made = small_problem("tanh 2-2-2-1")
    action = action_builder("without W2", made, 3)(0).double()
    assert isinstance(action, KeptAction)
    theta = made.random_points(4, 1, seed=0).theta
    g = torch.eye(10, dtype=torch.float64) + 0.3
    moved = action(g, theta, torch.ones(4, 3, dtype=torch.float64))
    where = made.layout.indices("W2.weight").flatten()
    assert torch.equal(moved[:, where], theta[:, where])
    assert not torch.equal(moved, theta)


def test_the_skip_connection_is_there():
    plain, skipped = small_problem("tanh 2-2-2-1"), small_problem("tanh 2-2-2-1 with skip")
    theta = plain.random_points(1, 1, seed=0).theta[0]
    W = plain.layout.named(theta)
    x = torch.tensor([[0.3, -0.7]], dtype=torch.float64)
    first = torch.tanh(x @ W["W1.weight"].T)
    second = torch.tanh(first @ W["W2.weight"].T)
    torch.testing.assert_close(plain.outputs(theta, x), second @ W["W3.weight"].T)
    torch.testing.assert_close(skipped.outputs(theta, x), (second + first) @ W["W3.weight"].T)


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="network: unknown 'sigmoid'"):
        LearnedRun(("sigmoid",))
    with pytest.raises(InputError, match="objectives: unknown"):
        LearnedRun(("linear 1-1-1",), objectives=("mine",))
    with pytest.raises(InputError, match="no 'pointwise' where actions see the data"):
        LearnedRun(("sigmoid 3-3-1",), ("pointwise",), dependent=True)
    with pytest.raises(InputError, match="expected 1 or more"):
        LearnedRun(("linear 1-1-1",), seeds=0)
    with pytest.raises(InputError, match="action: unknown 'lineal'; did you mean 'linear'"):
        action_builder("lineal", small_problem("linear 1-1-1"), 0)
