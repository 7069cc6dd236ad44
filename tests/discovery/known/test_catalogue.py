"""The catalogue on random networks: every entry passes the held-out test, none is missing or made up."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from symscope.discovery import (
    class_data,
    gaussian_data,
    parameter_problem,
    token_data,
    verified_catalogue,
    verify,
)
from symscope.discovery._verification import SymmetryVerdict
from symscope.discovery.fields import linear_combination, linear_field
from symscope.discovery.known import catalogue
from symscope.errors import InputError
from symscope.networks.losses import squared_loss
from tests.discovery.networks import ACTIVATIONS, Attention

BETWEEN = {**ACTIVATIONS, "gelu": nn.GELU, "softsign": nn.Softsign, "elu": nn.ELU}


def _kinds(made):
    return [(entry.kind, entry.dimension, len(entry.transformations)) for entry in catalogue(made)]


@settings(max_examples=4)
@given(
    st.lists(st.integers(1, 4), min_size=3, max_size=4),
    st.lists(st.sampled_from(sorted(BETWEEN)), min_size=2, max_size=2),
    st.booleans(),
    st.booleans(),
    st.integers(0, 1000),
)
def test_every_entry_holds_on_random_perceptrons(widths, activations, bias, classes, seed):
    layers = []
    for k, (a, b) in enumerate(pairwise(widths)):
        layers += [nn.Linear(a, b, bias=bias)]
        if k < len(widths) - 2:
            layers += [BETWEEN[activations[k]]()]
    classes = classes and widths[-1] > 1
    data = class_data((widths[0],), widths[-1]) if classes else gaussian_data((widths[0],), (widths[-1],))
    made = parameter_problem(nn.Sequential(*layers), "cross-entropy" if classes else "squared", data)
    result = verified_catalogue(made, seed=seed, points=3)
    for entry in result:
        assert entry.holds, (entry.symmetry.name, [str(t) for t in entry.tests])
    dimension = sum(e.symmetry.dimension for e in result)
    expected = widths[-2] + bias if classes else 0
    for h, activation in zip(widths[1:-1], activations, strict=False):
        expected += {"relu": h, "leaky": h, "linear": h * h + bias * h}.get(activation, 0)
    assert dimension == expected


class _Functional(nn.Module):
    """Activations as functions, a layer read by two others, a sum that ends the trail."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = nn.Linear(2, 3), nn.Linear(3, 2), nn.Linear(3, 2)
        self.four, self.five = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x):
        hidden = functional.relu(self.one(x))
        both = self.two(hidden) + torch.tanh(self.three(hidden))
        return self.five(both + torch.tanh(self.four(both)))


class _SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(3, 3) for _ in range(4))

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return self.out(functional.scaled_dot_product_attention(q, k, v)).mean(1)


def _encoder():
    layer = nn.TransformerEncoderLayer(4, 2, 5, batch_first=True)
    return nn.Sequential(layer, nn.Flatten(), nn.Linear(12, 2))


class _Gated(nn.Module):
    """A product of two layers, one of them after an activation: SwiGLU, or a bilinear layer."""

    def __init__(self, activation):
        super().__init__()
        self.gate, self.value, self.out = nn.Linear(2, 3), nn.Linear(2, 3, bias=False), nn.Linear(3, 2)
        self.activation = activation

    def forward(self, x):
        return self.out(self.activation(self.gate(x)) * self.value(x))


class _Arithmetic(nn.Module):
    """Units times a number and to a power."""

    def __init__(self, change):
        super().__init__()
        self.one, self.two, self.change = nn.Linear(2, 3, bias=False), nn.Linear(3, 2, bias=False), change

    def forward(self, x):
        return self.two(self.change(self.one(x)))


def _slopes(count):
    net = nn.Sequential(nn.Linear(2, 3), nn.PReLU(count), nn.Linear(3, 1))
    return net, gaussian_data((2,), (1,)), [("rescaling", 3, 0), ("permutation", 0, 2)]


