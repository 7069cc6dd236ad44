from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import groups
from symscope.data._images import flip
from symscope.data._nodes import node_permutation
from symscope.data._rotation import dihedral_action
from symscope.data._stabilisers import default_tolerance, fixing_elements


@given(bits=st.lists(st.integers(0, 1), min_size=9, max_size=9))
def test_brute_force_on_small_images(bits: list[int]) -> None:
    x = torch.tensor(bits).reshape(1, 3, 3)
    action = dihedral_action(4)
    kept, closed = fixing_elements(action.act_all(x), x, action.group, 0.0)
    brute = []
    for g in range(8):
        image = x[0].flip(-1) if g >= 4 else x[0]
        if torch.equal(torch.rot90(image, g % 4), x[0]):
            brute.append(g)
    assert kept[0].tolist() == brute
    assert bool(closed[0])
    assert torch.equal(action.group.subgroup(kept[0]), kept[0])


@given(edges=st.lists(st.integers(0, 1), min_size=6, max_size=6))
def test_automorphisms_of_graphs(edges: list[int]) -> None:
    adjacency = torch.zeros(4, 4, dtype=torch.int64)
    adjacency[*torch.triu_indices(4, 4, 1)] = torch.tensor(edges)
    adjacency = adjacency + adjacency.T
    group = groups.symmetric(4)
    kept, closed = fixing_elements(
        node_permutation(group).act_all(adjacency[None]), adjacency[None], group, 0.0
    )
    brute = [g for g, p in enumerate(group.permutations) if torch.equal(adjacency[p][:, p], adjacency)]
    assert kept[0].tolist() == brute  # g keeps A exactly if its inverse does
    assert bool(closed[0])


def test_tolerance_is_relative() -> None:
    x = torch.tensor([[[1e3, 1e3 + 1e-3]], [[1e-3, 2e-3]]], dtype=torch.float64)
    points = flip().act_all(x)
    near, _ = fixing_elements(points, x, flip().group, 1e-5)
    assert [k.tolist() for k in near] == [[0, 1], [0]]
    exact, _ = fixing_elements(points, x, flip().group, default_tolerance(torch.float64))
    assert [k.tolist() for k in exact] == [[0], [0]]


def test_a_set_that_is_not_closed_is_called_so() -> None:
    group = groups.cyclic(6)
    x = torch.ones(1, 2, dtype=torch.float64)
    points = x.expand(1, 6, 2).clone()
    points[0, 2:5] += 1  # kept by r^-1, e, r, not by r^2
    kept, closed = fixing_elements(points, x, group, 1e-6)
    assert kept[0].tolist() == [0, 1, 5]
    assert not bool(closed[0])


def test_zero_is_kept_by_all() -> None:
    x = torch.zeros(1, 3, 3)
    kept, closed = fixing_elements(dihedral_action(4).act_all(x), x, dihedral_action(4).group, 1e-6)
    assert kept[0].tolist() == list(range(8))
    assert bool(closed[0])


def test_default_tolerances() -> None:
    assert default_tolerance(torch.float64) ** 2 == torch.finfo(torch.float64).eps
    assert abs(default_tolerance(torch.float32) - 3.45e-4) < 1e-6
    assert default_tolerance(torch.int64) == 0.0
