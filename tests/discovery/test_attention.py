"""Hidden spaces of attention."""

from __future__ import annotations

import torch
from torch import nn

from symscope.discovery import gaussian_data, hidden_spaces, problem, verify


class _Pooled(nn.Module):
    def __init__(self, bias: bool):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, bias=bias, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0].mean(1)


def test_every_head_has_two_spaces_and_any_element_of_gl_holds():
    for bias in (False, True):
        made = problem(_Pooled(bias), "squared", gaussian_data((3, 4), (4,)))
        spaces = hidden_spaces(made)
        assert [space.size for space in spaces] == [2, 2, 2, 2]
        assert [bool(space.shifts) for space in spaces] == [False, bias, False, bias]
        assert all(verify(made, space.mixing(0, 1), seed=0, points=4).holds for space in spaces)


def test_units_of_different_heads_cannot_be_mixed():
    made = problem(_Pooled(False), "squared", gaussian_data((3, 4), (4,)))
    first, _, second, _ = hidden_spaces(made)
    from symscope.discovery import HiddenSpace, Side

    sides = tuple(
        Side(a.parameter, torch.stack([a.positions[0], b.positions[0]]), a.transposed)
        for a, b in zip(first.sides, second.sides, strict=True)
    )
    across = HiddenSpace("units of two heads", sides, first.between)
    assert not verify(made, across.mixing(0, 1), seed=0, points=4).holds


def test_frozen_projections_and_shared_queries_give_nothing():
    net = _Pooled(True)
    net.attention.in_proj_bias.requires_grad_(False)
    assert hidden_spaces(problem(net, "squared", gaussian_data((3, 4), (4,)))) == ()

    class Same(nn.Module):
        def __init__(self):
            super().__init__()
            self.both = nn.Linear(3, 2, bias=False)

        def forward(self, x):
            q = self.both(x)
            return (q @ q.transpose(1, 2)).mean(1)

    assert hidden_spaces(problem(Same(), "squared", gaussian_data((3, 3), (3,)))) == ()
