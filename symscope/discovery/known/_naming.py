"""Names of fields: known symmetries by their names, others by the weights they move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.discovery._parameter_layout import ParameterLayout
from symscope.discovery._parameter_problem import ParameterProblem
from symscope.discovery.exact._null_space import echelon
from symscope.discovery.fields import LinearField, linear_field
from symscope.discovery.known._catalogue import catalogue

SAME = 1 - 1e-6  # cosine above which two fields are one
TINY = 1e-7  # what is left of a field that lies in a span found to rounding


def named_fields(
    problem: ParameterProblem, fields: Sequence[LinearField], kind: str = "linear"
) -> tuple[LinearField, ...]:
    """Fields with human-readable names: "rescaling of unit 2 of the hidden units between 0 and 2".

    A field that equals one of the catalogue's up to a factor takes its name; the names of others list the
    parameters they move, and in proportion to which.

    Args:
        problem: Network, whose layers give the names.
        fields: Fields to name.
        kind: First word of the name of a field that is not in the catalogue.
    """
    known: dict[tuple[int, ...], list[LinearField]] = {}
    for candidate in _known(problem):
        known.setdefault(tuple(candidate.support.tolist()), []).append(candidate)
    return tuple(_named(field, known, problem.layout, kind) for field in fields)


def named_basis(
    problem: ParameterProblem, span: Float[Tensor, "z d"], directions: Float[Tensor, "n t"], affine: bool
) -> tuple[LinearField, ...]:
    """A basis of a space of fields: the catalogue's fields in it first, then the rest, as sparse as can be.

    Args:
        problem: Network, whose layers give the names.
        span: Orthonormal columns: matrices `[n, n + 1]` (`[n, n]` without constants), flattened, of fields
            modulo translations.
        directions: Orthonormal translations; catalogue fields are compared modulo them.
        affine: Whether matrices have a column of constants.

    Returns:
        As many fields as the span has columns.
    """
    size, chosen, left = problem.size, [], span
    for candidate in _known(problem):
        table = candidate.dense(size)
        if affine:
            table = torch.cat([table, candidate.dense_offset(size)[:, None]], 1)
        elif bool(candidate.offset.any()):
            continue
        vector = (table - directions @ (directions.T @ table)).reshape(-1).to(span)
        if left.shape[1] == 0 or float(vector.norm()) < TINY * float(table.norm()):
            continue
        vector = vector / vector.norm()
        inside = span.T @ vector
        new = left.T @ vector
        if float((vector - span @ inside).norm()) < TINY and float(new.norm()) > TINY:
            chosen.append(candidate)
            left = left @ _complement(new)
    rest = [_field(column, size, affine) for column in echelon(left).T]
    return (*chosen, *(replace(f, name=field_description(f, problem.layout)) for f in rest))


def _known(problem: ParameterProblem) -> list[LinearField]:
    return [field for entry in catalogue(problem) for field in entry.fields]


def _complement(vector: Float[Tensor, "d"]) -> Float[Tensor, "d e"]:
    """Orthonormal columns at right angles to a vector."""
    return torch.linalg.qr(vector[:, None], mode="complete").Q[:, 1:]


def _field(entries: Float[Tensor, "z"], size: int, affine: bool) -> LinearField:
    table = entries.reshape(size, size + affine)
    return linear_field(table[:, :size], table[:, size] if affine else None)


def _named(
    field: LinearField, known: dict[tuple[int, ...], list[LinearField]], layout: ParameterLayout, kind: str
) -> LinearField:
    for candidate in known.get(tuple(field.support.tolist()), []):
        if abs(_cosine(field, candidate)) > SAME:
            return replace(field, name=candidate.name)
    return replace(field, name=field_description(field, layout, kind))


def _cosine(a: LinearField, b: LinearField) -> float:
    """Cosine of two fields with one support."""
    u, v = (torch.cat([f.matrix.reshape(-1), f.offset]) for f in (a, b))
    return float(u @ v / (u.norm() * v.norm()))


def field_description(field: LinearField, layout: ParameterLayout, kind: str = "linear") -> str:
    """What a field moves, in words: at most its three largest terms.

    >>> from symscope.discovery.fields import linear_field
    >>> turn = linear_field(torch.tensor([[0.0, -1.0], [1.0, 0.0]]))
    >>> field_description(turn, ParameterLayout(("a", "b"), ((1,), (1,))))
    'linear field on a, b: a[0] moves by -1 b[0]; b[0] moves by 1 a[0]'
    """
    touched = sorted({_parameter(layout, int(i)) for i in field.support})
    table = torch.cat([field.matrix, field.offset[:, None]], 1)
    order = torch.argsort(table.abs().reshape(-1), descending=True, stable=True)[:3].tolist()
    terms = []
    for place in order:
        row, column = divmod(place, table.shape[1])
        if float(table[row, column]) == 0:
            continue
        source = f" {layout.entry(int(field.support[column]))}" if column < len(field.support) else ""
        terms.append(
            f"{layout.entry(int(field.support[row]))} moves by {_number(table[row, column])}{source}"
        )
    more = "; ..." if int((table != 0).sum()) > len(terms) else ""
    return f"{kind} field on {', '.join(touched)}: {'; '.join(terms)}{more}"


def _parameter(layout: ParameterLayout, index: int) -> str:
    return layout.entry(index).partition("[")[0]


def _number(value: Tensor) -> str:
    return f"{float(value):.3g}"
