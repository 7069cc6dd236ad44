"""A kernel matrix assembled from what is kept of its inputs: all at once, or tile by tile if memory is short.

What is kept (Jacobian rows, or layer inputs and signals) is the business of the caller, who says how many
inputs of it fit in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

Held = TypeVar("Held")


def assembled_matrix(
    kept: Callable[[Tensor], Held],
    inner: Callable[[Held, Held], Tensor],
    x1: Shaped[Tensor, "b n1 *s"],
    x2: Shaped[Tensor, "b n2 *s"] | None,
    at_once: int,
    pairs: tuple[int, ...],
    like: Tensor,
) -> Float[Tensor, "b n1 n2 *cc"]:
    """The matrices of inner products between inputs.

    Args:
        kept: What is kept of inputs [b, n, *s].
        inner: Inner products of what is kept, [b, n1, n2, *pairs].
        x1: Inputs.
        x2: Other inputs; None for x1 against itself.
        at_once: Inputs of which enough is kept at once, on both sides together.
        pairs: Axes of pairs of outputs: () for their sum, (c, c) for all.
        like: A tensor of the dtype and device of the result.

    Returns:
        The matrices, exactly symmetric if x2 is None.
    """
    batch, n1 = x1.shape[:2]
    n2 = n1 if x2 is None else x2.shape[1]
    together = at_once // (n1 if x2 is None else n1 + n2)
    if together:
        parts = []
        for start in range(0, batch, together):
            part = slice(start, start + together)
            first = kept(x1[part])
            parts.append(inner(first, first if x2 is None else kept(x2[part])))
        result = torch.cat(parts) if len(parts) > 1 else parts[0]
        return symmetric_part(result) if x2 is None else result
    result = like.new_empty(batch, n1, n2, *pairs)
    for index in range(batch):
        other = None if x2 is None else x2[index]
        _tiles(kept, inner, x1[index], other, max(1, at_once // 2), result[index])
    return result


def sum_over_outputs(
    part: Callable[[Tensor], Tensor], cotangents: Float[Tensor, "c o"], at_once: int
) -> Tensor:
    """The sum of `part(some)` over combinations of outputs, so many of them at a time."""
    parts = map(part, cotangents.split(at_once))
    total = next(parts)
    for another in parts:
        total += another
    return total


def _tiles(
    kept: Callable[[Tensor], Held],
    inner: Callable[[Held, Held], Tensor],
    x1: Tensor,
    x2: Tensor | None,
    side: int,
    result: Tensor,
) -> None:
    """One matrix too large for all its inputs: pairs of chunks, the lower half if symmetric."""
    others = x1 if x2 is None else x2
    for top in range(0, len(x1), side):
        first = kept(x1[None, top : top + side])
        rows = slice(top, top + side)
        for left in range(0, len(others) if x2 is not None else top + 1, side):
            columns = slice(left, left + side)
            if x2 is None and left == top:
                result[rows, columns] = symmetric_part(inner(first, first))[0]
                continue
            result[rows, columns] = inner(first, kept(others[None, left : left + side]))[0]
            if x2 is None:
                result[columns, rows] = mirror(result[None, rows, columns])[0]


def evaluations(batch: int, n1: int, n2: int | None, at_once: int) -> int:
    """How many inputs `assembled_matrix` asks for in all, counting those asked for again.

    >>> evaluations(1, 6, None, 6), evaluations(1, 6, None, 4)  # whole; tiles of 2: 2, then 4, then 6
    (6, 12)
    """
    total = n1 if n2 is None else n1 + n2
    if at_once >= total:
        return batch * total
    side = max(1, at_once // 2)
    tiles = -(-n1 // side)
    if n2 is not None:
        return batch * (n1 + tiles * n2)
    return batch * (n1 + sum(min(top, n1) for top in range(0, tiles * side, side)))


def inner_of_rows(first: dict[str, Tensor], second: dict[str, Tensor], whole: bool) -> Tensor:
    """Inner products over weights of rows [b, n, c, p]: [b, n1, n2, c, c], or their sum over equal c."""
    total: Tensor | None = None
    for name, a in first.items():
        b = second[name]
        axes = (1, 2) if whole else (2, 3)
        part = a.flatten(*axes) @ b.flatten(*axes).mT
        total = part if total is None else total.add_(part)
    assert total is not None  # there is something trainable
    if not whole:
        return total
    n1, count = a.shape[1:3]
    return total.reshape(-1, n1, count, b.shape[1], count).permute(0, 1, 3, 2, 4).contiguous()


def mirror(matrix: Tensor) -> Tensor:
    """Inputs exchanged, and outputs with them."""
    swapped = matrix.transpose(1, 2)
    return swapped.transpose(3, 4) if matrix.ndim == 5 else swapped


def symmetric_part(matrix: Tensor) -> Tensor:
    """The symmetric part."""
    return (matrix + mirror(matrix)) / 2
