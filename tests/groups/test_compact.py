from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import cyclic, parse, symmetric
from symscope.groups.compact import as_compact, compact_product, o, so, torus
from tests.tolerances import MONTE_CARLO_SIGMAS, ROUNDING

groups = st.sampled_from(
    ["SO(2)", "O(2)", "SO(3)", "O(3)", "SO(4)", "O(5)", "T3", "S3xSO(3)", "SO(2)xC5", "S9xO(2)"]
)


@given(groups, st.integers(0, 2**31))
def test_samples_and_exponentials_are_in_the_group(name, seed):
    group = parse(name)
    generator = torch.Generator().manual_seed(seed)
    g = group.sample(2, generator)
    eye = torch.eye(group.size, dtype=torch.float64)
    assert torch.allclose(g @ g.mT, eye.expand_as(g), atol=ROUNDING)
    if name.startswith("SO"):
        assert torch.allclose(torch.linalg.det(g), torch.ones(2, dtype=torch.float64), atol=ROUNDING)
    assert torch.allclose(group.multiply(g[0], group.inverse(g[0])), eye, atol=ROUNDING)
    assert torch.equal(group.lie_algebra, -group.lie_algebra.mT)
    turned = group.exponential(torch.randn(group.dimension, generator=generator, dtype=torch.float64))
    assert torch.allclose(turned @ turned.T, eye, atol=ROUNDING)


@pytest.mark.parametrize(
    ("name", "dimension"), [("SO(2)", 1), ("O(3)", 3), ("SO(5)", 10), ("T4", 4), ("S3xSO(3)", 3)]
)
def test_dimension(name, dimension):
    assert parse(name).dimension == dimension
    assert torch.linalg.matrix_rank(parse(name).lie_algebra.flatten(1)) == dimension


@pytest.mark.parametrize("make", [so, o])
def test_haar_moments(make):
    # E[R_ij] = 0, E[R_ij R_kl] = delta_ik delta_jl / 3, E[R_00^4] = 1/5: within a few standard errors
    count = 20_000
    g = make(3).sample(count, torch.Generator().manual_seed(7)).flatten(1)
    assert float(g.mean(0).abs().max()) < MONTE_CARLO_SIGMAS * (1 / 3 / count) ** 0.5
    second = g.T @ g / count
    assert float((second - torch.eye(9) / 3).abs().max()) < MONTE_CARLO_SIGMAS * (1 / 5 / count) ** 0.5
    fourth = g[:, 0] ** 4
    assert abs(float(fourth.mean()) - 1 / 5) < MONTE_CARLO_SIGMAS * float(fourth.std()) / count**0.5


def test_haar_is_invariant_under_translation():
    # the trace of g0 R must be distributed as that of R: compare means of a smooth function
    count = 20_000
    g = so(4).sample(count, torch.Generator().manual_seed(1))
    fixed = so(4).sample(1, torch.Generator().manual_seed(2))[0]
    plain, moved = (torch.einsum("nii->n", x).exp() for x in (g, fixed @ g))
    error = float((plain.var() + moved.var()).sqrt()) / count**0.5
    assert abs(float(plain.mean() - moved.mean())) < MONTE_CARLO_SIGMAS * error


def test_both_components_of_o_are_drawn():
    signs = torch.linalg.det(o(3).sample(1000, torch.Generator().manual_seed(0))).sign()
    assert abs(float(signs.mean())) < MONTE_CARLO_SIGMAS / 1000**0.5


def test_sampling_is_seeded():
    a, b = (torus(2).sample(3, torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(a, b)
    assert not torch.equal(a, torus(2).sample(3, torch.Generator().manual_seed(6)))


def test_products_put_factors_in_blocks():
    mixed = compact_product(symmetric(4), so(3))
    g = mixed.sample(1, torch.Generator().manual_seed(0))[0]
    assert torch.equal(g[:4, 4:], torch.zeros(4, 3, dtype=torch.float64))
    assert set(g[:4, :4].unique().tolist()) == {0.0, 1.0}
    assert mixed.blocks == ((0, 4), (4, 7))


def test_finite_groups_as_matrices_multiply_as_permutations():
    group = cyclic(5)
    matrix = as_compact(group).generators[0]
    x = torch.arange(5.0, dtype=torch.float64)
    moved = torch.empty(5, dtype=torch.float64)
    moved[group.permutations[1]] = x
    assert torch.equal(matrix @ x, moved)


@pytest.mark.parametrize("make", [so, o, torus])
def test_sizes_must_be_positive(make):
    with pytest.raises(InputError, match="expected an integer of at least 1, got 0"):
        make(0)


@pytest.mark.parametrize(("make", "largest"), [(so, 64), (o, 64), (torus, 128)])
def test_matrices_are_counted_before_they_are_built(make, largest):
    group = make(largest)
    held = 8 * group.lie_algebra.numel() + 8 * group.generators.numel()
    assert held <= 2**26 < held * (1 + 1 / largest) ** 5
    for too_large in (largest + 1, 999_999, 10**5000):
        with pytest.raises(InputError, match=r"expected at most 67.11 MB, got .* take a smaller group"):
            make(too_large)


def test_products_are_counted_before_they_are_built():
    with pytest.raises(InputError, match="matrices of side 258: expected at most"):
        compact_product(torus(64), torus(65))
    with pytest.raises(InputError, match="C100000, 1 matrices of side 100000: expected at most"):
        compact_product(cyclic(100_000), so(2))
    with pytest.raises(InputError, match=r"samples of SO.*draw fewer"):
        so(3).sample(10**9, torch.Generator())


def test_a_torus_is_the_product_of_its_circles():
    product = compact_product(compact_product(so(2), so(2)), so(2))
    assert torch.equal(torus(3).lie_algebra, product.lie_algebra)
    drawn = [g.sample(4, torch.Generator().manual_seed(0)) for g in (torus(3), product)]
    assert torch.equal(*drawn)
