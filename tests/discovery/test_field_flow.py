"""Flows: the two ways agree, a closed form, and the group law."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from symscope import InputError
from symscope.discovery._field_flow import point_flows
from symscope.discovery.fields import FunctionField, linear_field
from symscope.discovery.sampling import ParameterPoints
from symscope.discovery.uses import field_flow
from tests.tolerances import ODE

NOTHING = torch.zeros(1, 1, dtype=torch.float64)


def _affine(seed):
    generator = torch.Generator().manual_seed(seed)
    return linear_field(
        torch.randn(3, 3, generator=generator, dtype=torch.float64),
        torch.randn(3, generator=generator, dtype=torch.float64),
    )


@settings(max_examples=8)
@given(st.integers(0, 1000), st.floats(-1, 1))
def test_the_exponential_is_the_solution_of_the_equation(seed, time):
    field = _affine(seed)
    theta = torch.tensor([1.0, -2.0, 0.5]).double()
    exact = field_flow(field, theta, NOTHING, NOTHING, time)
    solved = field_flow(FunctionField(field), theta, NOTHING, NOTHING, time)
    assert torch.allclose(exact, solved, rtol=ODE, atol=ODE)
    back = field_flow(field, exact, NOTHING, NOTHING, -time)
    assert torch.allclose(back, theta, atol=ODE)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_blocks_are_moved_as_the_whole_matrix_would_move_them(seed, sizes):
    generator = torch.Generator().manual_seed(seed)
    blocks = [torch.randn(size, size, generator=generator, dtype=torch.float64).triu() for size in sizes]
    order = torch.randperm(sum(sizes), generator=generator)
    matrix = torch.block_diag(*blocks)[order][:, order]
    offset, theta = torch.randn(2, sum(sizes), generator=generator, dtype=torch.float64)
    whole = torch.zeros(len(matrix) + 1, len(matrix) + 1, dtype=torch.float64)
    whole[:-1, :-1], whole[:-1, -1] = matrix, offset
    wanted = torch.linalg.matrix_exp(0.7 * whole) @ torch.cat([theta, torch.ones(1).double()])
    moved = field_flow(linear_field(matrix, offset), theta, NOTHING, NOTHING, 0.7)
    assert torch.allclose(moved, wanted[:-1], rtol=ODE, atol=ODE)


def test_a_data_dependent_flow_in_closed_form_and_one_system_for_all_points():
    growth = FunctionField(lambda theta, x, y: x[0, 0] * theta**2, "growth")
    theta = torch.tensor([[0.5, -1.0], [0.25, 2.0]]).double()
    x = torch.tensor([[[0.5]], [[-1.0]]]).double()
    result = point_flows(growth, ParameterPoints(theta, x, x), 0.8)
    assert torch.allclose(result, theta / (1 - 0.8 * x[:, 0] * theta), atol=ODE)


def test_flows_that_blow_up_are_refused():
    growth = FunctionField(lambda theta, x, y: theta**2, "growth")
    with pytest.raises(InputError, match=r"growth.*(could not be followed|not finite)"):
        field_flow(growth, torch.ones(1).double(), NOTHING, NOTHING, 2.0, accuracy=1e-3)
    wild = linear_field(1e3 * torch.eye(2, dtype=torch.float64), name="wild")
    with pytest.raises(InputError, match="wild: the matrix exponential overflows"):
        field_flow(wild, torch.ones(2).double(), NOTHING, NOTHING, math.pi)
