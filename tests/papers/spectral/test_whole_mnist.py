"""`spectral/whole-mnist`: against regression solved outright, and what a run holds."""

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
from symscope.spectral.dense import regression
from symscope_papers.spectral.whole_mnist.claims import judge_claims
from symscope_papers.spectral.whole_mnist.config import WholeMnist
from symscope_papers.spectral.whole_mnist.measure import DigitRegression, cells, memory_budget
from symscope_papers.spectral.wide_networks import mlp_kernels
from tests.tolerances import DENSE_PREDICTION

CPU = torch.device("cpu")
SMALL = ("seeds=2,3", "angles=2,8", "whole_angles=", "check_seeds=2", "check_angles=8", "memory=100MB")


def problem(count: int, angles: int) -> DigitRegression:
    data = mnist_sample().per_class(count, seed=0).standardised()
    return DigitRegression.of(data, rotation(angles, "orthogonal"), WholeMnist(memory="100MB"), CPU)


def test_every_class_left_out_is_regression_solved_the_plain_way():
    ours = problem(2, 8)
    result, _ = ours.streamed()
    points = ours.action.act_all(ours.data.x).flatten(2).flatten(0, 1)
    gram, labels = mlp_kernels(2).ntk(points), ours.labels.repeat_interleave(8, 0)
    for label, mask in enumerate(class_masks(ours.data.labels, ours.action.group)):
        plain = regression(gram, labels, mask.flatten().nonzero()[:, 0], 0.0)
        assert (result.prediction[result.sets == label] - plain).abs().max() < DENSE_PREDICTION


def test_coincident_points_do_not_spoil_the_answer():
    """Six digits of each class under 16 rotations: with the diagonal as pairs give it 1.8e-7."""
    points, difference = problem(6, 16).difference_to_dense()
    assert points == 960
    assert difference < DENSE_PREDICTION


def test_a_small_run_is_complete(tmp_path):
    [outcome] = run_experiments(
        [RunRequest.of("spectral/whole-mnist", changes=SMALL, device="cpu")], tmp_path, Workers(processes=0)
    )
    assert (outcome.failed, outcome.problems) == (0, ())
    tables = outcome.tables()
    accuracy = tables["accuracy"]
    assert len(accuracy) == 2 * 2 * 10
    assert sorted(accuracy["points"].unique()) == [40, 60, 160, 240]
    assert set(accuracy["left_out"]) == set(range(10))
    one = tables["irreps"].groupby(["seeds", "angles"])["share"].sum()
    assert ((one - 1).abs() < 1e-9).all()
    assert {claim.kind for claim in outcome.claims} == {ClaimKind.BEYOND}
    assert outcome.claims[0].measured < DENSE_PREDICTION
    assert len(list((outcome.folder / "figures").glob("*.png"))) == 3


def test_all_digits_are_taken_where_no_number_is_given():
    config = replace_fields(WholeMnist(), ["seeds=5", "angles=4", "whole_angles=2", "check_seeds=2"])
    assert [(cell["seeds"], cell["angles"]) for cell in cells(config)] == [(2, 64), (5, 4), (0, 2)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("angles=1", "angles: expected 2 or more"),
        ("whole_angles=1", "whole_angles: expected 2 or more"),
        ("seeds=5,5", "seeds: expected .* different values"),
        ("seeds=0", "seeds: expected 1 or more"),
        ("check_seeds=0", "check_seeds: expected 1 or more"),
        ("ridge=-0.1", "ridge: expected 0 or more"),
        ("memory=plenty", "memory"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        RunRequest.of("spectral/whole-mnist", changes=[change])


def test_free_memory_is_a_gpus():
    with pytest.raises(InputError, match="what a GPU has left; on a CPU give it"):
        memory_budget("free", CPU)


def test_mnist_that_is_not_there_is_told_before_anything_runs(tmp_path):
    config = replace_fields(
        find_experiment("spectral/whole-mnist").presets["paper"].config, [f"mnist={tmp_path / 'absent'}"]
    )
    with pytest.raises(InputError, match=r"needs all of MNIST, which is not in .*absent"):
        cells(config)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_uses_what_memory_is_free_and_gives_the_same(tmp_path):
    data = mnist_sample().per_class(4, seed=0).standardised()
    made = DigitRegression.of(
        data, rotation(16, "orthogonal"), WholeMnist(memory="free"), torch.device("cuda")
    )
    there, _ = made.streamed()
    here, _ = problem(4, 16).streamed()
    assert (there.residual - here.residual).abs().max() < DENSE_PREDICTION
    assert made.difference_to_dense()[1] < DENSE_PREDICTION


def tables(runs, difference=1e-10):
    rows = [
        {
            "part": "run",
            "seeds": seeds,
            "angles": angles,
            "left_out": label,
            "orbits": orbits,
            "points": orbits * angles,
            "accuracy": accuracy,
            "seconds": seconds,
            "device": device,
        }
        for seeds, angles, orbits, accuracy, seconds, device in runs
        for label in range(10)
    ]
    checks = pd.DataFrame([{"seeds": 2, "angles": 8, "points": 160, "largest_difference": difference}])
    return {"accuracy": pd.DataFrame(rows), "checks": checks}


LARGE = [
    (1000, 2, 10_000, 0.2, 1.0, "cuda"),
    (1000, 64, 10_000, 0.999, 3.7, "cuda"),
    (0, 64, 60_000, 0.998, 443.0, "cuda"),
]


def test_measurements_are_those_of_the_tables():
    claims = judge_claims(WholeMnist(), tables(LARGE, difference=1e-7))
    assert claims[0].measured == 1e-7
    assert claims[1].measured == "0.2000 ± 0.0000 at n = 2, 0.9990 ± 0.0000 at n = 64"
    assert "60,000 digits" in claims[2].statement
    assert claims[2].measured.startswith("0.9980")
    assert "3,840,000 points, on cuda" in claims[3].statement
    assert claims[3].measured == 443.0
