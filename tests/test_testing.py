from __future__ import annotations

import dataclasses
from functools import partial

import pytest
import torch
from torch import nn

from symscope.data import custom_action, rotation
from symscope.errors import InputError
from symscope.groups import cyclic, dihedral, permutation, symmetric
from symscope.groups._group_laws import TableLaw, listed_moves
from symscope.groups.compact import so
from symscope.groups.constructions import defining, from_function
from symscope.groups.spin import spin
from symscope.testing import assert_equivariant, assert_group_laws, assert_representation


def test_group_laws_catch_each_fault():
    group = dihedral(4)
    swapped = group.table.clone()
    swapped[[1, 2]] = swapped[[2, 1]]
    with pytest.raises(AssertionError, match="D4: "):
        assert_group_laws(dataclasses.replace(group, law=TableLaw(swapped)))
    with pytest.raises(AssertionError, match="generators reach 4 of 8"):
        assert_group_laws(dataclasses.replace(group, generators=(1,)))
    with pytest.raises(AssertionError, match="only 1 of 8 permutations differ"):
        assert_group_laws(
            dataclasses.replace(group, moves=partial(listed_moves, torch.zeros(8, 1, dtype=torch.int64)))
        )
    with pytest.raises(AssertionError, match="is not their product"):
        assert_group_laws(dataclasses.replace(group, moves=partial(listed_moves, group.permutations.flip(0))))
    with pytest.raises(AssertionError, match="1 labels for 8 elements"):
        assert_group_laws(dataclasses.replace(group, labels=("e",)))


def test_equivariance_is_not_asked_where_nothing_would_be_tested():
    x, five = torch.tensor([[1.0, 2.0, 4.0, 8.0, 16.0]]).double(), permutation(cyclic(5))
    for other in (from_function(cyclic(4), 5, lambda g, y: y, unitary=True), defining(so(3))):
        with pytest.raises(InputError, match=r"target: expected an action of C5, .* got one of"):
            assert_equivariant(torch.relu, five, other, x)
    for tolerance in (-1.0, float("nan")):
        with pytest.raises(InputError, match="tolerance: expected a number of at least 0"):
            assert_equivariant(torch.relu, five, five, x, tolerance)
    with pytest.raises(InputError, match="samples: expected an integer of at least 1, got 0"):
        assert_equivariant(torch.relu, five, five, x, samples=0)
    assert_equivariant(torch.relu, five, permutation(cyclic(5)), x)  # the same group, made twice


def test_representation_faults_are_measured():
    wrong_identity = from_function(cyclic(3), 2, lambda g, x: 2 * x, unitary=False)
    with pytest.raises(AssertionError, match="the identity moves vectors by 1 "):
        assert_representation(wrong_identity)
    claims = from_function(
        cyclic(2), 2, lambda g, x: x.flip(-1) * torch.tensor([2.0, 0.5]) if g else x, unitary=True
    )
    with pytest.raises(AssertionError, match="claims to be unitary"):
        assert_representation(claims)
    slow = dataclasses.replace(spin(1), derivative=defining(so(3)).derivative)
    with pytest.raises(AssertionError, match="differs from the slope"):
        assert_representation(slow)


def test_equivariance_error_and_worst_element():
    v = permutation(cyclic(4))
    x = torch.tensor([[1.0, 2.0, 4.0, 8.0]], dtype=torch.float64)
    assert assert_equivariant(lambda t: t**2, v, v, x) == 0
    assert assert_equivariant(lambda t: t.sum(-1, keepdim=True), v, None, x) < 1e-15
    weights = torch.tensor([1.0, 1.0, 1.0, 1.5], dtype=torch.float64)
    with pytest.raises(
        AssertionError, match=r"not equivariant: relative error .* worst for element 2 \(r\^2\) of C4"
    ):
        assert_equivariant(
            lambda t: t * weights, v, v, torch.tensor([[0.1, 4.0, 0.2, 4.0]], dtype=torch.float64) * x
        )
    with pytest.raises(AssertionError, match="not invariant"):
        assert_equivariant(lambda t: t[..., :1], v, None, x)
    with pytest.raises(AssertionError, match="zero on the inputs"):
        assert_equivariant(lambda t: 0 * t, v, v, x)
    with pytest.raises(AssertionError, match="relative error nan"):
        assert_equivariant(lambda t: torch.where(t[..., :1] == 1, t, float("nan")), v, v, x)


