from __future__ import annotations

import json

import pytest
import torch
from torch import nn

from benchmarks.training_gpu import ANGLES, NETWORKS, Timing, fastest, main, whole_figure


def timing(network: str, angles: int, together: int, compiled: bool, seconds: float) -> Timing:
    images = 54_000 * angles
    return Timing(network, angles, together, compiled, images, 0.75 * seconds, 0.25 * seconds, 30.0, 1.0)


def test_the_whole_is_added_up_from_two_sizes():
    """An epoch of 0.5 s and 1 us per image."""
    epoch = {n: 0.5 + 1e-6 * 54_000 * n for n in ANGLES}
    slow = timing("ViT", 8, 1, False, 9.0)
    own = [slow, timing("ViT", 8, 1, True, epoch[8]), timing("ViT", 64, 1, True, epoch[64])]
    (row,) = whole_figure(own)
    assert (row["network"], row["together"], row["compiled"]) == ("ViT", 1, True)
    assert row["us per image"] == pytest.approx(1.0)
    assert row["whole (min)"] == pytest.approx(20 * 10 * sum(epoch.values()) / 60)
    assert row["largest piece (min)"] == pytest.approx(20 * epoch[64] / 60)
    assert whole_figure(own[:2]) == []


def test_only_the_fastest_way_is_timed_at_the_larger_size():
    own = [timing("MLP", 8, 10, False, 1.0), timing("MLP", 8, 1, False, 2.0)]
    assert fastest(own, "MLP") == ((10, False),)
    assert len(fastest(own, "ConvNet")) > 1


def test_a_run_in_small(tmp_path, monkeypatch, capsys):
    def small(seed: int) -> nn.Module:  # a CPU is slow in bfloat16
        torch.manual_seed(seed)
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 4), nn.ReLU(), nn.Linear(4, 10))

    monkeypatch.setattr("benchmarks.training_gpu.NETWORKS", dict.fromkeys(NETWORKS, small))
    file = tmp_path / "numbers.json"
    main(["--device", "cpu", "--seeds", "40", "--angles", "2", "4", "--plain", "--json", str(file)])
    assert "in all" in capsys.readouterr().out
    content = json.loads(file.read_text())
    assert [row["network"] for row in content["figure"]] == ["MLP", "ConvNet", "ViT"]
    assert all(row["whole (min)"] > 0 for row in content["figure"])
    assert {one["images"] for one in content["timings"]} == {68, 140}
