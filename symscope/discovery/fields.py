"""Vector fields on parameters: the infinitesimal actions `V_h(theta) = D_g a_X|_(I, theta)(h)`.

A field is called with one flat parameter vector and one batch of data, and gives a tangent vector. Fields
that do not depend on data ignore the batch. Everything is made for `torch.func` transforms. For those who
write symmetries down by hand, to verify, follow or combine them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from symscope.discovery.sampling import ParameterPoints
from symscope.errors import InputError
from symscope.numerics import check_count, check_memory, checked, explained

__all__ = [
    "FunctionField",
    "LinearField",
    "ParameterField",
    "field_combination",
    "field_values",
    "lie_bracket",
    "linear_combination",
    "linear_field",
]


class ParameterField(ABC):
    """A vector field on parameters.

    Attributes:
        name: Name shown to people.
        data_dependent: Whether it looks at the batch.
    """

    name: str
    data_dependent: bool

    @abstractmethod
    def __call__(
        self, theta: Float[Tensor, "n"], x: Shaped[Tensor, "b *s"], y: Shaped[Tensor, "b *t"]
    ) -> Float[Tensor, "n"]:
        """The tangent vector at theta, for the batch (x, y)."""


@checked
@final
@dataclass(frozen=True)
class LinearField(ParameterField):
    """`V(theta)_S = M theta_S + c` on some entries S of the parameters, zero on the others.

    Only the entries a generator touches are stored: generators of large networks stay small.

    Attributes:
        support: Entries S of the flat parameter vector, each once.
        matrix: Matrix M on these entries.
        offset: Constant c on these entries.
        name: Name shown to people.

    >>> rescaling = LinearField(torch.arange(2), torch.diag(torch.tensor([1.0, -1.0])), torch.zeros(2))
    >>> nothing = torch.zeros(1, 1)
    >>> rescaling(torch.tensor([3.0, 5.0, 7.0]), nothing, nothing)
    tensor([ 3., -5.,  0.])
    """

    support: Int[Tensor, "k"]
    matrix: Float[Tensor, "k k"]
    offset: Float[Tensor, "k"]
    name: str = "linear field"
    data_dependent: bool = False

    def __post_init__(self) -> None:
        if len(torch.unique(self.support)) != len(self.support):
            raise InputError(f"support: expected every entry once, got {self.support.tolist()}")

    def __call__(
        self, theta: Float[Tensor, "n"], x: Shaped[Tensor, "b *s"], y: Shaped[Tensor, "b *t"]
    ) -> Float[Tensor, "n"]:
        support = self.support.to(theta.device)
        tangent = self.matrix.to(theta) @ theta[support] + self.offset.to(theta)
        return torch.zeros_like(theta).index_add(0, support, tangent)

    def _check_size(self, size: int) -> None:
        check_count("size", size, int(self.support.max()) + 1 if len(self.support) else 0)

    def dense(self, size: int) -> Float[Tensor, "n n"]:
        """The generator as a full matrix (a heat map's data); the offset is not in it."""
        self._check_size(size)
        check_memory("the matrix", self.matrix.element_size() * size**2, "use support and matrix")
        full = torch.zeros(size, size, dtype=self.matrix.dtype, device=self.matrix.device)
        full[self.support[:, None], self.support[None, :]] = self.matrix
        return full

    def dense_offset(self, size: int) -> Float[Tensor, "n"]:
        """The constant part as a full vector."""
        self._check_size(size)
        check_memory("the vector", self.matrix.element_size() * size, "use support and offset")
        full = torch.zeros(size, dtype=self.matrix.dtype, device=self.matrix.device)
        return full.index_copy(0, self.support, self.offset)


@checked
@final
@dataclass(frozen=True)
class FunctionField(ParameterField):
    """Any function of parameters and batch as a field: a learned one, a bracket, one from a paper.

    Attributes:
        function: `(theta [n], x [b, ...], y [b, ...]) -> [n]`, differentiable.
        name: Name shown to people.
        data_dependent: Whether it looks at the batch.
    """

    function: Callable[[Tensor, Tensor, Tensor], Tensor]
    name: str = "field"
    data_dependent: bool = True

    def __call__(
        self, theta: Float[Tensor, "n"], x: Shaped[Tensor, "b *s"], y: Shaped[Tensor, "b *t"]
    ) -> Float[Tensor, "n"]:
        return self.function(theta, x, y)


@checked
def linear_field(
    matrix: Float[Tensor, "n n"], offset: Float[Tensor, "n"] | None = None, name: str = "linear field"
) -> LinearField:
    """A linear (or affine) field from its full matrix; keeps the entries it touches.

    >>> linear_field(torch.diag(torch.tensor([0.0, 1.0, -1.0]))).support.tolist()
    [1, 2]
    """
    constant = torch.zeros_like(matrix[0]) if offset is None else offset
    touched = (matrix != 0).any(0) | (matrix != 0).any(1) | (constant != 0)
    support = torch.nonzero(touched)[:, 0]
    return LinearField(support, matrix[support][:, support], constant[support], name)


@explained
def field_values(field: ParameterField, points: ParameterPoints) -> Float[Tensor, "p n"]:
    """The field at every point."""
    return torch.func.vmap(field)(points.theta, points.x, points.y)


@explained
def lie_bracket(first: ParameterField, second: ParameterField) -> ParameterField:
    """The Lie bracket of two fields, `[V, W] = DW . V - DV . W`.

    For linear fields `V = A theta`, `W = B theta` it is `(BA - AB) theta`: minus the commutator, so that a
    left action has `[V_h1, V_h2] = -V_[h1, h2]`.

    Args:
        first: Field V.
        second: Field W.

    Returns:
        A linear field for linear ones, otherwise one that takes Jacobian-vector products.

    >>> A, B = torch.tensor([[0.0, 1.0], [0.0, 0.0]]), torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    >>> lie_bracket(linear_field(A), linear_field(B)).matrix
    tensor([[-1.,  0.],
            [ 0.,  1.]])
    """
    name = f"[{first.name}, {second.name}]"
    if isinstance(first, LinearField) and isinstance(second, LinearField):
        return _linear_bracket(first, second, name)

    def of(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        v, w = first(theta, x, y), second(theta, x, y)
        along_v = torch.func.jvp(lambda point: second(point, x, y), (theta,), (v,))[1]
        along_w = torch.func.jvp(lambda point: first(point, x, y), (theta,), (w,))[1]
        return along_v - along_w

    return FunctionField(of, name, first.data_dependent or second.data_dependent)


def _linear_bracket(first: LinearField, second: LinearField, name: str) -> LinearField:
    support, where = torch.unique(torch.cat([first.support, second.support]), return_inverse=True)
    a, b = where[: len(first.support)], where[len(first.support) :]
    size = len(support)
    A, B = first.matrix.new_zeros(size, size), second.matrix.new_zeros(size, size)
    A[a[:, None], a], B[b[:, None], b] = first.matrix, second.matrix
    c, d = first.matrix.new_zeros(size), second.matrix.new_zeros(size)
    c[a], d[b] = first.offset, second.offset
    return LinearField(support, B @ A - A @ B, B @ c - A @ d, name)


@checked
def field_combination(
    fields: Sequence[ParameterField], weights: Float[Tensor, "k"], name: str = "combination"
) -> ParameterField:
    """`sum_k w_k V_k`; a linear field for linear ones, on the entries they touch.

    Raises:
        InputError: Not one weight for every field, or no fields.

    >>> a, b = (linear_field(torch.diag(torch.tensor(d))) for d in ([1.0, 0.0], [0.0, 1.0]))
    >>> field_combination((a, b), torch.tensor([2.0, 3.0])).matrix.diagonal()
    tensor([2., 3.])
    """
    if not fields or len(fields) != len(weights):
        raise InputError(f"expected one weight for each field, got {len(weights)} for {len(fields)}")
    linear = [field for field in fields if isinstance(field, LinearField)]
    if len(linear) == len(fields):
        return linear_combination(linear, weights, name)

    def of(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        values = torch.stack([field(theta, x, y) for field in fields])
        return weights.to(theta) @ values

    return FunctionField(of, name, any(field.data_dependent for field in fields))


@checked
def linear_combination(
    fields: Sequence[LinearField], weights: Float[Tensor, "k"], name: str = "combination"
) -> LinearField:
    """`field_combination` of linear fields, whose type is then known.

    Raises:
        InputError: Not one weight for every field, or no fields.
    """
    if not fields or len(fields) != len(weights):
        raise InputError(f"expected one weight for each field, got {len(weights)} for {len(fields)}")
    support = torch.unique(torch.cat([field.support for field in fields]))
    matrix = fields[0].matrix.new_zeros(len(support), len(support))
    offset = matrix.new_zeros(len(support))
    for field, weight in zip(fields, weights.tolist(), strict=True):
        at = torch.searchsorted(support, field.support.contiguous())
        matrix[at[:, None], at] += weight * field.matrix
        offset[at] += weight * field.offset
    return LinearField(support, matrix, offset, name)
