"""The spectral benchmarks at tiny sizes: every step runs, and their checks hold."""

from __future__ import annotations

import json
import sys

import pytest
import torch
from torch import nn

from benchmarks import spectral, spectral_gpu
from symscope import data
from symscope.spectral.irrep_blocks import frequencies, quotient
from symscope.spectral.panels import invert_factor
from symscope.spectral.streaming import OrbitPoints, ProjectedKernel, filled_panels


def test_the_gpu_run_works_on_a_cpu(tmp_path, monkeypatch):
    path = tmp_path / "found.json"
    arguments = ["--device", "cpu", "--seeds", "3", "--angles", "4", "--rate-size", "40", "--largest", "50"]
    monkeypatch.setattr(sys, "argv", ["spectral_gpu", *arguments, "--json", str(path)])
    spectral_gpu.main()
    result = json.loads(path.read_text())
    assert result["subset"] == {"points": 120, "largest difference": pytest.approx(0, abs=1e-8)}
    for run, seeds in (("first run", 30), ("second run", 50)):
        assert result[run]["complete"]
        assert result[run]["points"] == 4 * seeds
        assert max(result[run]["rows times inverse minus identity"].values()) < 1e-8


def test_a_run_out_of_time_says_so(monkeypatch):
    session = spectral_gpu.Session(torch.device("cpu"), 0.0, None)
    x, classes, _ = spectral_gpu.digits(20, None)
    result = spectral_gpu.big_run(session, x, classes, 4, None, 1.0)
    assert not result["complete"]
    assert (result["irreps done"], result["of"]) == (1, 3)


def test_the_probe_of_the_inverse_knows_points_that_coincide():
    action, generator = data.rotation(4), torch.Generator().manual_seed(0)
    x = torch.randn(6, 5, 5, dtype=torch.float64, generator=generator)

    def kernel(a, b):
        """The arc-cosine kernel from cosines that are off by a rounding: 1e-8 where points coincide."""
        u, v = (nn.functional.normalize(one.flatten(1), dim=1) for one in (a, b))
        angle = (u @ v.T * (1 - 2e-16)).clamp(-1, 1).acos()
        result = (angle.sin() + (torch.pi - angle) * angle.cos()) / torch.pi + 0.5 * (1 - angle / torch.pi)
        return result.fill_diagonal_(1.5) if b is a else result

    points = quotient(action.group, None, 6)
    frequency = frequencies(action.group)[1]
    [(panels, _)] = filled_panels(
        ProjectedKernel(kernel, action.group, (0,)),
        OrbitPoints(x, action.group, action.orbit),
        [frequency],
        None,
        1e6,
        points,
    )
    invert_factor(panels, 0.0)
    away = spectral_gpu.probe(panels, frequency, kernel, action.orbit, x, action.group, 0.0)
    assert away < 1e-12


def test_the_cpu_run_agrees_with_dense_regression():
    result = spectral.scale(seeds=3, angles=4, check=2)
    assert result["points"] == 120
    assert result["largest difference"] < 1e-8


@pytest.mark.slow
def test_the_tables_are_reproduced():
    """The group-projected form tracks the exact error ten times closer than the paper's up to 16 angles."""
    rows = {row["rotations"]: row for row in spectral.table(60, False) if row["net"] == "MLP"}
    for n, paper in ((4, 0.98), (8, 0.99), (16, 0.99), (32, 0.99)):
        assert rows[n]["paper r"] > paper
        assert rows[n]["group r"] > 0.9995
        assert rows[n]["group error, mean over angles"] < 1e-4
    assert all(rows[n]["group error"] < rows[n]["paper error"] / 5 for n in (4, 8, 16))


def test_two_rows_of_the_table():
    rows = spectral.table(6, True)
    assert rows[0]["group error"] < 1e-10
    assert rows[1]["group error"] < rows[1]["paper error"]
