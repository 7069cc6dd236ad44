"""Pairs of inputs, listed, and their values put back into Grams; what the GPU and the CPU path share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor


@final
@dataclass(frozen=True)
class PairedInputs:
    """Two sets of inputs, with the roots of their variances at each activation of a chain.

    Attributes:
        x1: First inputs, vectors `[b, n1, d]` or images `[b, n1, c, h, w]`.
        x2: Second inputs, `[b, n2, ...]`.
        roots1: Roots for x1, `[steps, b, n1]` of vectors, `[b, n1, steps, h, w]` of images.
        roots2: Roots for x2.
        symmetric: Whether x2 is x1: then one half is computed and mirrored.
    """

    x1: Tensor
    x2: Tensor
    roots1: Tensor
    roots2: Tensor
    symmetric: bool


def pair_list(b: int, n1: int, n2: int, symmetric: bool, device: torch.device) -> Tensor:
    """Which input of x1 with which of x2, counted over all batches, `[2, pairs]`; one half if symmetric.

    >>> pair_list(1, 2, 2, True, torch.device("cpu")).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """
    if symmetric:
        rows, cols = torch.triu_indices(n1, n1, device=device)
    else:
        grid = torch.arange(n1 * n2, device=device)
        rows, cols = grid // n2, grid % n2
    batch = torch.arange(b, device=device)[:, None]
    return torch.stack([(batch * n1 + rows).flatten(), (batch * n2 + cols).flatten()]).to(torch.int32)


def placed_grams(
    values: Tensor, pairs: Tensor | None, shape: tuple[int, int, int], symmetric: bool
) -> Tensor:
    """Values of listed pairs, or of all pairs in order if no list is given, as Grams `[b, n1, n2]`.

    >>> pairs = pair_list(1, 2, 2, True, torch.device("cpu"))
    >>> placed_grams(torch.tensor([1.0, 2.0, 3.0]), pairs, (1, 2, 2), True).tolist()
    [[[1.0, 2.0], [2.0, 3.0]]]
    """
    b, n1, n2 = shape
    out = values
    if pairs is not None:
        out = values.new_zeros(b * n1, n2)
        out[pairs[0].long(), pairs[1].long() % n2] = values
    out = out.view(b, n1, n2)
    return upper_mirrored(out) if symmetric else out


def upper_mirrored(grams: Tensor) -> Tensor:
    """Symmetric matrices from their upper halves, whatever stands below.

    >>> upper_mirrored(torch.tensor([[1.0, 2.0], [9.0, 3.0]])).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    return grams.triu() + grams.triu(1).mT


def inverse_roots(roots: Tensor) -> Tensor:
    """`1 / root`, and 0 where the root is 0.

    >>> inverse_roots(torch.tensor([0.0, 4.0])).tolist()
    [0.0, 0.25]
    """
    return torch.where(roots > 0, roots.reciprocal(), 0.0)
