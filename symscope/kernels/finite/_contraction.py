"""How an empirical NTK is computed: Jacobians multiplied, or their rows pushed through the network.

They are the Jacobian contraction and the NTK-vector products of Novak, Sohl-Dickstein and Schoenholz 2022
(Fast finite width neural tangent kernel, ICML). Contraction costs `2 p` operations per pair of inputs and
pair of outputs (per output for the trace), products cost one forward-mode pass, about `2 F` operations for a
forward pass of F, per pair of inputs and output. Dense networks have F = 2 p, so the trace is contracted and
whole blocks of many outputs go through products; convolutions reuse weights (F much larger than p) and are
contracted.

A kernel matrix is assembled from what is kept of its inputs (Jacobian rows, or the layer inputs and signals
of `_structured`): all at once, or tile by tile if memory is short.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.networks import ForwardProfile, FunctionalModule, Jacobian
from symscope.numerics import byte_text


@final
@dataclass(frozen=True)
class Plan:
    """A method with the sizes that keep it within its memory.

    Attributes:
        method: "contraction" or "products".
        whole: Whether every pair of outputs is wanted, or the sum over equal ones.
        rows_at_once: Jacobian rows (input and output) held at once.
        inputs_at_once: Inputs that go through the network together in a product.
    """

    method: str
    whole: bool
    rows_at_once: int
    inputs_at_once: int


def plan(
    network: FunctionalModule,
    size: ForwardProfile,
    cotangents: Tensor,
    memory: int,
    method: str,
    whole: bool = False,
) -> Plan:
    """The cheaper method that fits in memory, with its sizes.

    Args:
        network: The network.
        size: Sizes that `forward_profile` measured.
        cotangents: Combinations of outputs [c, o].
        memory: Bytes to work in.
        method: "auto", or the method to use.
        whole: Whether all pairs of combinations are wanted.

    Returns:
        The plan.

    Raises:
        InputError: If the memory is too small for the method.
    """
    weights, item = network.n_weights(), cotangents.dtype.itemsize
    # one Jacobian row: a gradient, a copy of it, activations and their gradients
    row = (2 * weights + 3 * size.activations) * item
    rows = memory // row
    count = len(cotangents)
    pair = 2 * count if whole else 2  # rows without which no pair of inputs can be contracted
    one_input = 3 * size.activations * item
    smallest = 4 * weights * item + one_input
    if method == "auto":
        cheaper = size.flops < count * weights if whole else size.flops < weights
        method = "products" if cheaper or rows < pair else "contraction"
    needed = pair * row if method == "contraction" else smallest
    if memory < needed:
        raise InputError(
            f"memory: {method} needs at least {needed} bytes ({byte_text(needed)}) for {weights} weights and "
            f"{size.activations} activations per input, got {byte_text(memory)}."
        )
    inputs_at_once = max(1, (memory - 4 * weights * item) // one_input)
    return Plan(method, whole, rows, inputs_at_once)


def inputs_per_product(network: FunctionalModule, size: ForwardProfile, x: Tensor, memory: int) -> int:
    """How many inputs fit at once where the Jacobian is only multiplied with vectors.

    Raises:
        InputError: If the memory is too small for one input.
    """
    nothing = x.new_empty(0, size.outputs, dtype=network.dtype_for(x))
    return plan(network, size, nothing, memory, "products").inputs_at_once


def contraction(
    how: Plan,
    network: FunctionalModule,
    x1: Shaped[Tensor, "b n1 *s"],
    x2: Shaped[Tensor, "b n2 *s"] | None,
    cotangents: Float[Tensor, "c o"],
) -> Float[Tensor, "b n1 n2 *cc"]:
    """Products of Jacobian rows, chunk by chunk: summed over combinations of outputs, or all their pairs."""

    def part(some: Tensor) -> Tensor:
        return assembled_matrix(
            lambda x: _rows(network, x, some),
            lambda first, second: inner_of_rows(first, second, how.whole),
            x1,
            x2,
            how.rows_at_once // len(some),
            (len(some),) * 2 if how.whole else (),
            some,
        )

    # a sum over outputs is taken a few outputs at a time: each Jacobian then meets those of more inputs, and
    # is computed for fewer tiles
    points = max(x1.shape[1], 0 if x2 is None else x2.shape[1])
    few = len(cotangents) if how.whole else max(1, how.rows_at_once // (2 * max(1, points)))
    return sum_over_outputs(part, cotangents, few)


def products_matrix(
    how: Plan,
    network: FunctionalModule,
    x1: Shaped[Tensor, "b n1 *s"],
    x2: Shaped[Tensor, "b n2 *s"] | None,
    cotangents: Float[Tensor, "c o"],
) -> Float[Tensor, "b n1 n2 *cc"]:
    """The same numbers column by column: `J(x1) (J(x2_j)^T cotangent)`, a forward-mode pass for each."""
    count = len(cotangents)
    others = x1 if x2 is None else x2
    pairs = (count, count) if how.whole else ()
    result = cotangents.new_empty(*x1.shape[:2], others.shape[1], *pairs)
    rows = max(1, min(how.rows_at_once // 2, 128))  # tangents at once: the rest of the memory is for x1
    inputs = max(1, min(how.inputs_at_once // (2 * rows + 2), x1.shape[1]))
    for index in range(x1.shape[0]):
        for j in range(others.shape[1]):
            for start in range(0, count, rows):
                some = cotangents[start : start + rows]
                tangents = {
                    name: t[0] for name, t in Jacobian(network, others[index, j : j + 1]).rows(some).items()
                }
                first = j if x2 is None else 0  # the rest is known by symmetry
                columns = [
                    Jacobian(network, x).batched_jvp(tangents) for x in x1[index, first:].split(inputs)
                ]
                column = torch.cat(columns, dim=1)  # [rows, n1 - first, o]
                if how.whole:
                    result[index, first:, j, :, start : start + rows] = torch.einsum(
                        "mio,co->icm", column, cotangents
                    )
                else:
                    value = torch.einsum("mio,mo->i", column, some)
                    result[index, first:, j] = value if start == 0 else result[index, first:, j] + value
    if x2 is not None:
        return result
    n = x1.shape[1]
    lower = torch.ones(n, n, dtype=torch.bool, device=x1.device).tril().reshape(n, n, *(1 for _ in pairs))
    return _diagonal_blocks_symmetric(torch.where(lower, result, mirror(result)))


def row_norms(
    how: Plan, network: FunctionalModule, x: Shaped[Tensor, "n *s"], cotangents: Float[Tensor, "c o"]
) -> Float[Tensor, " n"]:
    """`sum_a |grad (cotangent_a . f)(x_i)|^2` for every input, without any other pair."""
    parts = []
    few = min(len(cotangents), max(1, how.rows_at_once))
    for chunk in x.split(max(1, how.rows_at_once // few)):
        total = cotangents.new_zeros(len(chunk))
        for some in cotangents.split(few):
            for rows in Jacobian(network, chunk).rows(some).values():
                total += rows.flatten(1).square().sum(1)
        parts.append(total)
    return torch.cat(parts)


def _rows(network: FunctionalModule, x: Tensor, cotangents: Tensor) -> dict[str, Tensor]:
    rows = Jacobian(network, x.flatten(0, 1)).rows(cotangents)
    return {name: t.detach().reshape(*x.shape[:2], len(cotangents), -1) for name, t in rows.items()}


def _diagonal_blocks_symmetric(matrix: Tensor) -> Tensor:
    if matrix.ndim == 5:
        blocks = matrix.diagonal(dim1=1, dim2=2)  # [b, c, c, n]
        blocks.copy_((blocks + blocks.transpose(1, 2)) / 2)
    return matrix


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
