"""Null spaces: dimensions planted in random matrices are found, with the stated significance."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.discovery.exact import null_space
from symscope.discovery.exact._null_space import converged_null_space, echelon, selected_dimension


def _matrix(rows, columns, null, seed):
    generator = torch.Generator().manual_seed(seed)
    left = torch.randn(rows, columns - null, generator=generator, dtype=torch.float64)
    right = torch.randn(columns - null, columns, generator=generator, dtype=torch.float64)
    scales = torch.exp(2 * torch.randn(columns, generator=generator, dtype=torch.float64))
    return (left @ right) * scales  # columns of very different sizes


@given(st.integers(3, 20), st.integers(0, 5), st.integers(0, 10**6))
def test_planted_null_spaces_are_found_in_blocks(columns, null, seed):
    null = min(null, columns - 2)
    matrix = _matrix(2 * columns + 5, columns, null, seed)
    result = null_space([matrix[:columns], matrix[columns:]])
    assert result.dimension == null
    assert result.rows == 2 * columns + 5
    assert (matrix @ result.basis).norm() < 1e-10 * matrix.norm()
    if null:
        eye = torch.eye(null, dtype=torch.float64)
        assert torch.allclose(result.basis.T @ result.basis, eye, atol=1e-12)
        _, _, right = torch.linalg.svd(matrix)  # the same space from the whole matrix
        oracle = right[columns - null :].T
        assert torch.linalg.svdvals(oracle.T @ result.basis).min() > 1 - 1e-8
        assert result.chance < 1e-3 < result.gap
    else:
        assert result.chance == 1.0


def test_a_column_of_rounding_is_a_null_vector():
    matrix = _matrix(30, 8, 0, seed=1)
    matrix[:, 3] = 1e-17 * matrix[:, 3].sign()  # what a sum that cancels leaves
    result = null_space([matrix])
    assert result.dimension == 1
    assert float(result.basis[3, 0].abs()) > 1 - 1e-12


def test_a_spectrum_that_runs_into_rounding_has_no_dimension():
    # Hilbert matrices are invertible, but their spectrum falls through the floor without a step
    n = 14
    index = torch.arange(1, n + 1, dtype=torch.float64)
    hilbert = 1 / (index[:, None] + index[None] - 1)
    result = null_space([hilbert])
    assert (result.singular_values < result.floor).any()
    assert result.dimension == 0
    assert result.chance > result.level


def test_the_chance_is_that_of_exponential_steps():
    values = torch.tensor([1.0, 0.1, 0.01, 1e-9]).double()
    dimension, gap, chance = selected_dimension(values, floor=1e-8, level=0.5)
    steps = torch.distributions.Exponential(1 / torch.log(torch.tensor(10.0).double()))
    torch.manual_seed(0)
    simulated = steps.sample((200_000, 3)).amax(1) > torch.log(torch.tensor(gap))
    assert gap == pytest.approx(1e6)
    assert chance == pytest.approx(simulated.double().mean().item(), abs=4 * (chance / 200_000) ** 0.5 + 1e-9)
    assert dimension == 1


def test_fresh_constraints_are_added_until_they_change_nothing():
    # only one row in ten looks at the last unknown: the first round may miss it, the null space must not
    def block(count, turn):
        rows = torch.randn(count, 5, generator=torch.Generator().manual_seed(turn), dtype=torch.float64)
        rows[:, 1] = 0
        rows[: count - (turn > 1), 4] = 0  # its first constraint comes in the third round
        return rows

    assert converged_null_space(block, 5).dimension == 2  # settles before: nothing contradicts it
    result = converged_null_space(lambda count, turn: block(count, turn + 1), 5)
    assert result.dimension == 1
    assert result.held_out < 1e-12
    assert result.basis[1].abs().item() == pytest.approx(1)
    with pytest.raises(InputError, match="most gradients vanish"):
        converged_null_space(lambda count, turn: torch.zeros(count, 5).double(), 5)


def test_edges():
    assert null_space([torch.zeros(4, 3).double()]).dimension == 3
    with pytest.raises(InputError, match="at least 3 constraints for as many unknowns, got 2"):
        null_space([torch.ones(2, 3).double()])
    with pytest.raises(InputError, match="NaN or infinity"):
        null_space([torch.full((3, 2), torch.nan).double()])


@given(st.integers(0, 10**6))
def test_echelon_keeps_the_space_and_finds_planted_sparsity(seed):
    generator = torch.Generator().manual_seed(seed)
    sparse = torch.zeros(12, 3, dtype=torch.float64)
    for k in range(3):
        sparse[4 * k : 4 * k + 4, k] = 0.5 + torch.rand(4, generator=generator, dtype=torch.float64)
    mix = torch.linalg.qr(torch.randn(3, 3, generator=generator, dtype=torch.float64)).Q
    result = echelon(torch.linalg.qr(sparse).Q @ mix)
    assert ((result != 0).sum(0) == 4).all()
    assert torch.linalg.matrix_rank(torch.cat([result, sparse], 1)) == 3
    assert (result.abs().amax(0) == 1).all()
