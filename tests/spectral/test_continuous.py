"""Blocks of kernels on whole orbits, against Fourier coefficients, the finite groups, and plain sums."""

from __future__ import annotations

import pytest
import torch

from symscope.errors import InputError
from symscope.groups import finite_part, haar_quadrature
from symscope.groups.compact import o, so
from symscope.groups.spin import spin
from symscope.spectral.continuous import orbit_blocks, zonal_coefficients
from symscope.spectral.irrep_blocks import fourier_blocks

EXACT = 1e-12


def unit(m: int, n: int, seed: int = 0) -> torch.Tensor:
    x = torch.randn(m, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return x / x.norm(dim=1, keepdim=True)


def polynomial(degree: int):
    """A kernel of clouds or vectors whose degree over the group is this one: all lower degrees occur."""

    def kernel(x, y):
        return (1 + x.flatten(1) @ y.flatten(1).T / 2) ** degree

    return kernel


def profile_at(kernel, x, elements):
    moved = torch.stack([x @ g.T for g in elements], dim=1).flatten(0, 1)
    return kernel(x, moved).reshape(len(x), len(x), len(elements))


def test_the_circle_has_the_fourier_coefficients_of_the_kernel():
    angle = torch.tensor([0.3, 1.7], dtype=torch.float64)
    points = torch.stack([angle.cos(), angle.sin()], dim=1)

    def kernel(x, y):  # 1 + 2 cos(a) / 2 + 2 cos(3 a) / 4
        c = x @ y.T
        return 1 + c + (4 * c**3 - 3 * c) / 2

    blocks = orbit_blocks(kernel, points, so(2), 4)
    assert blocks.captured == pytest.approx(1, abs=EXACT)
    apart = torch.exp(1j * torch.arange(5) * (angle[1] - angle[0]))
    for k, size in enumerate((1, 0.5, 0, 0.25, 0)):
        expected = size * torch.tensor([[1, apart[k]], [apart[k].conj(), 1]], dtype=torch.complex128)
        assert torch.allclose(blocks.blocks[k], expected, atol=EXACT)


@pytest.mark.parametrize(("degree", "agrees"), [(7, True), (9, False)])
def test_the_finite_part_agrees_with_the_circle_up_to_its_band_limit(degree, agrees):
    part, kernel, x = finite_part(so(2)), polynomial(degree), unit(2, 2)
    blocks = orbit_blocks(kernel, x, so(2), degree)
    turns = haar_quadrature(so(2), part.group.order - 1).elements
    finite = {f.index: block for f, block in fourier_blocks(profile_at(kernel, x, turns), part.group)}
    apart = max(
        float((finite[k] / part.group.order - blocks.blocks[k]).abs().max())
        for k in range(part.band_limit + 1)
    )
    assert (apart < EXACT) == agrees


@pytest.mark.parametrize("shape", [(2, 3), (2, 4, 3)])
def test_blocks_of_rotations_are_those_of_a_plain_sum(shape):
    x, kernel = (
        torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)),
        polynomial(2),
    )
    blocks = orbit_blocks(kernel, x, so(3), 2)
    assert blocks.captured == pytest.approx(1, abs=1e-10)
    rule = haar_quadrature(so(3), 4)
    profile = profile_at(kernel, x, rule.elements)
    for degree, block in enumerate(blocks.blocks):
        matrices = torch.stack([spin(degree)(g) for g in rule.elements])
        plain = torch.einsum("q,stq,qij->sitj", rule.weights, profile, matrices)
        plain = plain.reshape(len(block), len(block))
        assert torch.allclose(torch.linalg.eigvalsh(block), torch.linalg.eigvalsh(plain), atol=1e-11)
        assert torch.allclose(block, block.mH, atol=1e-11)


def test_zonal_kernels_have_one_eigenvalue_for_each_degree():
    def zonal(t):
        return 1 + t - 0.5 * t**3 + t**4

    expected = zonal_coefficients(zonal, 4)
    blocks = orbit_blocks(lambda x, y: zonal(x @ y.T), unit(1, 3), so(3), 4)
    for degree, own in enumerate(blocks.eigenvalues()):
        extreme = own[own.abs().argmax()]
        assert torch.isclose(extreme, expected[degree], atol=EXACT)
        assert int((own.abs() > 1e-11).sum()) == 1
        assert blocks.multiplicity(degree) == 2 * degree + 1
    t = torch.linspace(-1, 1, 7, dtype=torch.float64)
    legendre = torch.stack([torch.special.legendre_polynomial_p(t, k) for k in range(5)])
    assert torch.allclose((2 * torch.arange(5) + 1).double() * expected @ legendre, zonal(t))


def test_the_icosahedral_group_agrees_where_its_irreps_are_those_of_rotations():
    """Degrees 0, 1 and 2 stay irreducible under I: for kernels of degree 2 blocks are 60 times SO(3)'s."""
    part, x, kernel = finite_part(so(3)).group, unit(2, 3), polynomial(2)
    blocks = orbit_blocks(kernel, x, so(3), 2)
    finite = list(fourier_blocks(profile_at(kernel, x, part.matrices), part))
    for block in blocks.blocks:
        side = len(block) // 2
        same = [
            own
            for f, own in finite
            if f.dim == side
            and torch.allclose(torch.linalg.eigvalsh(own) / 60, torch.linalg.eigvalsh(block), atol=1e-11)
        ]
        assert len(same) == 1
    assert sum(float(own.abs().max()) > 1e-9 for _, own in finite) == 3


def test_what_lies_beyond_the_band_limit_is_said():
    few = orbit_blocks(polynomial(6), unit(2, 3), so(3), 3)
    assert 0.9 < few.captured < 1 - 1e-6
    assert "exact for kernels up to degree 8" in repr(few)
    more = orbit_blocks(polynomial(6), unit(2, 3), so(3), 6)
    assert more.captured == pytest.approx(1, abs=1e-10)
    for one, other in zip(few.blocks, more.blocks, strict=False):  # exact up to degree 8 all the same
        assert torch.allclose(one, other, atol=1e-10)


def test_bad_input():
    with pytest.raises(InputError, match=r"expected SO\(2\) or SO\(3\), got O\(3\)"):
        orbit_blocks(polynomial(1), unit(2, 3), o(3), 1)
    with pytest.raises(InputError, match="expected 3 coordinates"):
        orbit_blocks(polynomial(1), unit(2, 2), so(3), 1)
    with pytest.raises(InputError, match="expected a kernel that is invariant"):
        orbit_blocks(lambda x, y: x[:, :1] @ y[:, :1].T, unit(2, 3), so(3), 1)
    with pytest.raises(InputError, match="nodes"):
        zonal_coefficients(torch.exp, 4, nodes=3)
