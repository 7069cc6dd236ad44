"""The learned experiments at tiny sizes: tables, figures, claims; and verdicts that follow the numbers."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
import torch

from symscope.errors import InputError
from symscope.experiments import Place, Verdict, request, run
from symscope.experiments.discovery.data_dependent import skip, tanh_deep
from symscope.experiments.discovery.homogeneous import homogeneous
from symscope.experiments.discovery.learned_claims import drift_claims
from symscope.experiments.discovery.learned_runs import LearnedRun, largest_angle, matrix_angle, run_cells
from symscope.experiments.discovery.scalar_linear import scalar_linear
from symscope.experiments.discovery.small_networks import KeptAction, action_builder, small_problem
from symscope.experiments.outcome import tables_of
from symscope.experiments.store import RunFolder

TINY = ["seeds=2", "steps=4", "samples=30", "minibatch=8", "points=2", "flow_steps=1"]


@pytest.mark.parametrize("experiment", [scalar_linear, skip], ids=lambda e: e.id.partition("/")[2])
def test_runs_from_cells_to_figures(experiment, tmp_path):
    [outcome] = run([request(experiment.id, changes=TINY, device="cpu")], tmp_path, Place(workers=0))
    assert outcome.failed == 0
    assert outcome.problems == ()
    assert len(outcome.claims) >= 4
    tables = tables_of(RunFolder(outcome.folder))
    config = replace(experiment.presets["quick"].config, seeds=2)
    cells = len(run_cells(config))
    generators = int(tables["fields"]["generator"].max()) + 1
    assert len(tables["fields"]) == cells * 2 * generators
    assert ("angles" in tables) is not config.dependent
    assert len(list((outcome.folder / "figures").glob("*.png"))) == 3


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
    assert {claim.verdict for claim in good} == {Verdict.REPRODUCED}
    bad = fields.assign(drift_ratio=0.5, data_dependence=0.01, share_W2=0.5, other_data_drift=1e-6)
    assert {claim.verdict for claim in tanh_deep.claims(config, {"fields": bad})} == {Verdict.NOT_REPRODUCED}
    assert len(skip.claims(config, {"fields": fields})) == len(good) - 2
    assert [c.verdict for c in drift_claims({"fields": bad}, "Fig. 3", "Fields")] == [
        Verdict.NOT_REPRODUCED
    ] * 3


def test_angles_decide_the_claims_of_fig_5(fields):
    config = replace(homogeneous.presets["quick"].config, networks=("ReLU 2-2-2",))
    cells = [("scale-free", "network"), ("paper", "network"), ("paper", "linear")]
    angles = pd.DataFrame(
        [
            {
                "network": "ReLU 2-2-2",
                "objective": objective,
                "action": action,
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
    assert set(verdicts) == {Verdict.REPRODUCED}
    worse = angles.assign(median_angle=40.0, matrix_angle=40.0)
    verdicts = [c.verdict for c in homogeneous.claims(config, {"fields": table, "angles": worse})]
    assert verdicts[:3] == [Verdict.NOT_REPRODUCED] * 3


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


def test_an_action_without_w2_leaves_w2_alone():
    made = small_problem("tanh 2-2-2-1")
    action = action_builder("without W2", made, 3)(0).double()
    assert isinstance(action, KeptAction)
    theta = made.sample(4, 1, seed=0).theta
    g = torch.eye(10, dtype=torch.float64) + 0.3
    moved = action(g, theta, torch.ones(4, 3, dtype=torch.float64))
    where = made.layout.indices("W2.weight").flatten()
    assert torch.equal(moved[:, where], theta[:, where])
    assert not torch.equal(moved, theta)


def test_the_skip_connection_is_there():
    plain, skipped = small_problem("tanh 2-2-2-1"), small_problem("tanh 2-2-2-1 with skip")
    theta = plain.sample(1, 1, seed=0).theta[0]
    W = plain.layout.named(theta)
    x = torch.tensor([[0.3, -0.7]], dtype=torch.float64)
    first = torch.tanh(x @ W["W1.weight"].T)
    second = torch.tanh(first @ W["W2.weight"].T)
    torch.testing.assert_close(plain.outputs(theta, x), second @ W["W3.weight"].T)
    torch.testing.assert_close(skipped.outputs(theta, x), (second + first) @ W["W3.weight"].T)


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="network: unknown 'sigmoid'"):
        LearnedRun(("sigmoid",))
    with pytest.raises(InputError, match="objectives: expected 'paper' and 'scale-free'"):
        LearnedRun(("linear 1-1-1",), objectives=("mine",))
    with pytest.raises(InputError, match="expected at least 1"):
        LearnedRun(("linear 1-1-1",), seeds=0)
    with pytest.raises(InputError, match="action: unknown 'lineal'; did you mean 'linear'"):
        action_builder("lineal", small_problem("linear 1-1-1"), 0)
