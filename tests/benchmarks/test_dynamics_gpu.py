"""The benchmark of Fig. 1 a-c runs anywhere at the size of a test, and its totals add up."""

from __future__ import annotations

import json

import pytest
import torch

from benchmarks.dynamics_gpu import TINY, Epoch, accuracies, main, whole
from symscope_papers.dynamics.rotation.config import Rotation


def test_it_measures_everything_it_says(tmp_path, capsys):
    main(["--device", "cpu", "--tiny", "--json", str(tmp_path / "found.json")])
    result = json.loads((tmp_path / "found.json").read_text())
    assert {one["experiment"] for one in result["epochs"]} == set(TINY)
    assert {one["strategy"] for one in result["epochs"]} == {
        "equivariant",
        "augmented",
        "half turns",
        "nominal",
    }
    assert {one["precision"] for one in result["epochs"] if one["experiment"] == "rotation"} == {
        "single",
        "double",
    }
    assert all(one["seconds"] > 0 and one["flops"] > 0 for one in result["epochs"])
    assert "times less than 75 hours" in capsys.readouterr().out


def test_split_products_are_as_accurate_as_single_precision():
    result = {(one.what, one.way): one.error for one in accuracies(50, 40, torch.device("cpu"))}
    for what in ("forward", "to inputs", "to layer"):
        assert 0 < result[what, "float32"] < 1e-6
        assert 0 < result[what, "split"] < 1e-6


def test_totals_are_runs_times_epochs_times_an_epoch():
    config = Rotation(runs=6, epochs=10, block=3, check_runs=2, check_epochs=5)
    timings = [
        Epoch("rotation", way, precision, 1, seconds, 1e9, 0.1, 0.0)
        for way in ("a", "b")
        for precision, seconds in (("single", 1.0), ("double", 4.0))
    ]
    total = whole(config, timings)
    assert total["training minutes"] == pytest.approx(60 * 2 / 60)
    assert total["minutes"] == pytest.approx((60 * 2 + 10 * (8 + 2)) / 60)
    assert total["flops"] == pytest.approx(120e9)
    assert total["share of floor"] == pytest.approx(0.1)
    assert total["largest cell (min)"] == pytest.approx(1.0)
