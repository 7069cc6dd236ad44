from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import from_matrices, irreps, permutation, symmetric, unitarity_error
from symscope.groups.compact import so
from symscope.groups.constructions import defining, from_function
from symscope.groups.spin import spin
from symscope.groups.unitarity import unitary_form
from symscope.testing import assert_representation
from tests.groups.strategies import normal, simple_groups
from tests.tolerances import FOURIER


@given(simple_groups, st.integers(0, 100))
def test_unitarised_is_unitary_and_equivalent(group, seed):
    rho = irreps(group)[-1]
    change = normal(rho.dim, rho.dim, seed=seed) + 3 * torch.eye(rho.dim, dtype=torch.float64)
    change = change.to(rho.matrices.dtype)
    skew = from_matrices(group, change @ rho.matrices @ torch.linalg.inv(change))
    straight, basis = unitary_form(skew)
    assert straight.unitary
    assert unitarity_error(straight) < 1e-8
    assert_representation(straight, tolerance=1e-7)
    for g in group.generators:
        assert torch.allclose(basis @ skew(g), straight(g) @ basis, atol=1e-8)


def test_error_is_zero_for_unitary_and_positive_otherwise():
    assert unitarity_error(permutation(symmetric(9))) == 0
    assert unitarity_error(spin(3) + defining(so(3))) < FOURIER
    stretch = from_function(
        so(2), 2, lambda g, x: x @ torch.tensor([[1.0, 0.3], [0.0, 1.0]]).double(), unitary=False
    )
    with pytest.raises(InputError, match="Lie algebra"):
        unitarity_error(stretch)
    assert unitarity_error(from_function(symmetric(3), 2, lambda g, x: 2 * x, unitary=False)) == 3.0


def test_bad_input():
    with pytest.raises(InputError, match="listed finite group, got SO"):
        unitary_form(defining(so(3)))
