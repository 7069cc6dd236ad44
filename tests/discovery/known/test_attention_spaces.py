"""Hidden spaces of attention."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from symscope.discovery import gaussian_data, parameter_problem, verify
from symscope.discovery.exact import linear_symmetries
from symscope.discovery.known import hidden_spaces


class _Pooled(nn.Module):
    def __init__(self, bias: bool):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, bias=bias, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0].mean(1)


def test_every_head_has_two_spaces_and_any_element_of_gl_holds():
    for bias in (False, True):
        made = parameter_problem(_Pooled(bias), "squared", gaussian_data((3, 4), (4,)))
        spaces = hidden_spaces(made)
        assert [space.size for space in spaces] == [2, 2, 2, 2]
        assert [bool(space.shifts) for space in spaces] == [False, bias, False, bias]
        assert all(verify(made, space.mixing(0, 1), seed=0, points=4).holds for space in spaces)


def test_units_of_different_heads_cannot_be_mixed():
    made = parameter_problem(_Pooled(False), "squared", gaussian_data((3, 4), (4,)))
    first, _, second, _ = hidden_spaces(made)
    from symscope.discovery.known import HiddenSpace
    from symscope.discovery.known._spaces import HiddenSide

    sides = tuple(
        HiddenSide(a.parameter, torch.stack([a.positions[0], b.positions[0]]), a.transposed)
        for a, b in zip(first.sides, second.sides, strict=True)
    )
    across = HiddenSpace("units of two heads", sides, first.between)
    assert not verify(made, across.mixing(0, 1), seed=0, points=4).holds


class _Heads(nn.Module):
    """Two heads of attention, written out in one of the usual ways."""

    def __init__(self, way, bias=False):
        super().__init__()
        self.way = way
        self.all = nn.Linear(4, 12, bias=bias) if "all" in way else None
        if self.all is None:
            self.query, self.key, self.value = (nn.Linear(4, 4, bias=bias) for _ in range(3))
        self.out = nn.Linear(4, 4, bias=bias)

    def forward(self, x):
        b, t, _ = x.shape
        if self.way == "all, unbound":
            q, k, v = self.all(x).view(b, t, 3, 2, 2).permute(2, 0, 3, 1, 4).unbind(0)
        else:
            if self.all is None:
                q, k, v = self.query(x), self.key(x), self.value(x)
            else:
                q, k, v = self.all(x).chunk(3, -1)
            q, k, v = (part.reshape(b, t, 2, 2).transpose(1, 2) for part in (q, k, v))
        if self.way == "products":
            scores = torch.softmax(q * 0.5 @ k.transpose(-2, -1), -1)
            mixed = scores @ v
        else:
            mixed = functional.scaled_dot_product_attention(q, k, v)
        if self.way == "keys seen":
            mixed = mixed + k
        return self.out(mixed.transpose(1, 2).reshape(b, t, 4)).mean(1)


@pytest.mark.parametrize("way", ["function", "products", "all, chunked", "all, unbound"])
@pytest.mark.parametrize("bias", [False, True])
def test_heads_written_out_have_the_spaces_of_torchs_own(way, bias):
    made = parameter_problem(_Heads(way, bias), "squared", gaussian_data((3, 4), (4,)))
    spaces = hidden_spaces(made)
    assert [space.size for space in spaces] == [2, 2, 2, 2]
    assert [bool(space.shifts) for space in spaces] == [False, False, bias, bias]
    assert all(verify(made, space.mixing(0, 1), seed=0, points=4).holds for space in spaces)
    assert all(verify(made, s.shift(1), seed=0, points=4).holds for s in spaces if s.shifts)


def test_keys_that_are_used_twice_and_heads_that_share_them_have_no_space():
    seen = hidden_spaces(parameter_problem(_Heads("keys seen"), "squared", gaussian_data((3, 4), (4,))))
    assert seen == ()

    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key = nn.Linear(3, 4, bias=False), nn.Linear(3, 2, bias=False)

        def forward(self, x):
            q = self.query(x).unflatten(-1, (2, 2)).transpose(1, 2)
            return (q @ self.key(x)[:, None].mT).mean((1, 2))

    assert hidden_spaces(parameter_problem(Shared(), "squared", gaussian_data((3, 3), (3,)))) == ()


def test_frozen_projections_and_shared_queries_give_nothing():
    net = _Pooled(True)
    net.attention.in_proj_bias.requires_grad_(False)
    assert hidden_spaces(parameter_problem(net, "squared", gaussian_data((3, 4), (4,)))) == ()

    class Same(nn.Module):
        def __init__(self):
            super().__init__()
            self.both = nn.Linear(3, 2, bias=False)

        def forward(self, x):
            q = self.both(x)
            return (q @ q.transpose(1, 2)).mean(1)

    assert hidden_spaces(parameter_problem(Same(), "squared", gaussian_data((3, 3), (3,)))) == ()


class _Normed(nn.Module):
    """A normalisation that queries, keys and values read."""

    def __init__(self, way):
        super().__init__()
        self.norm, self.heads = nn.LayerNorm(4), _Heads(way)

    def forward(self, x):
        return self.heads(self.norm(x))


@pytest.mark.parametrize("way", ["products", "all, chunked"])
def test_fields_that_others_make_up_are_counted_once(way):
    """Scaling all that three layers read is scaling each of them: 4 scales, 4 times gl(2), no more."""
    result = linear_symmetries(
        parameter_problem(_Normed(way), "squared", gaussian_data((3, 4), (4,))), seed=0, method="layers"
    )
    assert (len(result.fields), result.dimension) == (20, 20)
    assert result.translations == ()
