"""Parts of weights: against the average over the group written out."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope import InputError
from symscope.groups import permutation, symmetric, trivial
from symscope.linear._records import AsymmetryRecord, PartSizes, layer_spaces, part_sizes, table_row


def test_parts_are_the_average_over_the_group_and_the_rest():
    v = permutation(symmetric(3))
    w = trivial(v.group, 2)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        layer = nn.Linear(3, 2)
        square = nn.Linear(3, 3)
    wide = layer.weight.detach().double()
    mean = torch.stack([w(g) @ wide @ v(v.group.inverse(g)) for g in range(6)]).mean(0)
    result = part_sizes(layer_spaces(layer, {"weight": (v, w)})["weight"], layer.weight)
    assert result.symmetric == pytest.approx(float(mean.norm()))
    assert result.asymmetric == pytest.approx(float((wide - mean).norm()))

    spaces = layer_spaces(square, {"weight": (v, v), "bias": v})
    bias = square.bias.detach().double()
    result = part_sizes(spaces["bias"], square.bias)
    assert result.symmetric == pytest.approx(float(bias.mean().abs() * 3**0.5))
    assert result.asymmetric == pytest.approx(float((bias - bias.mean()).norm()))
    both = part_sizes(spaces["weight"], square.weight)
    whole = float(square.weight.detach().double().norm())
    assert both.symmetric**2 + both.asymmetric**2 == pytest.approx(whole**2)


def test_rows():
    row = table_row("theory", AsymmetryRecord(3, 1.0, 0.5, 0.1, {"a": PartSizes(2.0, 0.25)}))
    assert row == {
        "kind": "theory",
        "step": 3,
        "asymmetry": 0.5,
        "standard_error": 0.1,
        "symmetric": 1.0,
        "a symmetric": 2.0,
        "a asymmetric": 0.25,
    }


def test_bad_input():
    v = permutation(symmetric(3))
    with pytest.raises(InputError, match="no parameter 'nothing'; it has weight, bias"):
        layer_spaces(nn.Linear(3, 1), {"nothing": v})
    with pytest.raises(InputError, match=r"expected 'bias' of shape \(3,\)"):
        layer_spaces(nn.Linear(3, 1), {"bias": v})