NETWORKS = {
    "one slope": _slopes(1),
    "a slope for every unit": _slopes(3),
    "gate": (
        _Gated(functional.silu),
        gaussian_data((2,), (2,)),
        [("permutation", 0, 2), ("rescaling", 3, 0)],
    ),
    "bilinear": (
        _Gated(nn.Identity()),
        gaussian_data((2,), (2,)),
        [("rescaling", 3, 0), ("permutation", 0, 2), ("rescaling", 3, 0)],
    ),
    "times two": (_Arithmetic(lambda x: 2 * x / 3), gaussian_data((2,), (2,)), [("general linear", 9, 0)]),
    "one over": (_Arithmetic(lambda x: 1 / (4 + x**2)), gaussian_data((2,), (2,)), []),
    "to a power": (_Arithmetic(lambda x: x**2), gaussian_data((2,), (2,)), [("permutation", 0, 2)]),
    "times itself": (_Arithmetic(lambda x: x * x), gaussian_data((2,), (2,)), [("permutation", 0, 2)]),
    "functional": (_Functional(), gaussian_data((2,), (2,)), [("rescaling", 3, 0), ("permutation", 0, 2)]),
    "convolution": (
        nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 2)),
        gaussian_data((1, 6, 6), (2,)),
        [("rescaling", 3, 0), ("permutation", 0, 2)],
    ),
    "linear convolutions": (
        nn.Sequential(nn.Conv1d(2, 3, 2, bias=False), nn.Conv1d(3, 1, 2), nn.Flatten()),
        gaussian_data((2, 5), (3,)),
        [("general linear", 9, 0)],
    ),
    "batch norm in eval mode": (
        nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 1)),
        gaussian_data((2,), (1,)),
        [("rescaling", 3, 0)],
    ),
    "layer norm": (
        nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3, eps=0.0), nn.Linear(3, 1)),
        gaussian_data((2,), (1,)),
        [
            ("permutation", 0, 2),
            ("rescaling", 3, 0),
            ("shift", 3, 0),
            ("scaling", 1, 0),
            ("translation", 3, 0),
        ],
    ),
    "attention written out": (
        Attention(3, 2, 2),
        gaussian_data((4, 3), (2,)),
        [("general linear", 4, 0), ("general linear", 4, 0)],
    ),
    "attention function": (
        _SelfAttention(),
        gaussian_data((4, 3), (3,)),
        [("general linear", 9, 0), ("general linear", 9, 0), ("shift", 3, 0)],
    ),
    "transformer layer": (
        _encoder(),
        gaussian_data((3, 4), (2,)),
        [("rescaling", 5, 0), ("permutation", 0, 4)]
        + 2 * [("general linear", 4, 0), ("general linear", 4, 0), ("shift", 2, 0)]
        + [("translation", 4, 0)],
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_standard_layers(name):
    net, data, expected = NETWORKS[name]
    made = parameter_problem(net, "squared", data)
    assert _kinds(made) == expected
    for entry in verified_catalogue(made, seed=0, points=3):
        assert entry.holds, (entry.symmetry.name, [str(t) for t in entry.tests])


def test_a_normalisation_with_eps_is_nearly_free_of_scale_and_the_test_says_so():
    net = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Linear(3, 1))
    made = parameter_problem(net, "squared", gaussian_data((2,), (1,)))
    scaling = next(e for e in verified_catalogue(made, seed=0) if e.symmetry.kind == "scaling")
    assert not scaling.symmetry.exact
    assert scaling.tests[0].verdict is SymmetryVerdict.APPROXIMATE


def test_a_user_loss_gets_the_softmax_entry_tested_and_refused_where_it_has_none():
    made = parameter_problem(nn.Linear(2, 3), lambda f, y: squared_loss(f, y), gaussian_data((2,), (3,)))
    [entry] = verified_catalogue(made, seed=0)
    assert entry.symmetry.kind == "translation"
    assert not entry.holds
    ended = parameter_problem(
        nn.Sequential(nn.Linear(2, 3), nn.Softmax(1)), "squared", gaussian_data((2,), (3,))
    )
    assert [e.holds for e in verified_catalogue(ended, seed=0)] == [True]


