from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.data.synthetic._circles import circles
from symscope.errors import InputError
from tests.tolerances import LEAVE_OUT_FAINT, LEAVE_OUT_ORACLE, ROUNDING

ORACLE = np.load(Path(__file__).parents[1] / "fixtures" / "circles.npz", allow_pickle=False)


def gauss(points: int, distance: float, gamma: float) -> torch.Tensor:
    x = circles(points, distance).x
    return torch.exp(-(gamma**2) * (x[:, None] - x[None]).square().sum(-1))


def left_out(points: int, distance: float, gamma: float) -> float:
    """The error at the first point from the inverse over all points, ridge 0."""
    inverse = torch.linalg.inv(gauss(points, distance, gamma))
    labels = circles(points, distance).labels.double()
    return ((inverse @ labels)[0] / inverse[0, 0]).item()


def trained(points: int, distance: float, gamma: float, ridge: float) -> float:
    """The error at the first point by regression on the others, ridge relative to the trace."""
    kernel, labels = gauss(points, distance, gamma), circles(points, distance).labels.double()
    rest = kernel[1:, 1:]
    weights = torch.linalg.solve(rest + ridge * rest.trace() * torch.eye(len(rest)).double(), labels[1:])
    return (labels[0] - kernel[0, 1:] @ weights).item()


@given(st.integers(2, 30), st.floats(0, 20))
def test_two_orbits_of_one_rotation_interleaved(points, distance):
    data = circles(points, distance)
    assert data.x.shape == (2 * points, 3)
    assert data.labels.tolist() == [1, -1] * points
    # the seed points: the first orbit starts at (1, 0, 0), the second half a step on in the other plane
    half = math.pi / points
    seeds = torch.tensor([[1, 0, 0], [math.cos(half), math.sin(half), distance]], dtype=torch.float64)
    assert (data.x[:2] - seeds).abs().max() < ROUNDING
    c, s = math.cos(2 * math.pi / points), math.sin(2 * math.pi / points)
    turn = torch.tensor([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    assert (data.x.roll(-2, 0) - data.x @ turn.T).abs().max() < ROUNDING
    assert (data.x[:, :2].norm(dim=1) - 1).abs().max() < ROUNDING
    # a point is as far from the one before it as from the one behind it, at the height of the other plane
    before, behind = data.x.roll(1, 0) - data.x, data.x.roll(-1, 0) - data.x
    assert (before.norm(dim=1) - behind.norm(dim=1)).abs().max() < ROUNDING * (1 + distance)
    assert (before[:, 2].abs() - distance).abs().max() < ROUNDING
    # the distances form a circulant matrix
    distances = torch.cdist(data.x, data.x, compute_mode="donot_use_mm_for_euclid_dist")
    assert (distances.roll((1, 1), (0, 1)) - distances).abs().max() < ROUNDING * (1 + distance)


@pytest.mark.parametrize("i", range(21))
def test_distance_sweep_of_the_paper(i):
    distance = float(ORACLE["ds"][i])
    assert left_out(6, distance, 0.85) == pytest.approx(
        ORACLE["d_spectral_err_reg0"][i], rel=LEAVE_OUT_ORACLE
    )
    for key, ridge in (("d_gp_err", 1e-5), ("d_gp_err_reg1e-10", 1e-10)):
        assert trained(6, distance, 0.85, ridge) == pytest.approx(ORACLE[key][i], rel=LEAVE_OUT_ORACLE)


@pytest.mark.parametrize("i", range(12))
def test_density_sweep_of_the_paper(i):
    points = int(ORACLE["Ns"][i])
    if points <= 20:  # beyond, the kernel matrix without ridge is singular in float64
        expected = ORACLE["N_spectral_err_reg0"][i]
        assert left_out(points, 1.0, 1.4) == pytest.approx(expected, rel=LEAVE_OUT_ORACLE)
    assert trained(points, 1.0, 1.4, 1e-5) == pytest.approx(ORACLE["N_gp_err"][i], rel=LEAVE_OUT_ORACLE)
    assert trained(points, 1.0, 1.4, 1e-10) == pytest.approx(
        ORACLE["N_gp_err_reg1e-10"][i], rel=LEAVE_OUT_FAINT
    )


def test_the_sweeps_of_the_oracle_are_the_papers():
    assert ORACLE["Ns"].tolist() == list(range(4, 49, 4))
    np.testing.assert_allclose(ORACLE["ds"], [0, *np.logspace(-2, 1, 20)], rtol=ROUNDING)


def test_type_is_the_callers_and_nothing_is_random():
    assert circles(5, 0.3, torch.float32).x.dtype == torch.float32
    assert torch.equal(circles(5, 0.3).x, circles(5, 0.3).x)


@pytest.mark.parametrize("distance", [-0.1, math.nan, math.inf])
def test_bad_distances(distance):
    with pytest.raises(InputError, match="distance: expected a finite number, not negative, got"):
        circles(4, distance)


def test_too_few_points():
    with pytest.raises(InputError, match=r"points: expected an integer from 2 to .*, got 1"):
        circles(1, 0.5)
