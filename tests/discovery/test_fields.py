"""Fields and their brackets: Lie-algebra laws, and Jacobian-vector products against matrices."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.discovery.exact import DictionaryField, monomials
from symscope.discovery.fields import (
    FunctionField,
    LinearField,
    field_combination,
    field_values,
    lie_bracket,
    linear_field,
)
from symscope.discovery.sampling import ParameterPoints
from tests.discovery.networks import random_linear_field
from tests.tolerances import ROUNDING

NOTHING = torch.zeros(1, 1, dtype=torch.float64)


def _affine(seed: int, size: int = 4) -> LinearField:
    generator = torch.Generator().manual_seed(seed)
    return linear_field(
        torch.randn(size, size, generator=generator, dtype=torch.float64),
        torch.randn(size, generator=generator, dtype=torch.float64),
    )


def _as_function(field):
    return FunctionField(field, field.name, field.data_dependent)


def _at(field, seed=11, size=4):
    theta = torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return field(theta, NOTHING, NOTHING)


@given(st.integers(0, 500), st.integers(501, 1000))
def test_brackets_of_affine_fields_are_those_of_functions_and_antisymmetric(a, b):
    v, w = _affine(a), _affine(b)
    exact = lie_bracket(v, w)
    assert isinstance(exact, LinearField)
    assert torch.allclose(_at(exact), _at(lie_bracket(_as_function(v), _as_function(w))), atol=100 * ROUNDING)
    assert torch.allclose(_at(exact), -_at(lie_bracket(w, v)), atol=100 * ROUNDING)


@given(st.integers(0, 300))
def test_brackets_satisfy_jacobi(seed):
    u, v, w = _affine(seed), _affine(seed + 1000), _affine(seed + 2000)
    total = (
        _at(lie_bracket(u, lie_bracket(v, w)))
        + _at(lie_bracket(v, lie_bracket(w, u)))
        + _at(lie_bracket(w, lie_bracket(u, v)))
    )
    assert total.abs().max() < 1e3 * ROUNDING


def test_a_left_action_has_minus_the_commutator():
    A, B = _affine(1).matrix, _affine(2).matrix
    result = lie_bracket(linear_field(A), linear_field(B))
    assert torch.allclose(result.dense(4), -(A @ B - B @ A))


def test_brackets_of_fields_on_different_entries():
    A = linear_field(torch.tensor([[0.0, 2, 0], [0, 0, 0], [0, 0, 0]], dtype=torch.float64))
    B = linear_field(torch.tensor([[0.0, 0, 0], [0, 0, 3], [0, 0, 0]], dtype=torch.float64))
    assert (A.support.tolist(), B.support.tolist()) == ([0, 1], [1, 2])
    expected = B.dense(3) @ A.dense(3) - A.dense(3) @ B.dense(3)
    assert torch.equal(lie_bracket(A, B).dense(3), expected)


def test_linear_fields_keep_what_they_touch():
    full = torch.zeros(5, 5, dtype=torch.float64)
    full[1, 3] = 2.0
    field = linear_field(full, torch.tensor([0, 0, 0, 0, 7.0]).double())
    assert field.support.tolist() == [1, 3, 4]
    assert torch.equal(field.dense(5), full)
    assert field.dense_offset(5).tolist() == [0, 0, 0, 0, 7]
    assert field(torch.arange(5.0).double(), NOTHING, NOTHING).tolist() == [0, 6, 0, 0, 7]


def test_dictionary_fields_and_values_on_samples():
    dictionary = monomials(2, 1, inputs=1, data_degree=1)  # 1, x, a, ax, b, bx
    coefficients = torch.tensor([[0, 0, 0, 2.0, 0, 0], [1.0, 0, 0, 0, 0, -1.0]]).double()
    field = DictionaryField(dictionary, coefficients, data_dependent=True)
    theta, x = torch.tensor([[3.0, 5.0], [1.0, 2.0]]).double(), torch.tensor([[[2.0]], [[4.0]]]).double()
    values = field_values(field, ParameterPoints(theta, x, x))
    assert values.tolist() == [[12.0, -9.0], [8.0, -7.0]]


def test_combinations_and_random_fields():
    v, w = _affine(1), _affine(2)
    mixed = field_combination([v, w], torch.tensor([2.0, -1.0]).double())
    assert torch.allclose(_at(mixed), 2 * _at(v) - _at(w))
    assert not mixed.data_dependent
    assert random_linear_field(6, seed=1).matrix.norm() == pytest.approx(1)
    with pytest.raises(InputError, match="one weight for each field, got 2 for 1"):
        field_combination([v], torch.zeros(2))
    with pytest.raises(InputError, match="every entry once"):
        LinearField(torch.tensor([1, 1]), torch.eye(2), torch.zeros(2))
