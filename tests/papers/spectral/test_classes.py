"""`spectral/classes`: every method against the plain way, and who is trained on what."""

from __future__ import annotations

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.data import mnist_sample, rotation
from symscope.runs import ClaimKind, RunRequest, Workers, run_experiments
from symscope.runs._registry import find_experiment
from symscope.runs._settings import replace_fields
from symscope.spectral import class_masks
from symscope.spectral.circulant import circulant_row, circulant_spectrum, spectral_error
from symscope.spectral.dense import regression
from symscope.training.points import stored_orbits
from symscope_papers.spectral.classes.claims import half_way, judge_claims, mean_accuracy
from symscope_papers.spectral.classes.config import Classes
from symscope_papers.spectral.classes.measure import (
    cells,
    copy_masks,
    dense_predictions,
    kernel_rows,
    trained_network,
)
from symscope_papers.spectral.wide_networks import section_kernels
from tests.tolerances import DENSE_PREDICTION

SMALL = ("angles=2,4", "seeds=2", "trials=2", "left_out=3,8", "epochs=2", "batch=64")


@pytest.fixture(scope="module")
def problem():
    data = mnist_sample().per_class(2, seed=5)
    action = rotation(4)
    points = stored_orbits(data.x, action, torch.float64, torch.device("cpu"))
    return data, action.group, points, section_kernels("app-b3").ntk(points.points.flatten(1))


def test_regression_and_its_group_form_are_regression_solved_the_plain_way(problem):
    data, group, points, gram = problem
    labels = torch.nn.functional.one_hot(data.labels, 10).double()
    masks = class_masks(data.labels, group)
    result = dense_predictions(gram, labels, masks, group, 0.0)
    shares = {}
    for label in range(10):
        missing = masks[label].flatten().nonzero()[:, 0]
        plain = regression(gram, labels.repeat_interleave(4, 0), missing, 0.0)
        assert (result[label] - plain).abs().max() < DENSE_PREDICTION
        shares[label] = float((plain.argmax(1) == label).double().mean())
    rows, agreed = kernel_rows(points, data.labels, group, Classes(left_out=(0, 3, 8), seeds=2))
    for row in rows:
        if row["method"] in ("regression", "group form"):
            assert row["accuracy"] == shares[row["left_out"]]
    assert agreed["largest_difference"] < DENSE_PREDICTION
    assert agreed["departure"] < 1e-12


def test_the_rule_is_the_papers_own_on_every_pair(problem):
    data, group, points, gram = problem
    order = torch.arange(8).reshape(2, 4).T.flatten()  # interleaved
    correct = []
    for s in range(20):
        wins = []
        for other in set(range(10)) - {int(data.labels[s])}:
            values = []
            for t in (data.labels == other).nonzero()[:, 0].tolist():
                own = torch.cat([torch.arange(4 * s, 4 * s + 4), torch.arange(4 * t, 4 * t + 4)])[order]
                values.append(
                    1 - float(spectral_error(circulant_spectrum(circulant_row(gram[own][:, own])), 0.0))
                )
            wins.append(sum(values) / len(values) > 0)
        correct.append(all(wins))
    rows, _ = kernel_rows(points, data.labels, group, Classes(seeds=2))
    for row in rows:
        if row["method"] == "rule":
            own = (data.labels == row["left_out"]).nonzero()[:, 0].tolist()
            assert row["accuracy"] == sum(correct[s] for s in own) / 2


def test_a_copy_sees_its_own_trial_less_the_upright_images_of_its_class():
    labels = torch.tensor([3, 3, 3, 5, 5, 5] * 2)  # two trials of two orbits of three points
    seen, out = copy_masks(labels, 2, 3, [(0, 5), (1, 3)])
    assert out.int().tolist() == [[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]]
    assert seen.int().tolist() == [[1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]]


