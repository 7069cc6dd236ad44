"""`spectral/whole-mnist`: against regression solved outright, and what a run holds."""

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
from symscope.spectral.dense import regression
from symscope_papers.spectral.rotated_pairs import mlp_kernels
from symscope_papers.spectral.whole_mnist import Problem, WholeMnist, allowed, whole_cells
from tests.tolerances import DENSE_PREDICTION

CPU = torch.device("cpu")
SMALL = ("seeds=2,3", "angles=2,8", "whole_angles=", "check_seeds=2", "check_angles=8", "memory=100MB")


def problem(count: int, angles: int) -> Problem:
    data = mnist_sample().per_class(count, seed=0).standardised()
    return Problem.of(data, rotation(angles, "orthogonal"), WholeMnist(memory="100MB"), CPU)


def test_every_class_left_out_is_regression_solved_the_plain_way():
    ours = problem(2, 8)
    found, _ = ours.streamed()
    points = ours.action.act_all(ours.data.x).flatten(2).flatten(0, 1)
    gram, labels = mlp_kernels(2).ntk(points), ours.labels.repeat_interleave(8, 0)
    for label, mask in enumerate(class_masks(ours.data.labels, ours.action.group)):
        plain = regression(gram, labels, mask.flatten().nonzero()[:, 0], 0.0)
        assert (found.prediction[found.sets == label] - plain).abs().max() < DENSE_PREDICTION


def test_coincident_points_do_not_spoil_the_answer():
    """Six digits of each class under 16 rotations: with the diagonal as pairs give it 1.8e-7."""
    points, difference = problem(6, 16).difference_to_dense()
    assert points == 960
    assert difference < DENSE_PREDICTION


def test_a_small_run_is_complete(tmp_path):
    [outcome] = run(
        [request("spectral/whole-mnist", changes=SMALL, device="cpu")], tmp_path, Place(workers=0)
    )
    assert (outcome.failed, outcome.problems) == (0, ())
    tables = tables_of(RunFolder(outcome.folder))
    accuracy = tables["accuracy"]
    assert len(accuracy) == 2 * 2 * 10
    assert sorted(accuracy["points"].unique()) == [40, 60, 160, 240]
    assert set(accuracy["left_out"]) == set(range(10))
    one = tables["irreps"].groupby(["seeds", "angles"])["share"].sum()
    assert ((one - 1).abs() < 1e-9).all()
    assert outcome.claims[0].verdict.value == "reproduced"
    assert [claim.verdict.value for claim in outcome.claims[2:]] == ["not checked at this size"] * 3
    assert len(list((outcome.folder / "figures").glob("*.png"))) == 3


def test_all_digits_are_taken_where_no_number_is_given():
    config = changed(WholeMnist(), ["seeds=5", "angles=4", "whole_angles=2", "check_seeds=2"])
    assert [(cell["seeds"], cell["angles"]) for cell in whole_cells(config)] == [(2, 64), (5, 4), (0, 2)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("angles=1", "angles: expected numbers from 2 on"),
        ("whole_angles=1", "angles: expected numbers from 2 on"),
        ("seeds=5,5", "seeds: expected different numbers"),
        ("seeds=0", "seeds: expected at least 1"),
        ("check_seeds=0", "check_seeds: expected at least 1"),
        ("ridge=-0.1", "ridge: expected 0 or more"),
        ("memory=plenty", "memory"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        request("spectral/whole-mnist", changes=[change])


def test_free_memory_is_a_gpus():
    with pytest.raises(InputError, match="what a GPU has left; on a CPU give it"):
        allowed("free", CPU)


def test_mnist_that_is_not_there_is_told_before_anything_runs(tmp_path):
    config = changed(find("spectral/whole-mnist").presets["paper"].config, [f"mnist={tmp_path / 'absent'}"])
    with pytest.raises(InputError, match=r"needs all of MNIST, which is not in .*absent"):
        whole_cells(config)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_uses_what_memory_is_free_and_gives_the_same(tmp_path):
    data = mnist_sample().per_class(4, seed=0).standardised()
    made = Problem.of(data, rotation(16, "orthogonal"), WholeMnist(memory="free"), torch.device("cuda"))
    there, _ = made.streamed()
    here, _ = problem(4, 16).streamed()
    assert (there.residual - here.residual).abs().max() < DENSE_PREDICTION
    assert made.difference_to_dense()[1] < DENSE_PREDICTION
