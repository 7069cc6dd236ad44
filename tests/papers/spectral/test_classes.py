"""`spectral/classes`: every method against the plain way, and who is trained on what."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.data import mnist_sample, rotation
from symscope.runs import Place, find, request, run
from symscope.runs._outcome import tables_of
from symscope.runs._settings import changed
from symscope.runs._store import RunFolder
from symscope.spectral import class_masks
from symscope.spectral.circulant import circulant_row, circulant_spectrum, spectral_error
from symscope.spectral.dense import regression
from symscope.training import orbit_points
from symscope_papers.spectral.classes import (
    Classes,
    class_cells,
    copy_masks,
    dense_predictions,
    kernel_rows,
)
from symscope_papers.spectral.rotated_pairs import mlp_kernels
from tests.tolerances import DENSE_PREDICTION

SMALL = ("angles=2,4", "seeds=2", "trials=2", "left_out=3,8", "epochs=2", "batch=64")


@pytest.fixture(scope="module")
def problem():
    data = mnist_sample().per_class(2, seed=5)
    action = rotation(4)
    points = orbit_points(data.x, action, torch.float64, torch.device("cpu"))
    return data, action.group, points, mlp_kernels(2).ntk(points.points.flatten(1))


def test_regression_and_its_group_form_are_regression_solved_the_plain_way(problem):
    data, group, points, gram = problem
    labels = torch.nn.functional.one_hot(data.labels, 10).double()
    masks = class_masks(data.labels, group)
    found = dense_predictions(gram, labels, masks, group, 0.0)
    shares = {}
    for label in range(10):
        missing = masks[label].flatten().nonzero()[:, 0]
        plain = regression(gram, labels.repeat_interleave(4, 0), missing, 0.0)
        assert (found[label] - plain).abs().max() < DENSE_PREDICTION
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
    alone = request("spectral/classes", changes=SMALL, device="cpu")
    both = request("spectral/classes", changes=[*SMALL, "together=2"], device="cpu")
    outcomes = [outcome for one in (alone, both) for outcome in run([one], tmp_path, Place(workers=0))]
    assert [(outcome.failed, outcome.problems) for outcome in outcomes] == [(0, ())] * 2
    tables = [tables_of(RunFolder(outcome.folder))["accuracy"] for outcome in outcomes]
    keys = ["angles", "trial", "left_out", "method"]
    for table in tables:
        assert len(table) == 2 * 2 * 2 * 5  # angles, trials, left-out classes, methods
        assert not table.duplicated(keys).any()
    kernels = [
        table[~table["method"].str.startswith("trained")].sort_values(keys)["accuracy"].tolist()
        for table in tables
    ]
    assert kernels[0] == kernels[1]
    claims = outcomes[0].claims
    assert [claim.verdict.value for claim in claims][4:] == ["reproduced", "reproduced"]
    assert {path.name for path in (outcomes[0].folder / "figures").glob("*.png")} == {
        "accuracy.png",
        "digits.png",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("angles=1,2", "angles: expected different numbers from 2 on"),
        ("angles=4,4", "angles: expected different numbers"),
        ("left_out=10", "left_out: expected digits 0 to 9"),
        ("seeds=0", "seeds: expected at least 1"),
        ("together=0", "together: expected at least 1"),
        ("ridge=-1", "ridge: expected 0 or more"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        request("spectral/classes", changes=[change])


def test_mnist_that_is_not_there_is_told_before_anything_runs(tmp_path):
    config = changed(find("spectral/classes").presets["paper"].config, [f"mnist={tmp_path / 'absent'}"])
    with pytest.raises(InputError, match=r"needs all of MNIST, which is not in .*absent"):
        class_cells(config)


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
    [outcome] = run([request("spectral/classes", changes=changes, device="cuda")], tmp_path, Place(workers=0))
    assert (outcome.failed, outcome.problems) == (0, ())