def test_a_small_run_is_complete_and_trials_do_not_depend_on_what_is_trained_together(tmp_path):
    alone = RunRequest.of("spectral/classes", changes=SMALL, device="cpu")
    both = RunRequest.of("spectral/classes", changes=[*SMALL, "together=2"], device="cpu")
    outcomes = [
        outcome for one in (alone, both) for outcome in run_experiments([one], tmp_path, Workers(processes=0))
    ]
    assert [(outcome.failed, outcome.problems) for outcome in outcomes] == [(0, ())] * 2
    tables = [outcome.tables()["accuracy"] for outcome in outcomes]
    keys = ["angles", "trial", "left_out", "method"]
    for table in tables:
        assert len(table) == 2 * 2 * 2 * 7  # angles, trials, left-out classes, methods
        assert not table.duplicated(keys).any()
    kernels = [
        table[~table["method"].str.startswith("trained")].sort_values(keys)["accuracy"].tolist()
        for table in tables
    ]
    assert kernels[0] == kernels[1]
    claims = outcomes[0].claims
    assert all(claim.quote for claim in claims if claim.kind is ClaimKind.STATED)
    assert claims[-2].measured < DENSE_PREDICTION
    assert {path.name for path in (outcomes[0].folder / "figures").glob("*.png")} == {
        "accuracy.png",
        "digits.png",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("angles=1,2", "angles: expected 2 or more"),
        ("angles=4,4", "angles: expected .* different values"),
        ("left_out=10", "left_out: expected numbers from 0 to 9"),
        ("seeds=0", "seeds: expected 1 or more"),
        ("together=0", "together: expected 1 or more"),
        ("ridge=-1", "ridge: expected 0 or more"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        RunRequest.of("spectral/classes", changes=[change])


def test_mnist_that_is_not_there_is_told_before_anything_runs(tmp_path):
    config = replace_fields(
        find_experiment("spectral/classes").presets["paper"].config, [f"mnist={tmp_path / 'absent'}"]
    )
    with pytest.raises(InputError, match=r"needs all of MNIST, which is not in .*absent"):
        cells(config)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_gives_the_accuracies_of_a_cpu(problem):
    data, group, points, _ = problem
    config = Classes(seeds=2)
    here, _ = kernel_rows(points, data.labels, group, config)
    there, agreed = kernel_rows(points.to(torch.device("cuda")), data.labels.cuda(), group, config)
    assert here == there
    assert agreed["largest_difference"] < DENSE_PREDICTION


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_compiled_networks_of_several_trials_train_on_a_gpu(tmp_path):
    changes = [*SMALL, "together=2", "compiled=true"]
    [outcome] = run_experiments(
        [RunRequest.of("spectral/classes", changes=changes, device="cuda")], tmp_path, Workers(processes=0)
    )
    assert (outcome.failed, outcome.problems) == (0, ())


def tables(trained=(0.1, 0.3, 0.9), rule=(0.0, 0.2, 0.95), other=None, gap=1e-12, angles=(4, 8, 16)):
    curves = {
        "trained": trained,
        "rule": rule,
        "rule, NNGP": other or rule,
        "regression": rule,
        "regression, NNGP": rule,
        "group form": rule,
        "trained, on training points": (1.0, 0.99, 0.98)[: len(angles)],
    }
    rows = [
        {"angles": n, "trial": trial, "left_out": 3, "method": method, "accuracy": value}
        for method, values in curves.items()
        for n, value in zip(angles, values, strict=True)
        for trial in (0, 1)
    ]
    agreement = [{"angles": n, "trial": 0, "largest_difference": gap, "departure": 0.0} for n in angles]
    return {"accuracy": pd.DataFrame(rows), "agreement": pd.DataFrame(agreement)}


def verdicts(**changes):
    claims = judge_claims(Classes(), tables(**changes))
    return [claim.verdict.value for claim in claims if claim.verdict is not None]


def test_half_way_is_where_the_line_between_two_points_crosses_one_half():
    assert half_way([2, 4, 16], [0.0, 0.25, 0.75]) == 3.0
    assert half_way([2, 4], [0.6, 0.9]) is None
    assert half_way([2, 4], [0.1, 0.4]) is None


def test_the_error_is_that_of_the_mean_over_trials_of_means_over_digits():
    values = {(0, 3): 0.0, (0, 7): 0.4, (1, 3): 0.6, (1, 7): 1.0}
    rows = [
        {"angles": 8, "trial": t, "left_out": c, "method": "rule", "accuracy": a}
        for (t, c), a in values.items()
    ]
    [[_, mean, error]] = mean_accuracy(pd.DataFrame(rows), "rule").to_numpy().tolist()
    assert mean == pytest.approx(0.5)
    assert error == pytest.approx(0.3)  # of 0.2 and 0.8


def test_a_rule_that_rises_with_trained_networks_matches_them():
    assert verdicts() == ["holds", "holds", "not testable as written"]
    assert verdicts(rule=(0.95, 0.2, 0.0))[0] == "contradicted"
    assert verdicts(trained=(0.9, 0.3, 0.1))[0] == "contradicted"
    assert verdicts(other=(0.95, 0.2, 0.0))[:2] == ["holds", "contradicted"]
    assert verdicts(trained=(0.1, 0.9), rule=(0.1, 0.9), angles=(4, 16))[0] == "not checked at this size"


def test_measurements_are_those_of_the_tables():
    claims = judge_claims(Classes(), tables(trained=(0.0, 0.25, 0.75), gap=1e-6))
    shown = [claim.measured_text for claim in claims if claim.kind is not ClaimKind.STATED]
    assert shown[0].startswith("0.00 ± 0.00 at n = 4, 0.25 ± 0.00 at n = 8, 0.75")
    assert shown[2] == "0.2"
    assert shown[3].endswith("against 11.3")
    assert "1e-06" in shown[6]
    [without] = [c for c in judge_claims(Classes(), tables(angles=(8, 16, 32))) if "2 and 4" in c.statement]
    assert without.measured == "no such number of angles"


def test_the_scripts_weights_are_uniform_up_to_the_outputs():
    net = trained_network("scripts", seed=3)
    first = [layer for layer in net if hasattr(layer, "b_std")]
    for layer, outputs in zip(first, (512, 128, 10), strict=True):
        assert 0.9 < float(layer.weight.detach().abs().max()) * outputs**0.5 < 1 + 1e-6
    x = torch.randn(2, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    assert net.eval()(x).shape == (2, 10)
