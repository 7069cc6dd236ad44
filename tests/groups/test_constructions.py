from __future__ import annotations

import pytest
import torch
from hypothesis import given

from symscope.errors import InputError
from symscope.groups import cyclic, dihedral, from_matrices, parse, permutation, symmetric, trivial
from symscope.groups.compact import so
from symscope.groups.constructions import block, defining, from_function, regular
from symscope.groups.polyhedral import octahedral
from symscope.testing import assert_representation
from tests.groups.strategies import normal, simple_groups


@given(simple_groups)
def test_regular_moves_h_to_gh(group):
    rep = regular(group)
    for g in group.generators:
        f = normal(group.order, seed=g)
        moved = rep.act(g, f)
        for h in group.elements:
            assert moved[group.multiply(g, h)] == f[h]


def test_trivial_moves_nothing():
    x = normal(3, seed=0)
    assert torch.equal(trivial(cyclic(4), 3).act(1, x), x)
    assert trivial(so(3)).act_algebra(so(3).lie_algebra[0], torch.ones(1)).item() == 0


def test_defining_is_matrices_where_there_are_some():
    assert defining(octahedral()).dim == 3
    assert defining(symmetric(9)).dim == 9
    assert torch.equal(defining(so(2))(so(2).identity), torch.eye(2, dtype=torch.float64))
    assert_representation(defining(octahedral()))


def test_user_permutations_are_checked():
    g = cyclic(6)
    turn = torch.arange(6)
    shifts = torch.stack([(turn + 2 * k) % 6 for k in range(6)])
    assert_representation(permutation(g, shifts))
    wrong = shifts.clone()
    wrong[2] = shifts[3]
    with pytest.raises(InputError, match="multiply as C6 does; element"):
        permutation(g, wrong)
    with pytest.raises(InputError, match="expected 6 permutations, one per element, got 5"):
        permutation(g, shifts[:5])
    with pytest.raises(InputError, match="expected no points: S9 is not listed"):
        permutation(symmetric(9), shifts)


def test_factors_of_a_product():
    mixed = parse("S4xSO(3)")
    for i, dim in enumerate((4, 3)):
        assert block(mixed, i).dim == dim
        assert_representation(block(mixed, i))
    with pytest.raises(InputError, match="expected a factor of S4xSO\\(3\\) from 0 to 1, got 2"):
        block(mixed, 2)


def test_functions_as_representations():
    rep = from_function(cyclic(7), 7, lambda g, x: x.roll(g, -1), unitary=True)
    assert_representation(rep)
    assert torch.equal(rep.matrices, permutation(cyclic(7)).matrices)
    halves = from_function(cyclic(2), 3, lambda g, x: x * (0.5 if g else 1.0), unitary=False)
    with pytest.raises(
        AssertionError, match=r"differs from rho\(gh\) by 0\.75 \(relative\) for 1 \(r\) and 1 \(r\)"
    ):
        assert_representation(halves)


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        (torch.ones(3, 2, 2), r"expected matrices \[4, d, d\] for C4, got \(3, 2, 2\)"),
        (torch.full((4, 1, 1), float("inf")), "NaN or infinite"),
        (2 * torch.ones(4, 1, 1), "identity matrix for the identity"),
        (
            torch.tensor([1.0, -1.0, -1.0, 1.0]).view(4, 1, 1),
            r"rho\(r\) rho\(r.*\) differs from rho\(.*\) by 2",
        ),
    ],
)
def test_matrices_that_are_no_representation(matrices, message):
    with pytest.raises(InputError, match=message):
        from_matrices(cyclic(4), matrices)


def test_unitarity_is_noticed():
    assert from_matrices(cyclic(2), torch.tensor([[[1.0]], [[-1.0]]])).unitary
    skew = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.0, -1.0]]])
    assert not from_matrices(cyclic(2), skew).unitary
    assert not from_matrices(dihedral(1), skew).unitary
