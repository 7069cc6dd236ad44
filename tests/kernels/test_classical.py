from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from symscope.errors import InputError
from symscope.kernels._gram._gram import gram
from symscope.kernels.classical import (
    arc_cosine_kernel,
    linear_kernel,
    median_length_scale,
    polynomial_kernel,
    rbf_kernel,
    squared_distances,
)
from symscope.kernels.conformance import assert_kernel_laws
from tests.tolerances import CLOSE_POINTS, MONTE_CARLO_SIGMAS, ROUNDING

KERNELS = [
    linear_kernel(),
    polynomial_kernel(3, 0.5),
    rbf_kernel(1.3),
    arc_cosine_kernel(0),
    arc_cosine_kernel(1),
    arc_cosine_kernel(2),
]
by_name = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)


def points(n: int, *shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, *shape, dtype=torch.float64, generator=generator)


@by_name
def test_every_kernel_keeps_the_laws_of_kernels(kernel):
    assert_kernel_laws(kernel, points(7, 2, 3))


@by_name
@given(seed=st.integers(0, 10**6), n=st.integers(2, 6), d=st.integers(1, 5))
def test_rotating_all_inputs_changes_nothing(kernel, seed, n, d):
    x = points(n, d, seed=seed)
    rotation = torch.linalg.qr(points(d, d, seed=seed + 1))[0]
    assert torch.allclose(
        kernel(x @ rotation), kernel(x), rtol=1e-9, atol=1e-9 * kernel(x).abs().max().item()
    )


@given(seed=st.integers(0, 10**6), factor=st.floats(0.01, 100))
def test_arc_cosine_is_homogeneous_of_its_order(seed, factor):
    x, y = points(4, 3, seed=seed), points(3, 3, seed=seed + 1)
    for order in (0, 1, 2):
        k = arc_cosine_kernel(order)
        assert torch.allclose(k(factor * x, y), factor**order * k(x, y), rtol=1e-10)


@given(seed=st.integers(0, 10**6), shift=st.floats(-1e3, 1e3))
def test_rbf_sees_differences_only(seed, shift):
    x = points(5, 3, seed=seed)
    assert torch.allclose(rbf_kernel(0.7)(x + shift), rbf_kernel(0.7)(x), rtol=1e-9, atol=1e-12)


def test_linear_polynomial_and_rbf_agree_with_scikit_learn():
    x, y = points(6, 4), points(5, 4, seed=1)
    a, b = x.numpy(), y.numpy()
    assert np.allclose(linear_kernel()(x, y), pairwise.linear_kernel(a, b), rtol=ROUNDING, atol=ROUNDING)
    cubic = pairwise.polynomial_kernel(a, b, degree=3, gamma=1.0, coef0=0.5)
    assert np.allclose(polynomial_kernel(3, 0.5)(x, y), cubic, rtol=ROUNDING, atol=ROUNDING)
    gamma = 0.85**2  # exp(-gamma^2 r^2) has length scale 1 / (sqrt(2) gamma)
    assert np.allclose(
        rbf_kernel(1 / (math.sqrt(2) * 0.85))(x, y), pairwise.rbf_kernel(a, b, gamma=gamma), rtol=ROUNDING
    )
    assert np.allclose(linear_kernel().diagonal(x), (a * a).sum(1), rtol=ROUNDING)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_distances_of_close_points_do_not_cancel(offset):
    x = points(40, 8) + offset
    y = torch.cat([x[:20] + 1e-7 * points(20, 8, seed=2), points(20, 8, seed=3) + offset])
    exact = cdist(x.numpy().astype(np.longdouble), y.numpy().astype(np.longdouble), "sqeuclidean")
    assert np.allclose(squared_distances(x[None], y[None])[0], exact, rtol=CLOSE_POINTS, atol=0)
    assert (squared_distances(x[None], None)[0].diagonal() == 0).all()


