from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import PermutationGroup, from_generators, symmetric


@given(st.lists(st.permutations(range(6)), min_size=1, max_size=3))
def test_order_equals_the_listed_order(perms):
    group = PermutationGroup("random", torch.tensor(perms))
    assert group.order == from_generators(perms).order == group.listed().order


def test_multiplication_and_inverse():
    group = symmetric(9)
    a, b = group.sample(2, torch.Generator().manual_seed(3))
    x = torch.randn(9)
    moved = torch.empty(9)
    moved[b] = x  # b moves entry i to b[i]
    twice = torch.empty(9)
    twice[a] = moved
    direct = torch.empty(9)
    direct[group.multiply(a, b)] = x
    assert torch.equal(twice, direct)
    assert torch.equal(group.multiply(a, group.inverse(a)), group.identity)


def test_samples_are_uniform():
    # the symmetries of a square, order 8, as permutations of its corners: chi-squared, 7 degrees of freedom
    group = PermutationGroup("square", torch.tensor([[1, 2, 3, 0], [0, 3, 2, 1]]))
    drawn = group.sample(4000, torch.Generator().manual_seed(0))
    counts: dict[tuple[int, ...], int] = {}
    for g in drawn:
        counts[tuple(g.tolist())] = counts.get(tuple(g.tolist()), 0) + 1
    assert len(counts) == 8
    assert sum((c - 500) ** 2 / 500 for c in counts.values()) < 24.3  # 99.9th percentile
    again = group.sample(4000, torch.Generator().manual_seed(0))
    assert all(torch.equal(a, b) for a, b in zip(drawn, again, strict=True))


def test_bad_input():
    with pytest.raises(InputError, match="expected permutations of 0 to 2"):
        PermutationGroup("bad", torch.tensor([[0, 0, 2]]))
    with pytest.raises(InputError, match="the generators reach more"):
        symmetric(8).listed(max_order=1000)


def test_equality_and_repr():
    assert symmetric(8) == symmetric(8)
    assert symmetric(8) != symmetric(9)
    assert hash(symmetric(8)) == hash(symmetric(8))
    assert repr(symmetric(8)) == "S8 (order 40320, on 8 points)"
