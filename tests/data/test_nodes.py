from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import groups
from symscope.data.nodes import node_permutation
from symscope.errors import InputError


@given(g=st.integers(0, 23), seed=st.integers(0, 1000))
def test_relabelling_by_permutation_matrices(g: int, seed: int) -> None:
    group = groups.symmetric(4)
    generator = torch.Generator().manual_seed(seed)
    adjacency = torch.randn(2, 4, 4, dtype=torch.float64, generator=generator)
    features = torch.randn(2, 4, 3, dtype=torch.float64, generator=generator)
    p = torch.zeros(4, 4, dtype=torch.float64)
    p[group.permutations[g], torch.arange(4)] = 1  # e_i -> e_p(i)
    assert torch.equal(node_permutation(group).act(g, adjacency), p @ adjacency @ p.T)
    assert torch.equal(node_permutation(group, "features").act(g, features), p @ features)
    # what a node knows of its neighbours moves with it
    moved = node_permutation(group).act(g, adjacency) @ node_permutation(group, "features").act(g, features)
    assert torch.allclose(moved, node_permutation(group, "features").act(g, adjacency @ features))


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"expected tensors \[..., 4, 4\], because the group moves 4 nodes"):
        node_permutation(groups.symmetric(4)).act(1, torch.zeros(4, 5))
    with pytest.raises(InputError, match=r"expected tensors \[..., 4, features\]"):
        node_permutation(groups.symmetric(4), "features").act(1, torch.zeros(3, 4))
    with pytest.raises(InputError, match="did you mean 'features'"):
        node_permutation(groups.symmetric(4), "feature")
