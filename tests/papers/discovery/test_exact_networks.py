"""Networks by name, and what theory says of them."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.discovery import verify
from symscope.discovery.fields import linear_field
from symscope_papers.discovery.exact.networks import known_network, two_layer_dimension


def test_theory():
    # m x h and h x n: gl(h); so(h, h) for scalars; h^2 + max(m, n) h(h-1)/2 with one of them 1
    assert [two_layer_dimension(*s, "linear") for s in ((2, 3, 2), (1, 3, 1), (1, 3, 4), (4, 3, 1))] == [
        9,
        15,
        21,
        21,
    ]
    assert [two_layer_dimension(2, 3, 2, a) for a in ("ReLU", "leaky ReLU", "tanh", "sigmoid")] == [
        3,
        3,
        0,
        0,
    ]
    assert known_network("linear 2-2-3-2").dimension == 13
    norm = known_network("LayerNorm 2-3-1")
    assert (norm.dimension, norm.translations) == (2, 4)


def test_the_generators_of_theory_are_symmetries():
    for name in ("linear 2-3-2", "ReLU 2-3-2-2"):
        known = known_network(name)
        assert known.span.shape[1] == known.dimension
        weights = torch.linspace(-1, 1.5, known.dimension, dtype=torch.float64)
        matrix = (known.span @ weights).reshape(known.problem.size, known.problem.size)
        assert verify(known.problem, linear_field(matrix), seed=0, points=4).holds


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match=r"unknown network 'ReLu 2-3-2': .*did you mean 'ReLU'"):
        known_network("ReLu 2-3-2")
    with pytest.raises(InputError, match="unknown network 'attention x'"):
        known_network("attention x")
    with pytest.raises(InputError, match="not known"):
        known_network("linear 2-1-2-2")
