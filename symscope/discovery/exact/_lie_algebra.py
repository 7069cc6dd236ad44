"""The structure of a Lie algebra of linear fields: brackets, closure, Killing form, and its known pieces.

Structure constants come from least squares; everything else from them. The radical is the orthogonal
complement of `[g, g]` in the Killing form (Cartan's criterion), the quotient by it is semisimple and splits
into simple ideals, which `_simple_algebras` names. See de Graaf, Lie Algebras: Theory and Algorithms (2000),
ch. 2 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from symscope.discovery.exact._simple_algebras import simple_ideals, sum_name
from symscope.discovery.fields import LinearField
from symscope.errors import InputError
from symscope.numerics import checked

DEPENDENT = 1e-6  # relative length of what remains of a field that is a combination of others
RANK = 1e-8  # relative size of singular values that count as zero: fields are known to about 1e-12
LARGEST = 50_000_000  # most numbers in all generators together


@final
@dataclass(frozen=True)
class LieAlgebra:
    """The Lie algebra that a set of generators spans.

    Attributes:
        constants: `[e_i, e_j] = sum_k constants[i, j, k] e_k` (matrix commutators).
        closure: Largest part of a bracket outside the span, relative to the bracket; 0 for an algebra.
        killing: `B(e_i, e_j) = tr(ad_i ad_j)`.
        signature: Numbers of positive, negative and zero eigenvalues of the Killing form.
        centre: Dimension of the centre, which commutes with everything.
        derived: Dimension of the span of all brackets.
        radical: Dimension of the largest solvable ideal, `{x: B(x, [g, g]) = 0}`.
        name: Name in known pieces, "gl(3)", "R^4", "sl(2) + sl(2)".
    """

    constants: Float[Tensor, "d d d"]
    closure: float
    killing: Float[Tensor, "d d"]
    signature: tuple[int, int, int]
    centre: int
    derived: int
    radical: int
    name: str

    @property
    def dimension(self) -> int:
        return self.constants.shape[0]


@checked
def lie_algebra(
    fields: Sequence[LinearField], size: int, translations: Sequence[LinearField] = ()
) -> LieAlgebra:
    """The structure of the algebra some linear fields span, modulo translations.

    Args:
        fields: Generators, linearly independent.
        size: Number of parameters.
        translations: Constant symmetries; brackets are taken modulo them.

    Returns:
        Structure constants, closure, invariants and a name.

    Raises:
        InputError: Generators that depend on each other, or too many to hold.

    >>> from symscope.discovery.fields import linear_field
    >>> sl2 = [[[1.0, 0.0], [0.0, -1.0]], [[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]]
    >>> lie_algebra([linear_field(torch.tensor(m).double()) for m in sl2], 2).name
    'sl(2)'
    """
    if not fields:
        empty = torch.zeros(0, 0, 0, dtype=torch.float64)
        return LieAlgebra(empty, 0.0, empty[0:0].reshape(0, 0), (0, 0, 0), 0, 0, 0, "0")
    matrices = _matrices(fields, size, translations)
    flat = matrices.flatten(1)
    values = torch.linalg.svdvals(flat)
    if float(values[-1]) < RANK * float(values[0]) or len(values) < len(fields):
        raise InputError("the generators depend on each other; give a basis (as the exact method does)")
    constants, closure = _constants(matrices, flat)
    killing = torch.einsum("iab,jba->ij", constants, constants)
    eigenvalues = torch.linalg.eigvalsh(killing)
    scale = float(constants.abs().max())
    cut = RANK * max(float(eigenvalues.abs().max()), scale**2, RANK)
    signature = (int((eigenvalues > cut).sum()), int((eigenvalues < -cut).sum()))
    dimension = len(fields)
    brackets = constants.reshape(-1, dimension)
    radical = dimension - _rank(brackets @ killing, scale)
    centre = dimension - _rank(constants.permute(1, 2, 0).reshape(-1, dimension), scale)
    name = _name(constants, killing, centre, radical, closure)
    zero = dimension - sum(signature)
    derived = _rank(brackets, scale)
    return LieAlgebra(constants, closure, killing, (*signature, zero), centre, derived, radical, name)


def independence_mask(
    fields: Sequence[LinearField], size: int, translations: Sequence[LinearField] = ()
) -> list[bool]:
    """Which fields are not combinations of those before them, modulo translations.

    Args:
        fields: Fields, none of them zero.
        size: Number of parameters.
        translations: Constant symmetries.

    Raises:
        InputError: Too many to hold.

    >>> from symscope.discovery.fields import linear_field
    >>> turn = linear_field(torch.tensor([[0.0, -1.0], [1.0, 0.0]]))
    >>> independence_mask([turn, linear_field(torch.eye(2)), turn], 2)
    [True, True, False]
    """
    flat = _matrices(fields, size, translations).flatten(1)
    basis = flat.new_zeros(0, flat.shape[1])
    mask = []
    for row in flat:
        left = row - (basis @ row) @ basis
        left = (
            left - (basis @ left) @ basis
        )  # twice is enough (Kahan and Parlett): once leaves rounding behind
        mask.append(float(left.norm()) > DEPENDENT)
        if mask[-1]:
            basis = torch.cat([basis, (left / left.norm())[None]])
    return mask


def is_too_large(fields: Sequence[LinearField], translations: Sequence[LinearField] = ()) -> bool:
    """Whether generators are too many, or touch too many parameters, for `lie_algebra` to hold."""
    return bool(fields) and len(fields) * (len(_support(fields, translations)) + 1) ** 2 > LARGEST


def _support(fields: Sequence[LinearField], translations: Sequence[LinearField]) -> Int[Tensor, "s"]:
    """The entries that any of them touches, in order."""
    return torch.unique(torch.cat([field.support for field in (*fields, *translations)]))


def _matrices(
    fields: Sequence[LinearField], size: int, translations: Sequence[LinearField]
) -> Float[Tensor, "d s s"]:
    """Generators as matrices on (theta, 1), on the entries they touch, without parts along translations."""
    support = _support(fields, translations)
    s = len(support)
    if is_too_large(fields, translations):
        raise InputError(
            f"{len(fields)} generators on {s} parameters are too many for one table of brackets; take the "
            "generators of one layer at a time"
        )
    matrices = torch.zeros(len(fields), s + 1, s + 1, dtype=torch.float64)
    for k, field in enumerate(fields):
        at = torch.searchsorted(support, field.support.contiguous())
        matrices[k][at[:, None], at] = field.matrix.double().cpu()
        matrices[k, at, s] = field.offset.double().cpu()
    if translations:
        span = torch.stack([t.dense_offset(size)[support] for t in translations], 1).double()
        basis = torch.linalg.qr(span).Q
        matrices[:, :s] -= basis @ (basis.T @ matrices[:, :s])
    return matrices / matrices.flatten(1).norm(dim=1)[:, None, None]


def _constants(
    matrices: Float[Tensor, "d s s"], flat: Float[Tensor, "d z"]
) -> tuple[Float[Tensor, "d d d"], float]:
    """Structure constants by least squares, and the largest part of a bracket that is outside."""
    count = len(matrices)
    inverse = torch.linalg.pinv(flat)
    constants = torch.zeros(count, count, count, dtype=torch.float64)
    closure = 0.0
    for i in range(count):
        products = matrices[i] @ matrices - matrices @ matrices[i]
        table = products.flatten(1)
        constants[i] = table @ inverse
        outside = (table - constants[i] @ flat).norm(dim=1)
        closure = max(closure, float((outside / table.norm(dim=1).clamp_min(1e-3)).max()))
    constants[constants.abs() < 1e-12] = 0.0
    return constants, closure


def _rank(matrix: Float[Tensor, "r c"], scale: float) -> int:
    if scale <= RANK:
        return 0
    values = torch.linalg.svdvals(matrix)
    return int((values > RANK * max(float(values[0]), 1e-300)).sum()) if float(values[0]) > RANK else 0


def _name(constants: Tensor, killing: Tensor, centre: int, radical: int, closure: float) -> str:
    if closure > 1e-6:
        return "not closed under brackets"
    dimension = len(constants)
    if radical == dimension:
        return sum_name([], centre) if centre == dimension else f"solvable of dimension {dimension}"
    levi = _quotient(constants, killing, radical)
    pieces = simple_ideals(levi)
    if radical == centre:
        return sum_name(pieces, centre)
    return f"{sum_name(pieces, 0)} with a solvable radical of dimension {radical}"


def _quotient(constants: Tensor, killing: Tensor, radical: int) -> Tensor:
    """Structure constants of the algebra modulo its radical."""
    dimension = len(constants)
    brackets = constants.reshape(-1, dimension)
    _, _, right = torch.linalg.svd(brackets @ killing)
    rows = right[: dimension - radical]  # at right angles to the radical: coordinates of the quotient
    return torch.einsum("ai,bj,ijk,ck->abc", rows, rows, constants, rows)
