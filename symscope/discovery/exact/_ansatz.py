"""Ansätze for linear fields: unknown coefficients of elementary fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from symscope.discovery.fields import LinearField
from symscope.discovery.known._spaces import HiddenSpace
from symscope.errors import InputError


@final
@dataclass(frozen=True)
class Ansatz:
    """Fields `V_c = sum_k c_k E_k`, each elementary E_k a few entries of a matrix acting on (theta, 1).

    The constraints are linear in c: `sum_k c_k <grad L(theta, x), E_k (theta, 1)> = 0` (Eq. 4).

    Attributes:
        parameters: Number of parameters n.
        unknowns: Number of unknown coefficients K.
        term: Number of the unknown that each entry belongs to, ascending.
        row: Parameter that each entry moves.
        column: Parameter that each entry is proportional to; n stands for the constant 1.
    """

    parameters: int
    unknowns: int
    term: Int[Tensor, "z"]
    row: Int[Tensor, "z"]
    column: Int[Tensor, "z"]

    def constraints(
        self, theta: Float[Tensor, "p n"], gradients: Float[Tensor, "p n"]
    ) -> Float[Tensor, "p K"]:
        """One row of the constraint matrix for every point."""
        extended = torch.cat([theta, torch.ones_like(theta[:, :1])], 1)
        products = gradients[:, self.row] * extended[:, self.column]
        if len(self.term) == self.unknowns:
            return products
        total = products.new_zeros(len(theta), self.unknowns)
        return total.index_add(1, self.term.to(theta.device), products)

    def field(self, coefficients: Float[Tensor, "K"], name: str = "linear field") -> LinearField:
        """The field with the given coefficients."""
        values = coefficients[self.term]
        used = values != 0
        row, column, values = self.row[used], self.column[used], values[used]
        linear = column < self.parameters
        support = torch.unique(torch.cat([row, column[linear]]))
        matrix = coefficients.new_zeros(len(support), len(support))
        offset = coefficients.new_zeros(len(support))
        rows = torch.searchsorted(support, row)
        columns = torch.searchsorted(support, column[linear])
        matrix.index_put_((rows[linear], columns), values[linear], accumulate=True)
        offset.index_put_((rows[~linear],), values[~linear], accumulate=True)
        return LinearField(support, matrix, offset, name)


def all_linear(parameters: int, affine: bool = True, support: Int[Tensor, "k"] | None = None) -> Ansatz:
    """Every linear (or affine) field on some parameters: n (n + 1) unknowns for all n of them.

    >>> all_linear(3).unknowns, all_linear(3, affine=False).unknowns
    (12, 9)
    """
    entries = torch.arange(parameters) if support is None else support
    columns = torch.cat([entries, torch.tensor([parameters])]) if affine else entries
    row = entries.repeat_interleave(len(columns))
    column = columns.repeat(len(entries))
    return Ansatz(parameters, len(row), torch.arange(len(row)), row, column)


def unit_mixing(parameters: int, space: HiddenSpace, pairs: Sequence[tuple[int, int]]) -> Ansatz:
    """Mixing of pairs of hidden units, each side of the space with a coefficient of its own.

    For a pair (a, b) of units and every side: the weights of unit a move in proportion to those of unit b (on
    transposed sides the other way round). For `W2 sigma(W1 x)` these are the matrices A, B of
    `V = (A W1, W2 B)`, so rescalings are pairs (a, a), and gl(h) is `B = -A`.

    Raises:
        InputError: No pairs.
    """
    if not pairs:
        raise InputError("expected at least one pair of hidden units")
    term, row, column = [], [], []
    unknown = 0
    for a, b in pairs:
        for side in space.sides:
            to, source = (b, a) if side.transposed else (a, b)
            term.append(torch.full((side.positions.shape[1],), unknown))
            row.append(side.positions[to])
            column.append(side.positions[source])
            unknown += 1
    return Ansatz(parameters, unknown, torch.cat(term), torch.cat(row), torch.cat(column))


def unit_shifts(parameters: int, space: HiddenSpace) -> Ansatz:
    """Shifts of hidden units: a constant on every bias before, the weights after onto the bias after.

    Raises:
        InputError: The space has no biases to shift.
    """
    term, row, column = [], [], []
    unknown = 0
    for unit in range(space.size):
        for positions, biases in space.shifts:
            into = positions[unit]
            term.append(torch.full((len(into),), unknown))
            row.append(biases if biases is not None else into)
            column.append(into if biases is not None else torch.full((len(into),), parameters))
            unknown += 1
    if not term:
        raise InputError(f"{space.name}: there are no biases before and after these units to shift")
    return Ansatz(parameters, unknown, torch.cat(term), torch.cat(row), torch.cat(column))
