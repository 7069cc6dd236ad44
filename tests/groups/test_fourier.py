from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import cyclic, dihedral, irreps, parse, symmetric
from symscope.groups.fourier import coset_fourier, fourier, inverse_coset_fourier, inverse_fourier
from symscope.groups.subgroups import cosets
from tests.groups.strategies import finite_groups, normal
from tests.tolerances import FOURIER, ROUNDING


@given(finite_groups)
def test_round_trip(group):
    f = normal(2, 3, group.order, seed=group.order, dtype=torch.complex128)
    assert float((inverse_fourier(fourier(f, group), group) - f).abs().max()) < FOURIER


@given(finite_groups)
def test_definition(group):
    f = normal(group.order, seed=1)
    for block, rho in zip(fourier(f, group), irreps(group), strict=True):
        slow = sum(f[g] * rho(g).to(torch.complex128) for g in group.elements)
        assert torch.allclose(block, slow, atol=FOURIER * group.order)


@given(finite_groups)
def test_convolution_becomes_matrix_product(group):
    a, b = normal(group.order, seed=2), normal(group.order, seed=3)
    convolved = torch.zeros(group.order, dtype=torch.float64)
    for g in group.elements:
        convolved[group.table[g]] += a[g] * b  # (a * b)(gh) += a(g) b(h)
    for x, y, z in zip(fourier(a, group), fourier(b, group), fourier(convolved, group), strict=True):
        assert torch.allclose(x @ y, z, atol=FOURIER * group.order)


@given(finite_groups)
def test_plancherel(group):
    f = normal(group.order, seed=4)
    energy = sum(
        rho.dim * float(block.abs().square().sum())
        for rho, block in zip(irreps(group), fourier(f, group), strict=True)
    )
    assert abs(energy / group.order - float(f.square().sum())) < FOURIER * group.order


def test_cyclic_products_are_the_fft():
    f = normal(4, 3 * 5, seed=0)
    blocks = torch.stack([b[..., 0, 0] for b in fourier(f, parse("C3xC5"))], dim=-1)
    assert torch.allclose(blocks, torch.fft.fft2(f.view(4, 3, 5)).view(4, 15), atol=ROUNDING)


@given(finite_groups, st.data())
def test_coset_round_trip_and_lift(group, data):
    h = group.subgroup([data.draw(st.sampled_from(list(group.elements)))])
    rows = cosets(group, h)
    f = normal(2, len(rows), seed=len(rows))
    blocks = coset_fourier(f, group, h)
    assert float((inverse_coset_fourier(blocks, group, h) - f).abs().max()) < FOURIER
    # as a function on the group, constant on cosets, the transform is |H| f_hat Q^H
    lifted = torch.empty(2, group.order, dtype=torch.float64)
    lifted[:, rows.reshape(-1)] = f.repeat_interleave(len(h), dim=1)
    for (block, fixed), whole in zip(blocks, fourier(lifted, group), strict=True):
        assert torch.allclose(len(h) * block @ fixed.mH, whole, atol=FOURIER * group.order)
    # as many numbers as cosets
    assert sum(rho.dim * q.shape[1] for rho, (_, q) in zip(irreps(group), blocks, strict=True)) == len(rows)


def test_float32_in_complex64_out():
    assert fourier(torch.ones(6), symmetric(3))[2].dtype == torch.complex64
    assert fourier(torch.ones(6), cyclic(6))[2].dtype == torch.complex64


def test_bad_input():
    with pytest.raises(
        InputError, match="functions of length 6 along the last axis for S3, got shape \\(5,\\)"
    ):
        fourier(torch.ones(5), symmetric(3))
    with pytest.raises(InputError, match="expected 4 blocks"):
        inverse_fourier(fourier(torch.ones(3), cyclic(3)), cyclic(4))
    with pytest.raises(InputError, match="blocks of sizes"):
        inverse_fourier(fourier(torch.ones(6), cyclic(6)), symmetric(3))
    with pytest.raises(InputError, match="functions of length 4"):
        coset_fourier(torch.ones(8), dihedral(4), [0, 4])
    with pytest.raises(InputError, match="not closed"):
        coset_fourier(torch.ones(8), dihedral(4), [0, 1])
    with pytest.raises(InputError, match="expected 5 blocks"):
        inverse_coset_fourier(coset_fourier(torch.ones(2), cyclic(4), [0, 2]), dihedral(4), [0, 2])