def test_equivariance_for_groups_that_are_not_listed():
    v = permutation(symmetric(12))
    x = torch.randn(2, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert assert_equivariant(lambda t: t - t.mean(-1, keepdim=True), v, v, x) < 1e-14
    rotation = defining(so(3))
    y = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert assert_equivariant(lambda t: t * t.norm(dim=-1, keepdim=True), rotation, rotation, y) < 1e-13
    with pytest.raises(AssertionError, match="worst for element \\[\\["):
        assert_equivariant(torch.relu, rotation, rotation, y)


def images(side: int = 8) -> torch.Tensor:
    return torch.rand(3, 1, side, side, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def failure(net: nn.Module, action, x=None) -> list[str]:
    with pytest.raises(AssertionError) as caught:
        assert_equivariant(net.double(), action, None, images() if x is None else x)
    return str(caught.value).splitlines()


def pooled(*layers: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def test_a_failing_layer_is_named():
    lines = failure(pooled(nn.BatchNorm2d(1).eval(), nn.Conv2d(1, 4, 3), nn.ReLU()), rotation(4))
    assert lines[0].startswith("not invariant: relative error")
    assert lines[1] == "every element moves samples exactly: none of it is interpolation"
    assert lines[2].startswith("largest errors of layers by themselves: 1 (Conv2d) 0.")
    assert lines[2].count("(") == 1  # batch norm, ReLU and pooling have none


def test_of_several_layers_the_largest_come_first():
    class Positions(nn.Module):
        def forward(self, x):
            return x + 100 * torch.arange(x.shape[-1], dtype=x.dtype)

    lines = failure(pooled(nn.Conv2d(1, 2, 3, padding=1), nn.Tanh(), Positions(), nn.Tanh()), rotation(4))
    assert lines[2].startswith("largest errors of layers by themselves: 2 (Positions)")
    assert ", 0 (Conv2d)" in lines[2]


def test_interpolation_is_not_blamed_on_the_network():
    lines = failure(pooled(nn.AvgPool2d(3, 1), nn.Tanh()), rotation(8))
    assert lines[1].startswith("elements that move samples exactly (r^2, r^4, r^6): ")
    assert lines[2].startswith("so it is interpolation")
    both = failure(pooled(nn.Conv2d(1, 2, 3), nn.Tanh()), rotation(8))
    assert both[1].startswith("elements that move samples exactly (r^2, r^4, r^6): 0.")
    assert both[2].startswith("largest errors of layers by themselves: 0 (Conv2d)")


def test_a_wrong_action_is_not_blamed_on_the_network():
    net = pooled(nn.Conv2d(1, 2, 3), nn.Tanh())
    twice = custom_action(cyclic(4), lambda g, x: x.roll(2 * g, -1), 2, "shift by two")  # of 6 pixels
    assert (
        "the action, not the network: shift by two is not an action of C4"
        in failure(net, twice, images(6))[1]
    )
    once = custom_action(cyclic(4), lambda g, x: x.roll(g, -1), 2, "shift by one")  # of 8 pixels
    lines = failure(net, once)
    assert lines[1].startswith("no element moves samples exactly: g^-1 (g x) misses x by 0.")
    assert lines[1].endswith("by interpolation or because the action is none")


def test_what_is_done_between_layers_is_hinted_at():
    class Between(nn.Module):
        def forward(self, x):
            return (x * torch.arange(x.shape[-1], dtype=x.dtype)).flatten(1).mean(1, keepdim=True)

    lines = failure(Between(), rotation(4))
    assert lines[2].startswith("no layer that could be measured has an error of its own")


def test_layers_that_refuse_to_be_called_leave_the_error_itself():
    class Once(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            if self.calls > 6:
                raise RuntimeError("called too often")
            return x[..., :1, :1].flatten(1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Once()

        def forward(self, x):
            return self.part(x)

    assert failure(Net(), rotation(4))[2] == "its layers could not be measured one by one: called too often"