def test_all_points_close_uses_differences_throughout():
    x = 5.0 + 1e-6 * points(12, 4)
    exact = cdist(x.numpy(), x.numpy(), "sqeuclidean")
    assert np.allclose(squared_distances(x[None], None)[0], exact, rtol=CLOSE_POINTS, atol=0)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_is_the_mean_over_random_units(order):
    """k_n(x, y) = 2 E[H(w.x) H(w.y) (w.x)^n (w.y)^n] for unit normal w (Cho and Saul 2009, eq. 1)."""
    x, y = points(3, 4), points(2, 4, seed=1)
    w = points(200_000, 4, seed=2)
    a, b = w @ x.T, w @ y.T
    units = [(z > 0).double() * z**order for z in (a, b)]
    samples = 2 * units[0][:, :, None] * units[1][:, None, :]
    error = samples.std(0) / len(w) ** 0.5
    assert ((samples.mean(0) - arc_cosine_kernel(order)(x, y)).abs() < MONTE_CARLO_SIGMAS * error).all()


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("angle", [1e-9, 1e-4, 0.3, 1.5, math.pi - 0.9, math.pi - 1e-3, math.pi - 1e-7])
def test_arc_cosine_is_accurate_near_equal_and_opposite_inputs(order, angle):
    """Against the same formula in sixty digits."""
    mpmath.mp.dps = 60
    d = mpmath.pi - mpmath.mpf(angle)  # the true supplement of the float angle
    a = mpmath.pi - d
    exact = (
        d,
        mpmath.sin(a) + d * mpmath.cos(a),
        3 * mpmath.sin(a) * mpmath.cos(a) + d * (1 + 2 * mpmath.cos(a) ** 2),
    )[order] / mpmath.pi
    # the second vector is built so that the angle is right to rounding of its own components
    supplement = float(d)
    y = torch.tensor([[math.cos(angle), math.sin(angle)]], dtype=torch.float64)
    if angle > 3:
        y = torch.tensor([[-math.cos(supplement), math.sin(supplement)]], dtype=torch.float64)
    x = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    value = arc_cosine_kernel(order)(2 * x, 3 * y).item() / 6**order
    assert value == pytest.approx(float(exact), rel=1e-12)


def test_zero_vector_has_no_direction_but_a_norm():
    x = torch.tensor([[0.0, 0.0], [1.0, 2.0]], dtype=torch.float64)
    with pytest.raises(InputError, match="zero vector"):
        arc_cosine_kernel(0)(x)
    assert arc_cosine_kernel(1)(x)[0].tolist() == [0.0, 0.0]


def test_median_length_scale_is_the_median_distance():
    x = points(11, 2, 3)
    flat = x.flatten(1).numpy()
    expected = np.median(cdist(flat, flat)[np.triu_indices(11, 1)])
    assert median_length_scale(x) == pytest.approx(expected, rel=ROUNDING)
    assert median_length_scale(points(4, 2)) == pytest.approx(
        np.median(cdist(points(4, 2), points(4, 2))[np.triu_indices(4, 1)]), rel=ROUNDING
    )


def test_gradients_with_respect_to_inputs_are_right():
    x, y = points(3, 2).requires_grad_(), points(2, 2, seed=1)
    for kernel in (rbf_kernel(0.8), polynomial_kernel(2, 1.0), arc_cosine_kernel(1)):
        assert torch.autograd.gradcheck(lambda z, k=kernel: k.blocks(z[None], y[None]), (x,))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rbf_kernel(0.0), "positive finite length_scale, got 0"),
        (lambda: rbf_kernel(math.nan), "positive finite length_scale, got nan"),
        (lambda: polynomial_kernel(0, 1.0), "whole degree of at least 1, got 0"),
        (lambda: polynomial_kernel(2, -1.0), "offset of at least 0, got -1"),
        (lambda: arc_cosine_kernel(3), "order 0, 1 or 2, got 3"),
        (lambda: median_length_scale(points(1, 2)), "at least 2 inputs, got 1"),
        (lambda: median_length_scale(torch.zeros(4, 2)), "more than half of the pairs"),
        (lambda: median_length_scale(torch.full((4, 2), math.nan)), "finite inputs"),
        (lambda: rbf_kernel(1.0)(torch.full((2, 2), math.nan)), "expected finite numbers"),
        (lambda: gram(rbf_kernel(1.0), points(2, 2), points(2, 3)), "points of one shape"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
