from __future__ import annotations

import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.groups import cyclic, dihedral, direct_product, irreps, parse
from symscope.groups._characters import cyclic_irreps
from symscope.groups.named_groups import quaternion
from tests.groups.strategies import normal, simple_groups
from tests.tolerances import ROUNDING


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_characters_are_the_rows_of_the_fft(sizes):
    group = parse("x".join(f"C{n}" for n in sizes))
    impulses = torch.eye(group.order, dtype=torch.complex128).reshape(group.order, *sizes)
    rows = torch.fft.fftn(impulses, dim=tuple(range(1, len(sizes) + 1))).reshape(group.order, group.order)
    for k, rho in enumerate(cyclic_irreps(group, tuple(sizes))):
        assert torch.allclose(rho.matrices[:, 0, 0].to(rows.dtype), rows[:, k], atol=ROUNDING)
        assert rho.matrices.is_complex() == bool((rows[:, k].imag.abs() > ROUNDING).any())


def test_phases_of_large_groups_are_exact():
    n, k = 5003, 4999
    g = torch.arange(n, dtype=torch.float64)
    slow = torch.exp(2j * torch.pi * ((4 * g) % n) / n)  # -4999 g = 4 g
    matrices = irreps(cyclic(n))[k].matrices
    assert float((matrices[:, 0, 0] - slow).abs().max()) < 1e-14
    assert float((matrices[2501] - irreps(cyclic(n))[k](2501)).abs().max()) == 0


@given(simple_groups, simple_groups)
def test_product_irreps_are_kronecker_products(left, right):
    if left.order * right.order > 150:
        return
    group = direct_product(left, right)
    if group.cyclic_factors is not None:
        return
    pairs = [(a, b) for a in irreps(left) for b in irreps(right)]
    for rho, (a, b) in zip(irreps(group), pairs, strict=True):
        for g in group.generators:
            expected = torch.kron(a(g // right.order), b(g % right.order))
            assert torch.allclose(rho(g), expected, atol=ROUNDING)
            assert torch.allclose(rho.matrices[g], expected, atol=ROUNDING)


@pytest.mark.parametrize(
    "rho", [irreps(parse("C3xC4"))[5], irreps(direct_product(quaternion(), dihedral(3)))[-1]]
)
def test_lazy_irreps_act_keep_precision_and_travel(rho):
    x = normal(2, rho.dim, seed=0)
    for g in rho.group.elements:
        assert torch.allclose(rho.act(g, x), x.to(rho.matrices.dtype) @ rho.matrices[g].T, atol=ROUNDING)
        assert torch.allclose(rho(g), rho.matrices[g], atol=ROUNDING)
    assert rho.act(1, x.float()).dtype == torch.complex64
    again = pickle.loads(pickle.dumps(rho))
    assert torch.equal(again.matrices, rho.matrices)
    assert torch.equal(again.act(5, x), rho.act(5, x))
