"""Combinators on random networks: what a part keeps, the whole keeps (Sec. 4)."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from symscope import InputError
from symscope.discovery import gaussian_data, parameter_problem, verify
from symscope.discovery.candidates import OneParameterAction, Transformation, signed_permutation
from symscope.discovery.exact import linear_symmetries
from symscope.discovery.fields import FunctionField, LinearField, linear_combination, linear_field
from symscope_papers.discovery.induced.combinators import (
    deepened_symmetry,
    induced_symmetry,
    part_problem,
    smaller_batch_symmetry,
    widened_symmetry,
)
from symscope_papers.discovery.induced.level_field import level_field
from tests.discovery.networks import ACTIVATIONS, chain, two_layers


def _level(made, seed):
    generator = torch.Generator().manual_seed(seed)
    return level_field(made, torch.randn(made.size, generator=generator, dtype=torch.float64))


def _element(fields, seed):
    """A random element of an algebra."""
    weights = torch.randn(len(fields), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return linear_combination(tuple(fields), weights)


@settings(max_examples=3)
@given(
    st.integers(0, 1000), st.integers(1, 3), st.integers(2, 3), st.sampled_from(["linear", "relu", "leaky"])
)
def test_linear_symmetries_of_narrow_networks_hold_in_wider_ones(seed, m, n, activation):
    h, wide_h = 2, 5
    narrow, wide = two_layers(m, h, n, activation), two_layers(m, wide_h, n, activation)
    units = torch.randperm(wide_h, generator=torch.Generator().manual_seed(seed))[:h].tolist()
    element = _element(linear_symmetries(narrow, seed=seed, affine=False).fields, seed)
    carried = widened_symmetry(element, narrow, wide, units)
    assert isinstance(carried, LinearField)
    assert verify(wide, carried, seed=seed, points=4).holds


@pytest.mark.parametrize(("activation", "bias"), [("tanh", False), ("sigmoid", True)])
def test_a_data_dependent_symmetry_of_the_squared_loss_holds_in_a_wider_network(activation, bias):
    narrow, wide = two_layers(1, 2, 2, activation, bias), two_layers(1, 4, 2, activation, bias)
    field = _level(narrow, seed=1)
    settings = {"seed": 0, "points": 2, "batch_sizes": (1,), "lengths": (0.02,)}
    assert verify(narrow, field, **settings).holds
    carried = widened_symmetry(field, narrow, wide, [3, 1])
    result = verify(wide, carried, **settings)
    assert result.holds
    assert result.data_dependence > 1e-3
    naive = induced_symmetry(
        field,
        torch.cat([wide.layout.indices(n).reshape(-1) for n in wide.layout.names])[: narrow.size],
        lambda theta, x, y: (x, y),
    )
    assert not verify(wide, naive, **settings).holds  # the others' share of the target matters


@settings(max_examples=3)
@given(st.integers(0, 1000), st.sampled_from(["linear", "relu"]), st.sampled_from(sorted(ACTIVATIONS)))
def test_symmetries_of_some_layers_hold_in_the_whole(seed, inner, outer):
    layers = [nn.Linear(2, 3), ACTIVATIONS[outer](), nn.Linear(3, 2), ACTIVATIONS[inner](), nn.Linear(2, 2)]
    layers += [ACTIVATIONS[outer](), nn.Linear(2, 1)]
    whole = parameter_problem(nn.Sequential(*layers), "squared", gaussian_data((2,), (1,)))
    part = part_problem(whole, 2, 5, gaussian_data((3,), (2,)))
    result = linear_symmetries(part, seed=seed).fields
    assert len(result) == (6 if inner == "linear" else 2)
    assert verify(whole, deepened_symmetry(_element(result, seed), whole, 2, 5), seed=seed, points=4).holds


def test_a_data_dependent_symmetry_of_some_layers_sees_their_inputs():
    whole = chain((2, 3, 2, 1), "tanh")
    part = part_problem(whole, 2, 3, gaussian_data((3,), (2,)))  # the linear layer in the middle: W a

    def moves(theta, x, y):
        # W moves along vectors at right angles to its input: outputs stay
        vector = torch.linspace(-1, 1, 3, dtype=theta.dtype)
        across = vector - x[0] * (vector @ x[0]) / (x[0] @ x[0])
        return torch.outer(torch.tensor([1.0, -2.0], dtype=theta.dtype), across).reshape(-1)

    field = FunctionField(moves, "across")
    one = {"seed": 0, "points": 4, "batch_sizes": (1,)}
    assert verify(part, field, **one).holds
    assert verify(whole, deepened_symmetry(field, whole, 2, 3), **one).holds
    naive = induced_symmetry(
        field,
        whole.layout.indices("2.weight").reshape(-1),
        lambda t, x, y: (x @ torch.ones(2, 3).double(), y),
    )
    assert not verify(whole, naive, **one).holds


def test_transformations_and_actions_are_carried_too():
    whole = chain((2, 3, 2, 2, 1), "tanh")
    part = part_problem(whole, 2, 5, gaussian_data((3,), (2,)))
    signs = torch.ones(part.size)
    signs[:3], signs[6::2] = -1, -1
    flip = signed_permutation(torch.arange(part.size), signs, "flip")
    assert verify(part, flip, seed=0).holds
    carried = deepened_symmetry(flip, whole, 2, 5)
    assert isinstance(carried, Transformation)
    assert verify(whole, carried, seed=0).holds
    narrow, wide = two_layers(1, 1, 1, "relu"), two_layers(1, 3, 1, "relu")
    grow = OneParameterAction(
        lambda t, theta, x, y: theta * torch.stack([torch.exp(t), torch.exp(-t)]), "grow", False
    )
    acted = widened_symmetry(grow, narrow, wide, [1])
    assert isinstance(acted, OneParameterAction)
    result = verify(wide, acted, seed=0)
    assert result.holds
    assert result.group_law < 1e-10


def test_smaller_batches():
    made = two_layers(1, 3, 3, "tanh")
    field = _level(made, seed=2)
    data = made.random_points(1, 4, seed=9)
    small = smaller_batch_symmetry(field, 4, data.x[0], data.y[0])
    result = verify(made, small, seed=0, points=3, batch_sizes=(1, 2, 4), lengths=(0.01,))
    assert result.holds
    assert [drift < 1e-6 for _, drift in result.batch_drifts] == [True, True, True]
    rescale = linear_field(torch.eye(12).double())
    assert isinstance(smaller_batch_symmetry(rescale, 2, data.x[0], data.y[0]), FunctionField)
    with pytest.raises(InputError, match="up to 4 samples, got 5"):
        verify(made, small, seed=0, points=2, batch_sizes=(5,), lengths=(0.01,))
    flip = smaller_batch_symmetry(
        Transformation(lambda t, x, y: t * len(x), "count"), 3, data.x[0], data.y[0]
    )
    assert flip.function(torch.ones(2), data.x[0, :1], data.y[0, :1]).tolist() == [3, 3]
    act = smaller_batch_symmetry(
        OneParameterAction(lambda s, t, x, y: t * s * len(x)), 3, data.x[0], data.y[0]
    )
    assert act.function(torch.tensor(2.0), torch.ones(1), data.x[0, :1], data.y[0, :1]).tolist() == [6]


def test_bad_input_is_refused():
    narrow, wide = two_layers(1, 2, 2, "relu"), two_layers(1, 4, 2, "relu")
    field = linear_symmetries(narrow, seed=0).fields[0]
    dependent = FunctionField(lambda t, x, y: t, "dependent")
    with pytest.raises(InputError, match="every entry once"):
        induced_symmetry(field, torch.tensor([0, 0]))
    with pytest.raises(InputError, match="dependent depends on data: give features"):
        induced_symmetry(dependent, torch.arange(3))
    with pytest.raises(InputError, match="expected 2 different ones from 0 to 3"):
        widened_symmetry(field, narrow, wide, [0, 4])
    with pytest.raises(InputError, match="two networks of two linear layers"):
        widened_symmetry(field, narrow, chain((2, 2, 2, 1), "relu"), [0, 1])
    with pytest.raises(InputError, match=r"'2\.weight': expected \[1, 2\]"):
        widened_symmetry(field, narrow, two_layers(3, 4, 2, "relu"), [0, 1])
    with pytest.raises(InputError, match=r"expected an nn\.Sequential"):
        deepened_symmetry(
            field, parameter_problem(nn.Linear(2, 2), "squared", gaussian_data((2,), (2,))), 0, 1
        )
    with pytest.raises(InputError, match="0 <= start < stop <= 3, got 2 and 5"):
        part_problem(wide, 2, 5, gaussian_data((2,), (1,)))
    with pytest.raises(InputError, match="layers 1 to 1 have no trainable parameters"):
        deepened_symmetry(field, wide, 1, 2)
    with pytest.raises(InputError, match="at least 3 samples to fill a batch of 4"):
        smaller_batch_symmetry(field, 4, torch.zeros(2, 1), torch.zeros(2, 1))
