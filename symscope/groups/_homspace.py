"""The equivariant maps between two representations that are not sums, found from generators alone.

Three ways, chosen by what the representations are:

- permutation representations: orbits of index pairs under the generators; the basis is their indicators;
- small ones: the null space of the constraints, by a dense eigendecomposition;
- large unitary ones: random matrices projected on the null space by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.groups._group_laws import orbit_labels
from symscope.groups._representation import Representation, hom
from symscope.groups.compact import CompactGroup
from symscope.numerics import checked

LARGEST_DENSE = 2500  # unknowns: the constraint matrix is then 50 MB and its eigenvectors take seconds
NULL = 1e-9  # relative size under which an eigenvalue of the squared constraints counts as zero
_CG_TOLERANCE = 1e-14
_CG_STEPS = 2000


@final
@dataclass(frozen=True, eq=False)
class HomSpace:
    """A subspace of flattened matrices: indicators of orbits, or a dense orthonormal basis; one of the two.

    Attributes:
        orbit: For orbits, the orbit of each index pair.
        sizes: For orbits, how many pairs each holds.
        vectors: Otherwise, an orthonormal basis, `[dimension, n]`.
    """

    orbit: Int64[Tensor, "n"] | None = None
    sizes: Float64[Tensor, "k"] | None = None
    vectors: Tensor | None = None

    @property
    def dimension(self) -> int:
        """Dimension of the space."""
        if self.sizes is not None:
            return len(self.sizes)
        assert self.vectors is not None
        return self.vectors.shape[0]

    @property
    def is_complex(self) -> bool:
        """Whether the basis is complex."""
        return self.vectors is not None and self.vectors.is_complex()

    def coefficients(self, x: Tensor) -> Tensor:
        """Inner products with the orthonormal basis, `[..., n] -> [..., dimension]`."""
        if self.orbit is not None and self.sizes is not None:
            sums = torch.zeros(*x.shape[:-1], self.dimension, dtype=x.dtype, device=x.device)
            sums.index_add_(-1, self.orbit.to(x.device), x)
            return sums / self.sizes.sqrt().to(dtype=x.dtype, device=x.device)
        basis, x = self._together(x)
        return x @ basis.mH

    def combine(self, c: Tensor) -> Tensor:
        """The vector with given coefficients, `[..., dimension] -> [..., n]`."""
        if self.orbit is not None and self.sizes is not None:
            scaled = c / self.sizes.sqrt().to(dtype=c.dtype, device=c.device)
            return scaled.index_select(-1, self.orbit.to(c.device))
        basis, c = self._together(c)
        return c @ basis

    def project(self, x: Tensor) -> Tensor:
        """The nearest vector of the space, `[..., n] -> [..., n]`."""
        return self.combine(self.coefficients(x))

    def _together(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Basis and vector in one dtype on the vector's device."""
        assert self.vectors is not None
        dtype = torch.promote_types(x.dtype, torch.complex64) if self.is_complex else x.dtype
        return self.vectors.to(dtype=dtype, device=x.device), x.to(dtype)


def hom_space(source: Representation, target: Representation) -> HomSpace:
    """Hom_G(V, W) between two representations, by the cheapest way that applies.

    >>> from symscope.groups import cyclic, permutation
    >>> hom_space(permutation(cyclic(6)), permutation(cyclic(6))).dimension  # circulant matrices
    6
    """
    if source.permutation is not None and target.permutation is not None:
        return pair_orbits(source, target)
    if source.dim * target.dim <= LARGEST_DENSE:
        return dense_null_space(source, target)
    if not (source.unitary and target.unitary):
        raise InputError(
            f"expected unitary representations for spaces of more than {LARGEST_DENSE} unknowns (here "
            f"{source.dim * target.dim}): make them unitary with unitary_form(rep) first."
        )
    return iterative_null_space(source, target)


@checked
def pair_orbits(source: Representation, target: Representation) -> HomSpace:
    """Permutation representations: an equivariant matrix is constant on the orbits of index pairs.

    >>> from symscope.groups import permutation, symmetric
    >>> pair_orbits(permutation(symmetric(9)), permutation(symmetric(9))).sizes.tolist()
    [9.0, 72.0]
    """
    assert source.permutation is not None
    assert target.permutation is not None
    images = [torch.arange(target.dim * source.dim)]
    for g in source.group.generators:
        image = target.permutation(g)[:, None] * source.dim + source.permutation(g)
        images.append(image.reshape(-1))
    orbit = orbit_labels(torch.stack(images))
    return HomSpace(orbit=orbit, sizes=torch.bincount(orbit).to(torch.float64))