def test_frozen_shared_and_untraceable_layers_give_nothing():
    frozen = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    frozen[2].weight.requires_grad_(False)
    assert catalogue(parameter_problem(frozen, "squared", gaussian_data((2,), (1,)))) == ()
    pinned = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    pinned[0].bias.requires_grad_(False)
    assert catalogue(parameter_problem(pinned, "squared", gaussian_data((2,), (1,)))) == ()
    sloped = nn.Sequential(nn.Linear(2, 3), nn.PReLU(3), nn.Linear(3, 1))
    sloped[1].requires_grad_(False)  # units with slopes of their own cannot change places
    assert _kinds(parameter_problem(sloped, "squared", gaussian_data((2,), (1,)))) == [("rescaling", 3, 0)]
    shared = nn.Linear(2, 2)
    twice = nn.Sequential(shared, nn.ReLU(), shared, nn.ReLU(), nn.Linear(2, 1))
    assert catalogue(parameter_problem(twice, "squared", gaussian_data((2,), (1,)))) == ()

    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(2, 3), nn.Linear(3, 1)

        def forward(self, x):
            return self.two(torch.relu(self.one(x))) if len(x) > 0 else x

    assert catalogue(parameter_problem(Branching(), "squared", gaussian_data((2,), (1,)))) == ()


def test_tied_weights_are_left_out():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 2, bias=False))
    net[2].weight = net[0].weight
    assert catalogue(parameter_problem(net, "squared", gaussian_data((2,), (2,)))) == ()


def test_embeddings_do_not_disturb():
    net = nn.Sequential(nn.Embedding(5, 2), nn.Flatten(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    made = parameter_problem(net, "cross-entropy", token_data(2, 5, 2))
    assert _kinds(made) == [("rescaling", 3, 0), ("permutation", 0, 2), ("translation", 4, 0)]
    assert all(entry.holds for entry in verified_catalogue(made, seed=1, points=5))


def test_combinations_of_linear_fields_are_linear():
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(4, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    b[:, 0], b[0] = 0, 0
    both = linear_combination((linear_field(a), linear_field(b)), torch.tensor([2.0, -3.0]))
    assert torch.allclose(both.dense(4), 2 * a - 3 * b)


def test_a_flip_of_a_unit_that_is_not_odd_is_refused_by_the_test():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    made = parameter_problem(net, "squared", gaussian_data((2,), (1,)))
    from symscope.discovery.known import hidden_spaces

    [space] = hidden_spaces(made)
    assert not verify(made, space.flip(0, made.size), seed=0).holds
    assert verify(made, space.swap(0, 2, made.size), seed=0).holds


def test_wide_layers_are_tested_with_some_of_their_generators():
    net = nn.Sequential(nn.BatchNorm1d(784), nn.Linear(784, 2))
    problem = parameter_problem(net, "squared", gaussian_data((784,), (2,)))
    entries = verified_catalogue(problem, seed=0, points=2)
    assert [(entry.symmetry.dimension, entry.holds) for entry in entries] == [(784, True), (784, True)]


@pytest.mark.parametrize(
    ("net", "said"),
    [
        (nn.Sequential(nn.Linear(4, 400), nn.Linear(400, 2)), r"GL\(400\) on the hidden .* narrower network"),
        (nn.Sequential(nn.Linear(99, 2000), nn.ReLU(), nn.Linear(2000, 2)), "symmetries of the hidden units"),
        (nn.Sequential(nn.Linear(99, 400), nn.LayerNorm(400), nn.Linear(400, 2)), "scaling of 0"),
    ],
)
def test_layers_too_wide_for_memory_are_refused_before_anything_is_built(net, said):
    problem = parameter_problem(net, "squared", gaussian_data((net[0].in_features,), (2,)))
    with pytest.raises(InputError, match=said):
        catalogue(problem)
