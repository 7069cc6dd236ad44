"""How an empirical NTK is computed: Jacobians multiplied, or their rows pushed through the network.

Contraction costs `2 p` operations per pair of inputs and pair of outputs (per output for the trace), products
cost one forward-mode pass, about `2 F` operations for a forward pass of F, per pair of inputs and output.
Dense networks have F = 2 p, so the trace is contracted and whole blocks of many outputs go through products;
convolutions reuse weights (F much larger than p) and are contracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.kernels.finite_network import FiniteNetwork, Probe, Weights
from symscope.kernels.inputs import byte_text
from symscope.kernels.jacobian import jacobian_rows, products


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
    network: FiniteNetwork, size: Probe, cotangents: Tensor, memory: int, method: str, whole: bool = False
) -> Plan:
    """The cheaper method that fits in memory, with its sizes.

    Args:
        network: The network.
        size: What `probe` found.
        cotangents: Combinations of outputs [c, o].
        memory: Bytes.
        method: "auto", or the method to use.
        whole: Whether all pairs of combinations are wanted.

    Returns:
        The plan.

    Raises:
        InputError: If the memory is too small for the method.
    """
    weights, item = network.n_weights(), cotangents.dtype.itemsize
    row = (
        2 * weights + 3 * size.activations
    ) * item  # a gradient, a copy of it, activations and their gradients
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


def contraction(
    how: Plan,
    network: FiniteNetwork,
    x1: Shaped[Tensor, "b n1 *s"],
    x2: Shaped[Tensor, "b n2 *s"] | None,
    cotangents: Float[Tensor, "c o"],
) -> Float[Tensor, "b n1 n2 *cc"]:
    """Products of Jacobian rows, chunk by chunk: summed over combinations of outputs, or all their pairs."""
    if not how.whole:  # a sum over outputs can be taken a few outputs at a time
        few = max(1, how.rows_at_once // 2)
        parts = (_contraction(how, network, x1, x2, some) for some in cotangents.split(few))
        total = next(parts)
        for part in parts:
            total += part
        return total
    return _contraction(how, network, x1, x2, cotangents)


def _contraction(
    how: Plan, network: FiniteNetwork, x1: Tensor, x2: Tensor | None, cotangents: Tensor
) -> Tensor:
    batch, n1 = x1.shape[:2]
    n2 = n1 if x2 is None else x2.shape[1]
    at_once = how.rows_at_once // len(cotangents)
    together = at_once // (n1 if x2 is None else n1 + n2)
    if together:
        parts = []
        for start in range(0, batch, together):
            part = slice(start, start + together)
            first = _rows(network, x1[part], cotangents)
            second = first if x2 is None else _rows(network, x2[part], cotangents)
            parts.append(_inner(first, second, how.whole))
        result = torch.cat(parts)
        return _symmetric(result) if x2 is None else result
    pairs = (cotangents.shape[0],) * 2 if how.whole else ()
    result = cotangents.new_empty(batch, n1, n2, *pairs)
    for index in range(batch):
        _tiles(how, network, x1[index], None if x2 is None else x2[index], cotangents, result[index])
    return result


def _tiles(
    how: Plan, network: FiniteNetwork, x1: Tensor, x2: Tensor | None, cotangents: Tensor, result: Tensor
) -> None:
    """One Gram too large for its Jacobian to be held: pairs of chunks, the lower half if symmetric."""
    side = max(1, how.rows_at_once // (2 * len(cotangents)))
    others = x1 if x2 is None else x2
    for top in range(0, len(x1), side):
        first = _rows(network, x1[None, top : top + side], cotangents)
        rows = slice(top, top + side)
        for left in range(0, len(others) if x2 is not None else top + 1, side):
            columns = slice(left, left + side)
            if x2 is None and left == top:
                result[rows, columns] = _symmetric(_inner(first, first, how.whole))[0]
                continue
            second = _rows(network, others[None, left : left + side], cotangents)
            result[rows, columns] = _inner(first, second, how.whole)[0]
            if x2 is None:
                result[columns, rows] = _mirror(result[None, rows, columns])[0]


def products_matrix(
    how: Plan,
    network: FiniteNetwork,
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
                    name: t[0] for name, t in jacobian_rows(network, others[index, j : j + 1], some).items()
                }
                first = j if x2 is None else 0  # the rest is known by symmetry
                columns = [products(network, x, tangents) for x in x1[index, first:].split(inputs)]
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
    return _diagonal_blocks_symmetric(torch.where(lower, result, _mirror(result)))


def row_norms(
    how: Plan, network: FiniteNetwork, x: Shaped[Tensor, "n *s"], cotangents: Float[Tensor, "c o"]
) -> Float[Tensor, " n"]:
    """`sum_a |grad (cotangent_a . f)(x_i)|^2` for every input, without any other pair."""
    parts = []
    few = min(len(cotangents), max(1, how.rows_at_once))
    for chunk in x.split(max(1, how.rows_at_once // few)):
        total = cotangents.new_zeros(len(chunk))
        for some in cotangents.split(few):
            for rows in jacobian_rows(network, chunk, some).values():
                total += rows.flatten(1).square().sum(1)
        parts.append(total)
    return torch.cat(parts)


def _rows(network: FiniteNetwork, x: Tensor, cotangents: Tensor) -> Weights:
    rows = jacobian_rows(network, x.flatten(0, 1), cotangents)
    return {name: t.detach().reshape(*x.shape[:2], len(cotangents), -1) for name, t in rows.items()}


def _inner(first: Weights, second: Weights, whole: bool) -> Tensor:
    """Inner products over weights of rows [b, n, c, p]: [b, n1, n2, c, c], or their sum over equal c."""
    total: Tensor | None = None
    for name, a in first.items():
        b = second[name]
        axes = (1, 2) if whole else (2, 3)
        part = a.flatten(*axes) @ b.flatten(*axes).mT
        total = part if total is None else total.add_(part)
    assert total is not None  # a network without trainable weights is refused when it is made
    if not whole:
        return total
    n1, count = a.shape[1:3]
    return total.reshape(-1, n1, count, b.shape[1], count).permute(0, 1, 3, 2, 4).contiguous()


def _mirror(matrix: Tensor) -> Tensor:
    """Inputs exchanged, and outputs with them."""
    swapped = matrix.transpose(1, 2)
    return swapped.transpose(3, 4) if matrix.ndim == 5 else swapped


def _symmetric(matrix: Tensor) -> Tensor:
    return (matrix + _mirror(matrix)) / 2


def _diagonal_blocks_symmetric(matrix: Tensor) -> Tensor:
    if matrix.ndim == 5:
        blocks = matrix.diagonal(dim1=1, dim2=2)  # [b, c, c, n]
        blocks.copy_((blocks + blocks.transpose(1, 2)) / 2)
    return matrix
