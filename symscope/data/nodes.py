"""Permutations of the nodes of a graph, acting on adjacency matrices and on node features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Int64
from torch import Tensor

from symscope.data._action import Action
from symscope.errors import InputError, nearest
from symscope.groups import FiniteGroup
from symscope.numerics import checked

__all__ = ["node_permutation"]

KINDS = ("adjacency", "features")


@checked
def node_permutation(group: FiniteGroup, indexed: str = "adjacency") -> Action:
    """A group of node permutations on tensors indexed by nodes.

    With `p = group.permutations[g]`: `(g A)[p[i], p[j]] = A[i, j]` on adjacency tensors `[..., n, n]`,
    `(g X)[p[i], f] = X[i, f]` on node features `[..., n, f]`.

    Args:
        group: A group whose `permutations` move the n nodes (`symmetric(n)`, `cyclic(n)`, ...).
        indexed: "adjacency" if both of the last two axes are nodes, "features" if only the first of them is.

    Raises:
        InputError: An unknown kind; when used, tensors with another number of nodes.

    >>> from symscope.groups import cyclic
    >>> import torch
    >>> path = torch.tensor([[0, 1, 0], [0, 0, 1], [0, 0, 0]])  # 0 -> 1 -> 2
    >>> node_permutation(cyclic(3)).act(1, path).nonzero().tolist()  # 1 -> 2 -> 0
    [[1, 2], [2, 0]]
    """
    if indexed not in KINDS:
        hint = nearest(indexed, KINDS)
        raise InputError(f"expected 'adjacency' or 'features', got {indexed!r}; {hint}")
    sources = group.permutations[group.inverses]
    return Action("nodes", group, NodePermutation(sources, indexed == "adjacency"), 2)


@final
@dataclass(frozen=True, eq=False)
class NodePermutation:
    """The transform of `nodes`: `out[i, j] = x[sources[g, i], sources[g, j]]`, or only the first index."""

    sources: Int64[Tensor, "order nodes"]
    both: bool

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        degree = self.sources.shape[1]
        if height != degree or (self.both and width != degree):
            wanted = f"[..., {degree}, {degree if self.both else 'features'}]"
            raise InputError(
                f"expected tensors {wanted}, because the group moves {degree} nodes, got shape "
                f"{tuple(x.shape)}."
            )
        first = self.sources.to(x.device)[g]
        batch = np.broadcast_shapes(g.shape, x.shape[:-2])
        moved = x.expand(*batch, height, width).gather(-2, first[..., None].expand(*batch, height, width))
        if not self.both:
            return moved
        return moved.gather(-1, first[..., None, :].expand(*batch, height, width))