def dense_null_space(source: Representation, target: Representation) -> HomSpace:
    """The null space of all constraints, by an eigendecomposition of their sum of squares.

    >>> from symscope.groups.constructions import defining

    >>> from symscope.groups.compact import so
    >>> dense_null_space(defining(so(3)), defining(so(3))).dimension
    1
    """
    n = source.dim * target.dim
    total = torch.zeros(n, n, dtype=torch.float64)
    for constraint in _constraint_matrices(source, target):
        total = total + constraint.mH @ constraint
    values, vectors = torch.linalg.eigh(total)
    null = values <= NULL * max(float(values[-1]), 1.0)
    return HomSpace(vectors=vectors[:, null].T.contiguous())


def iterative_null_space(source: Representation, target: Representation, seed: int = 0) -> HomSpace:
    """The null space of the constraints for large unitary representations, without any constraint matrix.

    Random matrices are projected by conjugate gradients, in growing number until they no longer span more.

    >>> from symscope.groups.constructions import defining

    >>> from symscope.groups.compact import so
    >>> v = defining(so(3))
    >>> iterative_null_space(v * v, v * v).dimension
    3
    """
    n = source.dim * target.dim
    space = hom(source, target)
    is_complex = space.action(source.group.identity, torch.zeros(1, n, dtype=torch.float64)).is_complex()
    dtype = torch.complex128 if is_complex else torch.float64
    generator = torch.Generator().manual_seed(seed)
    result = torch.zeros(0, n, dtype=dtype)
    count = 8
    while True:
        probes = torch.randn(count, n, dtype=dtype, generator=generator)
        probes = probes - (probes @ result.mH) @ result
        projected = _null_projection(space, probes)
        _, sizes, right = torch.linalg.svd(projected, full_matrices=False)
        fresh = right[sizes > 1e-6 * float(torch.linalg.vector_norm(probes, dim=1).max())]
        result = torch.linalg.qr(torch.cat([result, fresh]).mH).Q.mH
        if len(fresh) < count:
            return HomSpace(vectors=result.contiguous())
        count = min(2 * len(result), n - len(result))
        if count == 0:
            return HomSpace(vectors=result.contiguous())


def _constraint_matrices(source: Representation, target: Representation) -> Iterator[Tensor]:
    """`vec(A) -> vec(rho_W A - A rho_V)` for each generator and each basis element of the Lie algebra."""
    eye_v = torch.eye(source.dim, dtype=torch.float64)
    eye_w = torch.eye(target.dim, dtype=torch.float64)
    for g in source.group.generators:
        yield _commutator(source(g), target(g))
    if isinstance(source.group, CompactGroup):
        for h in source.group.lie_algebra:
            yield _commutator(
                source.act_algebra(h, eye_v).T.contiguous(), target.act_algebra(h, eye_w).T.contiguous()
            )


def _commutator(v: Tensor, w: Tensor) -> Tensor:
    dtype = torch.promote_types(v.dtype, w.dtype)
    eye_v, eye_w = torch.eye(v.shape[0], dtype=dtype), torch.eye(w.shape[0], dtype=dtype)
    return torch.kron(w.to(dtype), eye_v) - torch.kron(eye_w, v.to(dtype).T.contiguous())


def _squared_constraints(space: Representation, x: Tensor) -> Tensor:
    """`sum_g (I - rho)^H (I - rho) x - sum_h d rho(h)^2 x` for a unitary representation."""
    total = torch.zeros_like(x)
    generators: Iterable[Any] = space.group.generators
    for g in generators:
        total += 2 * x - space.act(g, x) - space.act(space.group.inverse(g), x)
    if isinstance(space.group, CompactGroup):
        for h in space.group.lie_algebra:
            total -= space.act_algebra(h, space.act_algebra(h, x))
    return total


def _null_projection(space: Representation, x: Tensor) -> Tensor:
    """x minus the solution y of M y = M x by conjugate gradients, all rows at once; twice, to polish."""
    accuracy = _CG_TOLERANCE * float(torch.linalg.vector_norm(x, dim=1).max())
    for _ in range(2):
        x = x - _conjugate_gradients(space, _squared_constraints(space, x), accuracy)
    return x


def _conjugate_gradients(space: Representation, right: Tensor, accuracy: float) -> Tensor:
    y = torch.zeros_like(right)
    residual, direction = right.clone(), right.clone()
    size = torch.linalg.vector_norm(residual, dim=1, keepdim=True) ** 2
    for _ in range(_CG_STEPS):
        if float(size.max()) <= accuracy**2:
            return y
        image = _squared_constraints(space, direction)
        curvature = (direction.conj() * image).sum(dim=1, keepdim=True).real
        step = torch.where(curvature > 0, size / curvature.clamp(min=1e-300), 0.0)
        y += step * direction
        residual -= step * image
        fresh = torch.linalg.vector_norm(residual, dim=1, keepdim=True) ** 2
        direction = residual + torch.where(size > 0, fresh / size.clamp(min=1e-300), 0.0) * direction
        size = fresh
    raise ArithmeticError(
        f"conjugate gradients for {space!r} left a residual of {float(size.max()) ** 0.5:.2g} after "
        f"{_CG_STEPS} steps."
    )
