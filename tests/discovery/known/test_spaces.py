"""Hidden spaces: the fields and transformations of units, against matrices by hand."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.discovery.known import HiddenSpace, hidden_spaces
from symscope.discovery.known._spaces import ActivationKind, HiddenSide, sparse_field
from symscope.discovery.uses import field_flow
from tests.discovery.networks import two_layers
from tests.tolerances import ROUNDING

NOTHING = torch.zeros(1, 1, dtype=torch.float64)


def _named(made, theta):
    return made.layout.named(theta)


def test_mixing_moves_the_weights_as_matrices_do():
    made = two_layers(2, 3, 2, "linear", bias=True)
    [space] = hidden_spaces(made)
    theta = made.random_points(1, 1, seed=0).theta[0]
    E = torch.zeros(3, 3, dtype=torch.float64)
    E[0, 2] = 1
    moved = _named(made, field_flow(space.mixing(0, 2), theta, NOTHING, NOTHING, 0.7))
    before, A = _named(made, theta), torch.linalg.matrix_exp(0.7 * E)
    assert torch.allclose(moved["0.weight"], A @ before["0.weight"], atol=ROUNDING)
    assert torch.allclose(moved["0.bias"], A @ before["0.bias"], atol=ROUNDING)
    assert torch.allclose(moved["2.weight"], before["2.weight"] @ torch.linalg.inv(A), atol=ROUNDING)
    assert torch.equal(moved["2.bias"], before["2.bias"])


def test_shifts_flips_and_swaps():
    made = two_layers(2, 3, 2, "linear", bias=True)
    [space] = hidden_spaces(made)
    theta = made.random_points(1, 1, seed=0).theta[0]
    before = _named(made, theta)
    shifted = _named(made, field_flow(space.shift(1), theta, NOTHING, NOTHING, 2.0))
    assert torch.allclose(shifted["0.bias"] - before["0.bias"], torch.tensor([0.0, 2.0, 0.0]).double())
    assert torch.allclose(shifted["2.bias"] - before["2.bias"], -2 * before["2.weight"][:, 1])
    flipped = _named(made, space.flip(1, made.size).function(theta, NOTHING, NOTHING))
    assert torch.equal(flipped["0.weight"][1], -before["0.weight"][1])
    assert torch.equal(flipped["2.weight"][:, [0, 2]], before["2.weight"][:, [0, 2]])
    swapped = _named(made, space.swap(0, 2, made.size).function(theta, NOTHING, NOTHING))
    assert torch.equal(swapped["0.bias"], before["0.bias"][[2, 1, 0]])
    assert torch.equal(swapped["2.weight"], before["2.weight"][:, [2, 1, 0]])


def test_repeated_entries_add_and_uneven_sides_are_refused():
    field = sparse_field(torch.tensor([3, 3]), torch.tensor([1, 1]), torch.tensor([2.0, 5.0]), "")
    assert field.matrix.tolist() == [[0, 0], [7, 0]]
    sides = (
        HiddenSide("a", torch.zeros(2, 1).long(), False),
        HiddenSide("b", torch.zeros(3, 1).long(), True),
    )
    with pytest.raises(InputError, match=r"same number of units, got \[2, 3\]"):
        HiddenSpace("units", sides, ActivationKind.LINEAR)
