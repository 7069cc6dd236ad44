"""Group elements on features: against closed forms, dense least squares, and points not fitted to."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from symscope import InputError
from symscope.data.synthetic import permuted_cube
from symscope.groups import permutation, symmetric
from symscope.kernels import weights_kernel
from symscope.networks.architectures import mlp
from symscope_papers.linear.kernelised.elements import (
    activation_features,
    feature_error,
    gradient_features,
    kernelised_element,
)
from tests.tolerances import ROUNDING


def quadratic(x):
    """Example F.1: second-order features of (x, y)."""
    a, b = x[:, 0], x[:, 1]
    return torch.stack([a, b, a * a, a * b, b * b], 1)


def points(n, d, seed):
    return torch.rand(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_polynomial_features_carry_the_permutation_of_example_f1():
    x = points(40, 2, 0)
    result = kernelised_element(quadratic, x, x.flip(1))
    expected = torch.eye(5, dtype=torch.float64)[[1, 0, 4, 3, 2]]
    assert result.rank == 5
    assert (result.matrix - expected).abs().max() < 1e3 * ROUNDING  # conditioning of squares and products
    fresh = points(30, 2, 1)
    assert feature_error(quadratic, fresh, fresh.flip(1), result.matrix).norm < 1e3 * ROUNDING


@given(st.integers(0, 10_000), st.integers(1, 40))
def test_streamed_sums_are_dense_least_squares_even_when_singular(seed, batch):
    generator = torch.Generator().manual_seed(seed)
    mixing = torch.randn(3, 6, generator=generator, dtype=torch.float64)  # 6 features of rank 3
    x, images = (torch.randn(20, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    result = kernelised_element(lambda z: z @ mixing, x, images, rank_tolerance=1e-10, batch=batch)
    phi, there = x @ mixing, images @ mixing
    dense = torch.linalg.pinv(phi, rtol=1e-6) @ there
    assert result.rank == 3
    assert (result.matrix - dense).abs().max() < 1e-8 * (1 + dense.abs().max())
    error = feature_error(lambda z: z @ mixing, x, images, result.matrix, batch=batch)
    gap = (phi @ dense - there).norm(dim=1)
    assert error.norm == pytest.approx(float(gap.mean()), rel=1e-8)
    assert error.standard_error == pytest.approx(float(gap.std() / math.sqrt(20)), rel=1e-6)
    # least squares: nothing does better, the identity included
    without = feature_error(lambda z: z @ mixing, x, images, None)
    assert error.mean_square <= without.mean_square + ROUNDING


def test_gradient_features_are_rows_of_the_jacobian():
    net = mlp((3, 7, 2), seed=1)
    x = points(5, 3, 2)
    phi = gradient_features(net)(x)
    assert phi.shape == (10, 3 * 7 + 7 + 7 * 2 + 2)
    assert torch.allclose(phi.T @ phi, weights_kernel(net, x), atol=ROUNDING)
    net.zero_grad()
    net(x[3:4])[0, 1].backward()
    by_hand = torch.cat([w.grad.flatten() for w in net.parameters()])
    assert torch.allclose(phi[3 * 2 + 1], by_hand, atol=ROUNDING)


def test_activation_features_are_what_goes_into_the_last_layer():
    net = mlp((3, 7, 2), seed=1)
    x = points(5, 3, 2)
    assert torch.allclose(activation_features(net)(x), net[:3](x).detach())
    assert torch.allclose(activation_features(net, layer="1")(x), net[:2](x).detach())


def test_linear_activations_carry_the_group_exactly_and_form_a_representation():
    s3 = permutation(symmetric(3))
    with torch.random.fork_rng():
        torch.manual_seed(4)
        net = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 1)).double()
    phi, x = activation_features(net), points(60, 3, 5)
    a = {g: kernelised_element(phi, x, s3.act(g, x)).matrix for g in range(6)}
    for g in range(6):
        for h in range(6):
            both = a[int(s3.group.table[h, g])]
            assert (a[g] @ a[h] - both).abs().max() < 1e-8 * both.abs().max()


def test_an_untuned_network_of_20_units_already_gains_on_fresh_points():
    toy, net = permuted_cube(400, 3), mlp((3, 20, 1), seed=6)
    fresh = permuted_cube(300, 4).features
    for phi in (gradient_features(net), activation_features(net)):
        for g in toy.group[2:4]:
            fitted = kernelised_element(phi, toy.features, toy.features @ g)
            without = feature_error(phi, fresh, fresh @ g, None)
            assert without.norm > 2 * feature_error(phi, fresh, fresh @ g, fitted.matrix).norm


def test_images_and_several_outputs_go_through_too():
    net = nn.Sequential(nn.Flatten(), nn.Linear(9, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    x = torch.rand(30, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    phi, turned = gradient_features(net), x.rot90(dims=(1, 2))
    fitted = kernelised_element(phi, x, turned)
    assert fitted.rows == 60
    error = feature_error(phi, x, turned, fitted.matrix)
    assert error.norm < feature_error(phi, x, turned, None).norm


def test_bad_input():
    x = points(4, 2, 0)
    with pytest.raises(InputError, match="points and their images of one shape"):
        kernelised_element(quadratic, x, x[:3])
    with pytest.raises(InputError, match="rank_tolerance: expected a fraction"):
        kernelised_element(quadratic, x, x, rank_tolerance=2.0)
    with pytest.raises(InputError, match="batch: expected at least 1"):
        feature_error(quadratic, x, x, None, batch=0)
    with pytest.raises(InputError, match="matrix: expected 5 x 5"):
        feature_error(quadratic, x, x, torch.eye(4, dtype=torch.float64))
    with pytest.raises(InputError, match=r"features: expected \[rows, p\]"):
        feature_error(lambda z: z[:, 0], x, x, None)
    with pytest.raises(InputError, match="no parameter with requires_grad"):
        gradient_features(nn.ReLU())
