"""Exact search for polynomial and data-dependent fields: null spaces over a dictionary of monomials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.discovery._parameter_layout import ParameterLayout
from symscope.discovery._parameter_problem import ParameterProblem
from symscope.discovery.exact._linear_symmetries import LIMIT, STRIDE, gradient_rows
from symscope.discovery.exact._monomials import DictionaryField, MonomialDictionary
from symscope.discovery.exact._null_space import NullSpace, converged_null_space, echelon
from symscope.discovery.fields import LinearField
from symscope.errors import InputError
from symscope.numerics import byte_text, checked


@final
@dataclass(frozen=True)
class PolynomialSymmetries:
    """The symmetries found in a dictionary.

    Attributes:
        fields: A sparse basis; each holds for one sample at a time where it depends on data.
        null_space: Singular values and the significance of their gap.
        known: Dimension of the part made of monomials times known linear symmetries, which are not new.
    """

    fields: tuple[DictionaryField, ...]
    null_space: NullSpace
    known: int

    @property
    def dimension(self) -> int:
        return len(self.fields)

    @property
    def new(self) -> int:
        """Dimension of what is not a multiple of known fields."""
        return self.dimension - self.known


@checked
def polynomial_symmetries(
    problem: ParameterProblem,
    dictionary: MonomialDictionary,
    *,
    seed: int,
    known: Sequence[LinearField] = (),
    level: float = 1e-3,
    limit: int = LIMIT,
) -> PolynomialSymmetries:
    """All symmetries `V_i = sum_k C_ik m_k(theta, x, y)` with monomials from a dictionary.

    The condition `grad L . V = 0` is linear in C, one equation for every random (theta, x, y).

    Args:
        problem: Network and loss.
        dictionary: Monomials of the fields; those with data make fields that depend on their sample.
        seed: Seed for drawing points.
        known: Known linear symmetries; their multiples by monomials are counted apart.
        level: Error level of the gap test.
        limit: Most unknowns, `n * len(dictionary)`.

    Returns:
        Fields and evidence.

    Raises:
        InputError: More unknowns than the limit, or a dictionary for another number of parameters.

    >>> from torch import nn
    >>> from symscope.discovery import gaussian_data, parameter_problem
    >>> from symscope.discovery.exact import monomials
    >>> net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    >>> made = parameter_problem(net, "squared", gaussian_data((1,), (1,)))
    >>> polynomial_symmetries(made, monomials(2, 2), seed=0).dimension  # (w1, -w2) times 1, w1, w2
    3
    """
    if dictionary.parameters != problem.size:
        raise InputError(
            f"the dictionary is for {dictionary.parameters} parameters, the network has {problem.size}"
        )
    unknowns = problem.size * len(dictionary)
    if unknowns > limit:
        raise InputError(
            f"{len(dictionary)} monomials on {problem.size} parameters have {unknowns} unknowns, the limit "
            f"is {limit} (a matrix of their square, {byte_text(8 * unknowns**2)}); use a lower degree, "
            "fewer monomials or a smaller network, or learn the symmetries instead"
        )
    null = converged_null_space(_constraints(problem, dictionary, seed), unknowns, level)
    shape = (problem.size, len(dictionary))
    with_data = torch.tensor(dictionary.data_dependent)
    fields = []
    for column in echelon(null.basis.cpu()).T:
        table = column.reshape(shape)
        uses = bool(table[:, with_data].any())
        fields.append(
            DictionaryField(
                dictionary, table, polynomial_description(table, dictionary, problem.layout), uses
            )
        )
    multiples = known_multiples(known, dictionary)
    rank = int(torch.linalg.matrix_rank(multiples)) if multiples.shape[1] else 0
    return PolynomialSymmetries(tuple(fields), null, rank)


def _constraints(
    problem: ParameterProblem, dictionary: MonomialDictionary, seed: int
) -> Callable[[int, int], Tensor]:
    def block(count: int, turn: int) -> Tensor:
        points, gradients = gradient_rows(problem, count, seed + STRIDE * turn)
        values = torch.func.vmap(dictionary.values)(points.theta, points.x, points.y)
        return (gradients[:, :, None] * values[:, None, :]).flatten(1)

    return block


def known_multiples(fields: Sequence[LinearField], dictionary: MonomialDictionary) -> Float[Tensor, "K e"]:
    """Coefficients of all products of a monomial and a linear field that stay within the dictionary.

    >>> from symscope.discovery.fields import linear_field

    >>> from symscope.discovery.exact import monomials
    >>> rescaling = linear_field(torch.diag(torch.tensor([1.0, -1.0])))
    >>> known_multiples([rescaling], monomials(2, 2)).shape  # times 1, w1, w2
    torch.Size([12, 3])
    """
    place = {term: k for k, term in enumerate(dictionary.terms)}
    shape = (dictionary.parameters, len(dictionary))
    # a product stays inside only if its monomial is one of the dictionary's, or one of them without a factor
    factors = {term[:i] + term[i + 1 :] for term in dictionary.terms for i in range(len(term))}
    columns = []
    for field in fields:
        for factor in sorted(factors | set(dictionary.terms)):
            table = torch.zeros(shape, dtype=torch.float64)
            inside = True
            for i, row in zip(field.support.tolist(), field.matrix.tolist(), strict=True):
                for j, value in zip(field.support.tolist(), row, strict=True):
                    term = _product(factor, j)
                    inside &= value == 0 or term in place
                    if value and term in place:
                        table[i, place[term]] += value
            for i, value in zip(field.support.tolist(), field.offset.tolist(), strict=True):
                inside &= value == 0 or factor in place
                if value and factor in place:
                    table[i, place[factor]] += value
            if inside and bool(table.any()):
                columns.append(table.reshape(-1))
    return torch.stack(columns, 1) if columns else torch.zeros(shape[0] * shape[1], 0, dtype=torch.float64)


def _product(factor: tuple[int, ...], variable: int) -> tuple[int, ...]:
    """A monomial times a parameter, its variables in order (parameters come before data)."""
    return tuple(sorted((*factor, variable)))


def polynomial_description(
    table: Float[Tensor, "n k"], dictionary: MonomialDictionary, layout: ParameterLayout
) -> str:
    """A polynomial field in words: at most its first four terms."""
    names, terms = dictionary.names(layout), []
    for i, k in torch.nonzero(table).tolist():
        terms.append(f"{layout.entry(i)} moves by {float(table[i, k]):.3g} {names[k]}")
    more = "; ..." if len(terms) > 4 else ""
    return "; ".join(terms[:4]) + more
