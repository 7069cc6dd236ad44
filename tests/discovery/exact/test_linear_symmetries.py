"""Exact discovery against the known algebras: dimensions, spans, names, over widths, depths and seeds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from symscope import InputError
from symscope.discovery import class_data, gaussian_data, parameter_problem, verify
from symscope.discovery.exact import (
    fibre_dimension,
    lie_algebra,
    linear_symmetries,
    orbit_dimension,
    translation_symmetries,
)
from tests.discovery.networks import Attention, chain, two_layers
from tests.tolerances import NULL_SPACE


def known_dimension(m: int, h: int, n: int, activation: str) -> int:
    """Of `W2 sigma(W1 x)`, squared loss, linear fields."""
    if activation in ("relu", "leaky"):
        return h
    if activation in ("tanh", "sigmoid"):
        return 0
    if m == n == 1:
        return h * (2 * h - 1)
    return h * h + (max(m, n) * h * (h - 1) // 2 if 1 in (m, n) else 0)


def span(fields, size):
    """Orthonormal columns spanning the generators as matrices."""
    return torch.linalg.qr(torch.stack([f.dense(size).reshape(-1) for f in fields], 1)).Q


def largest_angle_sine(a, b):
    """Of the principal angles between two spaces of one dimension."""
    return float((a - b @ (b.T @ a)).norm(dim=0).max())


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (1, 2, 1), (1, 3, 1), (2, 2, 2), (2, 3, 2), (1, 2, 3), (3, 2, 1), (3, 1, 2)]
)
@pytest.mark.parametrize("activation", ["linear", "relu", "leaky", "tanh", "sigmoid"])
def test_dimensions_of_two_layers(sizes, activation):
    made = two_layers(*sizes, activation)
    result = linear_symmetries(made, seed=sum(sizes), affine=False)
    assert result.dimension == known_dimension(*sizes, activation)
    assert result.method == "all"
    null = result.null_spaces[0]
    assert null.rows > null.singular_values.numel()
    assert result.dimension == 0 or null.chance < 1e-6


@settings(max_examples=5)
@given(st.integers(0, 10**6), st.integers(2, 3), st.integers(2, 3), st.integers(2, 3))
def test_the_span_of_linear_layers_is_gl(seed, m, h, n):
    made = two_layers(m, h, n, "linear")
    result = linear_symmetries(made, seed=seed)
    by_hand = []
    for a in range(h):
        for b in range(h):
            E = torch.zeros(h, h, dtype=torch.float64)
            E[a, b] = 1
            first = torch.kron(E, torch.eye(n, dtype=torch.float64))  # W1 -> E W1, rows flattened
            second = torch.kron(torch.eye(m, dtype=torch.float64), -E.T.contiguous())  # W2 -> -W2 E
            by_hand.append(torch.block_diag(first, second).reshape(-1))
    expected = torch.linalg.qr(torch.stack(by_hand, 1)).Q
    assert result.dimension == h * h
    assert largest_angle_sine(span(result.fields, made.size), expected) < NULL_SPACE


@pytest.mark.parametrize("h", [2, 3])
def test_the_span_of_scalar_linear_layers_is_that_of_an_indefinite_form(h):
    made = two_layers(1, h, 1, "linear")
    result = linear_symmetries(made, seed=1)
    zero, eye = torch.zeros(h, h).double(), torch.eye(h).double()
    S = torch.cat([torch.cat([zero, eye], 1), torch.cat([eye, zero], 1)])  # w2 . w1 = theta^T S theta / 2
    assert result.dimension == h * (2 * h - 1)
    for field in result.fields:
        M = field.dense(2 * h)
        assert (M.T @ S + S @ M).abs().max() < NULL_SPACE


@pytest.mark.parametrize(
    ("widths", "activation", "expected"),
    [((2, 2, 3, 2), "linear", 4 + 9), ((2, 3, 2, 2, 2), "relu", 3 + 2 + 2), ((2, 2, 2, 2), "tanh", 0)],
)
def test_deeper_networks(widths, activation, expected):
    assert linear_symmetries(chain(widths, activation), seed=0, affine=False).dimension == expected


def test_biases_bring_shifts_only_between_linear_layers():
    assert linear_symmetries(two_layers(2, 2, 2, "linear", bias=True), seed=0).dimension == 4 + 2
    result = linear_symmetries(two_layers(2, 2, 2, "relu", bias=True), seed=0)
    assert result.dimension == 2
    assert [f.name for f in result.fields] == [
        f"rescaling of unit {k} of the hidden units between 0 and 2" for k in range(2)
    ]
    assert linear_symmetries(two_layers(2, 2, 2, "tanh", bias=True), seed=0).dimension == 0


def test_softmax_adds_translations_and_the_rest_is_counted_modulo_them():
    made = chain((2, 2, 3), "relu", bias=True, loss="cross-entropy")
    result = linear_symmetries(made, seed=0)
    assert len(result.translations) == 2 + 1  # a constant for every column of the last weight, and its bias
    assert result.dimension == 2
    assert result.fields[1].name == "rescaling of unit 1 of the hidden units between 0 and 2"
    assert "before the softmax" in result.translations[0].name
    theta = made.random_points(1, 1, seed=4).theta[0]
    everything = (*result.fields, *result.translations)
    assert orbit_dimension(everything, theta) == 5
    assert all(verify(made, field, seed=1, points=4).holds for field in everything)
    squared = chain((2, 2, 3), "relu", bias=True)
    assert translation_symmetries(squared, seed=0) == ()


@pytest.mark.parametrize(("norm", "shifts", "turns"), [(nn.LayerNorm, 2 + 1 + 1, 1), (nn.RMSNorm, 0, 3)])
def test_normalisation_is_free_of_scale_and_commutes_with_rotations(norm, shifts, turns):
    # without scales of its own, it commutes with rotations: so(h), so(h - 1) where the mean is taken off
    net = nn.Sequential(nn.Linear(2, 3), norm(3, eps=0, elementwise_affine=False), nn.Linear(3, 1))
    made = parameter_problem(net, "squared", gaussian_data((2,), (1,)))
    result = linear_symmetries(made, seed=0)
    assert len(result.translations) == shifts
    assert result.dimension == 1 + turns
    assert result.fields[0].name == "scaling of 0 before 1"
    assert all(verify(made, field, seed=1, points=4).holds for field in result.fields)


def test_attention_has_gl_on_queries_and_keys_and_on_values_and_outputs():
    result = linear_symmetries(
        parameter_problem(Attention(2, 2, 2), "squared", gaussian_data((3, 2), (2,))), seed=0
    )
    assert result.dimension == 4 + 4
    assert result.fields[1].name == "mixing of unit 1 into unit 0 of the products of query and key"
    assert result.fields[-1].name == "rescaling of unit 1 of the hidden units between value and out"


def test_a_key_bias_that_cancels_to_rounding_is_a_translation():
    made = parameter_problem(Attention(2, 1, 2, bias=True), "squared", gaussian_data((3, 2), (2,)))
    result = linear_symmetries(made, seed=0)
    assert [field.name for field in result.translations] == [
        "translation field on key.bias: key.bias[0] moves by 1"
    ]
    assert [field.name for field in result.fields] == [
        "rescaling of unit 0 of the products of query and key",
        "rescaling of unit 0 of the hidden units between value and out",
        "shift of unit 0 of the hidden units between value and out",
    ]
    assert lie_algebra(result.fields, made.size, result.translations).closure < NULL_SPACE


@pytest.mark.parametrize(
    ("widths", "activation", "bias", "loss"),
    [
        ((2, 3, 2), "linear", True, "squared"),
        ((3, 3, 2, 2), "relu", True, "cross-entropy"),
        ((2, 3, 2), "tanh", False, "squared"),
    ],
)
def test_the_layers_give_the_same_algebra(widths, activation, bias, loss):
    made = chain(widths, activation, bias, loss)
    everything = linear_symmetries(made, seed=0, method="all")
    layered = linear_symmetries(made, seed=0, method="layers")
    assert layered.dimension == everything.dimension
    assert layered.method == "layers"
    assert layered.unknowns < everything.unknowns
    assert sorted(f.name for f in layered.fields) == sorted(f.name for f in everything.fields)


def test_a_thousand_parameters_through_the_layers():
    made = chain((10, 24, 24, 8), "relu", bias=True)
    result = linear_symmetries(made, seed=0)
    assert made.size == 1064
    assert result.method == "layers"
    assert result.dimension == 48
    assert {f.name for f in result.fields} == {
        f"rescaling of unit {k} of the hidden units between {a} and {a + 2}"
        for a in (0, 2)
        for k in range(24)
    }


@pytest.mark.slow
def test_thousands_of_parameters_through_the_layers():
    made = chain((20, 50, 40, 10), "relu")
    assert made.size == 3400
    assert linear_symmetries(made, seed=0).dimension == 90
    linear = chain((12, 20, 20, 6), "linear")
    assert linear_symmetries(linear, seed=0).dimension == 800


def test_fibres_bound_orbits():
    for made, expected in [
        (two_layers(2, 2, 3, "linear"), 4),
        (two_layers(2, 3, 2, "linear"), 8),  # 12 weights, but products of 2 x 2 matrices have 4 numbers
        (two_layers(2, 3, 2, "tanh"), 0),
    ]:
        theta = made.random_points(1, 1, seed=7).theta[0]
        assert fibre_dimension(made, theta, seed=0) == expected
        result = linear_symmetries(made, seed=0, affine=False)
        assert orbit_dimension(result.fields, theta) == expected
    # with one input and no biases, a ReLU network is two slopes: its fibre is larger than its linear orbit
    made = two_layers(1, 3, 1, "relu")
    theta = torch.tensor([1.0, 2.0, -1.0, 0.5, -0.7, 0.3]).double()
    assert fibre_dimension(made, theta, seed=0) == 4
    assert orbit_dimension(linear_symmetries(made, seed=0).fields, theta) == 3


def test_a_fibre_is_a_bound_where_singular_values_fall_off_slowly():
    def equal_inputs(count, generator):
        x, y = gaussian_data((1,), (1,))(count, generator)
        return x.expand(count, 2), y

    made = replace(two_layers(1, 3, 2, "tanh"), data=equal_inputs)  # inputs see the sum of two weights
    theta = torch.tensor([0.1, 0.2, 0.1, 0.21, 0.1, 0.22, 1.0, -0.7, 0.4]).double()
    assert fibre_dimension(made, theta, seed=0) == 3
    assert fibre_dimension(made, theta, seed=0, level=1e-3) == 0  # no gap that could not be an accident


def test_bad_input_is_refused():
    made = chain((4, 8, 8, 4), "relu")
    with pytest.raises(
        InputError, match=r"128 parameters have 16512 unknowns.*\(2\.19 GB\).*limit is 4096.*method='layers'"
    ):
        linear_symmetries(made, seed=0, method="all")
    with pytest.raises(InputError, match="expected 'auto', 'all' or 'layers', got 'fast'"):
        linear_symmetries(made, seed=0, method="fast")
    with pytest.raises(InputError, match="128 parameters, the exact method takes up to 100"):
        translation_symmetries(made, seed=0, limit=100)
    single = parameter_problem(nn.Linear(3, 3), "cross-entropy", class_data((3,), 3))
    with pytest.raises(InputError, match="no hidden units could be followed"):
        linear_symmetries(single, seed=0, method="layers")
