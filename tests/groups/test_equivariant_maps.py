from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import (
    character,
    cyclic,
    dihedral,
    equivariant_maps,
    from_matrices,
    invariant_vectors,
    irreps,
    parse,
    permutation,
    symmetric,
    trivial,
)
from symscope.groups.compact import so
from symscope.groups.constructions import block, defining, regular
from symscope.testing import assert_equivariant
from tests.groups.strategies import normal, simple_groups
from tests.tolerances import FOURIER, ROUNDING


@st.composite
def pairs_of_sums(draw):
    """Two random sums of representations of one group."""
    group = draw(simple_groups.filter(lambda g: g.order <= 24))
    atoms = [trivial(group), permutation(group), *irreps(group)]
    sums = []
    for _ in range(2):
        parts = draw(st.lists(st.tuples(st.integers(1, 2), st.sampled_from(atoms)), min_size=1, max_size=2))
        rep = parts[0][0] * parts[0][1]
        for k, part in parts[1:]:
            rep = rep + k * part
        sums.append(rep)
    return sums


@given(pairs_of_sums())
def test_projection_is_the_mean_over_the_group(reps):
    v, w = reps
    maps = equivariant_maps(v, w)
    a = normal(2, w.dim, v.dim, seed=v.dim)
    wide = a.to(torch.complex128)
    mean = torch.stack(
        [w(g).to(wide.dtype) @ wide @ v(v.group.inverse(g)).to(wide.dtype) for g in v.group.elements]
    ).mean(dim=0)
    assert torch.allclose(maps.project(a).to(wide.dtype), mean, atol=FOURIER)
    assert torch.allclose(maps.distance(a), torch.linalg.matrix_norm(wide - mean), atol=FOURIER)


@given(pairs_of_sums())
def test_dimension_is_the_inner_product_of_characters(reps):
    v, w = reps
    expected = (character(v).conj() * character(w)).mean()
    assert equivariant_maps(v, w).dimension == int(expected.real.round())


@given(pairs_of_sums())
def test_basis_is_orthonormal_equivariant_and_complete(reps):
    v, w = reps
    maps = equivariant_maps(v, w)
    basis = maps.basis
    flat = basis.flatten(1)
    assert torch.allclose(flat.conj() @ flat.T, torch.eye(maps.dimension, dtype=flat.dtype), atol=FOURIER)
    for b in basis[:3]:
        assert_equivariant(
            lambda x, b=b: x.to(b.dtype) @ b.T, v, w, normal(4, v.dim, seed=1), tolerance=FOURIER
        )
    a = normal(w.dim, v.dim, seed=2)
    assert torch.allclose(maps.combine(maps.coefficients(a)), maps.project(a).to(flat.dtype), atol=FOURIER)


def test_known_dimensions():
    v = permutation(symmetric(10))
    assert equivariant_maps(v, v).dimension == 2
    assert equivariant_maps(v * v, v * v).dimension == 15
    assert equivariant_maps(permutation(cyclic(9)), permutation(cyclic(9))).dimension == 9
    assert invariant_vectors(v * v).dimension == 2
    assert equivariant_maps(regular(dihedral(5)), regular(dihedral(5))).dimension == 10


def test_s10_on_matrices_projects_as_averaging_does():
    v = permutation(symmetric(10))
    maps = equivariant_maps(v * v, v * v)
    a = normal(100, 100, seed=0)
    nearest = maps.project(a)
    for g in v.group.sample(5, torch.Generator().manual_seed(0)):
        pair = (v * v).permutation(g)
        assert torch.allclose(nearest[pair][:, pair], nearest, atol=ROUNDING)
    # orbits are known: entries (i,j)->(k,l) with all four different are averaged over 10*9*8*7 of them
    index = torch.cartesian_prod(*[torch.arange(10)] * 4)
    distinct = torch.tensor([len(set(row)) == 4 for row in index.tolist()])
    expected = a.reshape(-1)[distinct].mean()
    assert abs(float(nearest.reshape(-1)[distinct].max() - expected)) < ROUNDING
    assert abs(float(nearest.reshape(-1)[distinct].min() - expected)) < ROUNDING


def image_translations(n: int):
    pixels = torch.arange(n * n).view(n, n)
    shifts = [pixels.roll((-i, -j), (0, 1)).reshape(-1) for i in range(n) for j in range(n)]
    return permutation(parse(f"C{n}xC{n}"), torch.stack(shifts))


def test_channels_share_one_small_problem():
    v = image_translations(14)
    maps = equivariant_maps(32 * v, 32 * v)
    assert maps.dimension == 32 * 32 * 196
    a = normal(3 * 196, 2 * 196, seed=0)
    few = equivariant_maps(2 * v, 3 * v)
    nearest = few.project(a)
    one = equivariant_maps(v, v).project(a[196:392, :196])
    assert torch.allclose(nearest[196:392, :196], one, atol=ROUNDING)
    with pytest.raises(InputError, match="use project, combine and coefficients"):
        _ = maps.basis


def test_equivariant_image_maps_are_convolutions():
    v = image_translations(6)
    a = equivariant_maps(v, v).project(normal(36, 36, seed=1))
    x = normal(6, 6, seed=2)
    kernel = a[:, 0].view(6, 6)
    convolved = torch.fft.ifft2(torch.fft.fft2(x) * torch.fft.fft2(kernel)).real
    assert torch.allclose((a @ x.reshape(-1)).view(6, 6), convolved, atol=ROUNDING)


def test_mixtures_of_finite_and_lie():
    mixed = parse("S4xSO(3)")
    points = block(mixed, 0) * block(mixed, 1)  # four points in space
    assert equivariant_maps(points, points).dimension == 2
    assert equivariant_maps(points, block(mixed, 1)).dimension == 1  # the mean position


def test_non_unitary_projection_is_the_nearest():
    change = torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    v = irreps(dihedral(3))[2]
    skew = from_matrices(dihedral(3), change @ v.matrices @ torch.linalg.inv(change))
    maps = equivariant_maps(skew, skew)
    a = normal(2, 2, seed=0)
    eye = torch.eye(2, dtype=torch.float64)
    assert torch.allclose(maps.project(a), torch.trace(a) / 2 * eye, atol=FOURIER)


def test_float32_stays_float32():
    v = image_translations(4)
    assert equivariant_maps(2 * v, v).project(torch.ones(16, 32)).dtype == torch.float32


def test_bad_input():
    v = permutation(cyclic(4))
    maps = equivariant_maps(v, 2 * v)
    with pytest.raises(InputError, match="one group, got C4 and SO"):
        equivariant_maps(v, defining(so(3)))
    with pytest.raises(
        InputError, match=r"shape \[..., 8, 4\] for maps from V4 of C4 to 2 V4 of C4, got \(4, 8\)"
    ):
        maps.project(torch.ones(4, 8))
    with pytest.raises(InputError, match="expected 8 coefficients along the last axis, got 3"):
        maps.combine(torch.ones(3))
