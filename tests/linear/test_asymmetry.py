from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import data, groups
from symscope.data.vectors import linear_action
from symscope.errors import InputError
from symscope.groups.compact import so
from symscope.groups.constructions import defining
from symscope.linear import asymmetry_loss
from symscope.linear.asymmetry import asymmetric_part, sampled_asymmetry_loss
from tests.tolerances import MONTE_CARLO_SIGMAS, ROUNDING

S3 = groups.permutation(groups.symmetric(3))


def quadratic(seed: int, d: int = 3):
    draw = torch.randn(d, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return lambda x: torch.einsum("ni,ij,nj->n", x, draw, x) + x[:, 0]


def points(n: int, d: int, seed: int = 7) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@given(seed=st.integers(0, 1000))
def test_the_loss_is_the_mean_over_the_listed_elements(seed):
    f, x = quadratic(seed), points(5, 3, seed)
    orbit = torch.stack([f(x @ S3(g).T) for g in range(6)])
    assert abs(asymmetry_loss(f, x, S3) - (f(x) - orbit.mean(0)).abs().mean()) < ROUNDING
    # the asymmetric part has no symmetric part, and what is taken away is the same all along an orbit
    rest = asymmetric_part(lambda z: asymmetric_part(f, z, S3), x, S3)
    assert (rest - asymmetric_part(f, x, S3)).abs().max() < 10 * ROUNDING
    symmetric = f(x) - asymmetric_part(f, x, S3)
    there = x @ S3(4).T
    assert (f(there) - asymmetric_part(f, there, S3) - symmetric).abs().max() < 10 * ROUNDING


def test_actions_representations_and_matrices_agree():
    f, x = quadratic(3), points(6, 3)
    expected = asymmetry_loss(f, x, S3)
    assert abs(asymmetry_loss(f, x, linear_action(S3)) - expected) < ROUNDING
    assert abs(asymmetry_loss(f, x, S3.matrices.mT) - expected) < ROUNDING
    images = torch.rand(4, 5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    turned = torch.stack([images.rot90(k, (1, 2)) for k in range(4)])
    by_hand = (images[:, 0, 1] - turned[:, :, 0, 1].mean(0)).abs().mean()
    assert abs(asymmetry_loss(lambda z: z[:, 0, 1], images, data.rotation(4)) - by_hand) < ROUNDING

    # from images to images: a shift does not commute with turns, a square does
    turn = data.rotation(4)
    assert asymmetry_loss(lambda z: z**2, images, turn, turn) < ROUNDING
    back = torch.stack([images.rot90(k, (1, 2)).roll(1, 2).rot90(-k, (1, 2)) for k in range(4)]).mean(0)
    by_hand = (images.roll(1, 2) - back).flatten(1).norm(dim=1).mean()
    assert abs(asymmetry_loss(lambda z: z.roll(1, 2), images, turn, turn) - by_hand) < ROUNDING


def test_equivariance_with_a_group_that_is_not_orthogonal():
    g = torch.tensor([[1.0, 0.0], [0.7, -1.0]], dtype=torch.float64)  # its square is the identity
    matrices = torch.stack([torch.eye(2, dtype=torch.float64), g])
    x = points(5, 2)
    w = torch.tensor([[1.0, 2.0], [0.5, -1.5]], dtype=torch.float64)
    commuting = (w + g @ w @ torch.linalg.inv(g)) / 2
    assert asymmetry_loss(lambda z: z @ commuting, x, matrices, matrices) < ROUNDING
    gap = torch.linalg.vector_norm(x @ (w - commuting), dim=1).mean()
    assert abs(asymmetry_loss(lambda z: z @ w, x, matrices, matrices) - gap) < ROUNDING


def test_compact_groups_by_quadrature():
    rotations = defining(so(3))
    rule = groups.haar_quadrature(so(3), 2)
    x = points(4, 3)
    # the mean of the first coordinate squared over a sphere of radius r is r^2 / 3
    expected = (x[:, 0] ** 2 - x.square().sum(1) / 3).abs().mean()
    assert abs(asymmetry_loss(lambda z: z[:, 0] ** 2, x, rotations, quadrature=rule) - expected) < ROUNDING
    sampled = sampled_asymmetry_loss(lambda z: z[:, 0] ** 2, x, rotations, samples=500, seed=1)
    assert abs(sampled.value - expected) < MONTE_CARLO_SIGMAS * sampled.standard_error
    assert sampled.standard_error < 0.2 * expected


def test_the_standard_error_is_the_spread_over_draws_and_the_bias_is_taken_off():
    f, x = quadratic(5), points(8, 3)
    exact = float(asymmetry_loss(f, x, S3))
    runs = [sampled_asymmetry_loss(f, x, S3, samples=24, seed=s) for s in range(120)]
    values = torch.tensor([run.value for run in runs], dtype=torch.float64)
    claimed = math.sqrt(sum(run.standard_error**2 for run in runs) / len(runs))
    assert abs(float(values.std()) / claimed - 1) < 0.3  # a spread from 120 draws is known to 6 %
    assert abs(float(values.mean()) - exact) < MONTE_CARLO_SIGMAS * float(values.std()) / math.sqrt(120)
    assert runs[0] == sampled_asymmetry_loss(f, x, S3, samples=24, seed=0)


def test_random_elements_of_given_matrices_and_of_equivariant_functions():
    x = points(4, 3)
    exact = asymmetry_loss(lambda z: z**2 + z[:, :1], x, S3, S3)
    for there in (S3, S3.matrices.mT):
        loss = sampled_asymmetry_loss(lambda z: z**2 + z[:, :1], x, there, there, samples=300, seed=2)
        assert abs(loss.value - exact) < MONTE_CARLO_SIGMAS * loss.standard_error
        assert sampled_asymmetry_loss(lambda z: z**2, x, there, there, samples=5, seed=2).value < ROUNDING


def test_gradients_flow():
    w = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    asymmetry_loss(lambda z: z @ w, points(3, 3), S3).backward()
    assert float(w.grad.abs().max()) > 0
    assert abs(float(w.grad.sum())) < ROUNDING  # the invariant direction does not change it


def test_bad_input():
    x = points(3, 3)
    first = lambda z: z[:, 0]  # noqa: E731
    for scale in (float("nan"), 1e300):
        with pytest.raises(InputError, match="expected numbers of moderate size"):
            sampled_asymmetry_loss(lambda z, scale=scale: scale * z[:, 0], x, S3, samples=2, seed=0)
    with pytest.raises(InputError, match="S10 are not listed: give quadrature"):
        asymmetry_loss(first, points(3, 10), groups.permutation(groups.symmetric(10)))
    with pytest.raises(InputError, match="made for another group"):
        asymmetry_loss(first, x, S3, quadrature=groups.haar_quadrature(so(3), 2))
    with pytest.raises(InputError, match="expected f to return 3 outputs, one per input, got shape"):
        asymmetry_loss(lambda z: z.sum(), x, S3)
    with pytest.raises(InputError, match="expected f to return 3 outputs, one per input, got float"):
        asymmetry_loss(lambda z: 1.0, x, S3)
    with pytest.raises(InputError, match=r"expected a batch of inputs \[n, \*sample\]"):
        asymmetry_loss(first, x[0], S3)
    with pytest.raises(InputError, match="one group acting on inputs and outputs, got S3 and C3"):
        asymmetry_loss(lambda z: z, x, S3, groups.permutation(groups.cyclic(3)))
    with pytest.raises(InputError, match="matrices for inputs and outputs, or a group"):
        asymmetry_loss(lambda z: z, x, S3, S3.matrices)
    with pytest.raises(InputError, match="as many matrices for the outputs as for the inputs, 6, got 2"):
        asymmetry_loss(lambda z: z, x, S3.matrices, S3.matrices[:2])
    with pytest.raises(InputError, match="expected axis -1 of length 3"):
        asymmetry_loss(lambda z: z[:, :2], x, S3, S3)
    with pytest.raises(InputError, match="at least 2, so that their spread is known, got 1"):
        sampled_asymmetry_loss(first, x, S3, samples=1, seed=0)
