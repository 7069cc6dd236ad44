"""Compact matrix groups: rotations, reflections, tori, and their products with finite groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.groups._finite_group import FiniteGroup
from symscope.groups._permutation import PermutationGroup
from symscope.numerics import check_count, check_memory, checked, shortened

__all__ = ["CompactGroup", "as_compact", "compact_product", "o", "so", "torus"]

LARGEST_MATRICES = 2**26  # bytes of the Lie algebra and generators of a group: SO(64), T128


@checked
@final
@dataclass(frozen=True, eq=False, repr=False)
class CompactGroup:
    """A compact group of orthogonal matrices; its elements are float64 tensors `[size, size]`.

    It is known by its Lie algebra, which reaches the component of the identity, and by discrete
    generators, which reach the others.

    Attributes:
        name: Its name in the grammar of `parse` where it has one.
        size: Side of the matrices.
        lie_algebra: A basis of antisymmetric matrices, orthonormal up to one common factor per simple part.
        generators: Matrices that together with the Lie algebra generate the group.
        haar: `(count, generator) -> [count, size, size]`, uniform samples.
        blocks: Where the factors of a product stand on the diagonal: (start, stop) for each.

    >>> from symscope.groups.compact import so
    >>> g = so(3).sample(1, torch.Generator().manual_seed(0))[0]
    >>> round(torch.linalg.det(g).item(), 12)
    1.0
    """

    name: str
    size: int
    lie_algebra: Float[Tensor, "k n n"]
    generators: Float[Tensor, "j n n"]
    haar: Callable[[int, torch.Generator], Tensor]
    blocks: tuple[tuple[int, int], ...] = ()

    def __repr__(self) -> str:
        return f"{self.name} (dimension {self.dimension})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CompactGroup) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def dimension(self) -> int:
        """Dimension as a manifold."""
        return self.lie_algebra.shape[0]

    @property
    def identity(self) -> Float[Tensor, "n n"]:
        """The identity matrix."""
        return torch.eye(self.size, dtype=torch.float64)

    def multiply(self, a: Tensor, b: Tensor) -> Float[Tensor, "n n"]:
        """The product ab."""
        return a @ b

    def inverse(self, a: Tensor) -> Float[Tensor, "n n"]:
        """The inverse of a, its transpose."""
        return a.T

    def sample(self, count: int, generator: torch.Generator) -> Float[Tensor, "count n n"]:
        """Elements drawn from the Haar (uniform) measure."""
        count = check_count("count", count)
        check_memory(f"{count} samples of {self.name}", 8 * count * self.size**2, "draw fewer at a time")
        return self.haar(count, generator)

    def exponential(self, coefficients: Float[Tensor, "k"]) -> Float[Tensor, "n n"]:
        """The element exp(sum_i c_i h_i)."""
        return torch.linalg.matrix_exp(torch.einsum("k,kij->ij", coefficients, self.lie_algebra))


def so(n: int) -> CompactGroup:
    """SO(n), rotations of n-space.

    >>> so(3)
    SO(3) (dimension 3)
    """
    n = check_count("n of SO(<n>)", n)
    _check_matrices(f"SO({shortened(n)})", n * (n - 1) // 2, n)
    return CompactGroup(
        f"SO({n})", n, _antisymmetric(n), torch.zeros(0, n, n, dtype=torch.float64), partial(_haar, n, True)
    )


def o(n: int) -> CompactGroup:
    """O(n), rotations and reflections of n-space; the discrete generator flips the first axis.

    >>> o(2)
    O(2) (dimension 1)
    """
    n = check_count("n of O(<n>)", n)
    _check_matrices(f"O({shortened(n)})", n * (n - 1) // 2 + 1, n)
    flip = torch.eye(n, dtype=torch.float64)
    flip[0, 0] = -1
    return CompactGroup(f"O({n})", n, _antisymmetric(n), flip[None], partial(_haar, n, False))


def torus(k: int) -> CompactGroup:
    """T^k, k independent rotations of the plane, as block-diagonal 2k x 2k matrices.

    >>> torus(2)
    T2 (dimension 2)
    """
    k = check_count("k of T<k>", k)
    _check_matrices(f"T{shortened(k)}", k, 2 * k)
    algebra = torch.zeros(k, 2 * k, 2 * k, dtype=torch.float64)
    for i, part in enumerate(algebra):
        part[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = _antisymmetric(2)[0]
    return CompactGroup(
        f"T{k}",
        2 * k,
        algebra,
        torch.zeros(0, 2 * k, 2 * k, dtype=torch.float64),
        partial(_haar_product, (so(2),) * k),
        tuple((2 * i, 2 * i + 2) for i in range(k)),
    )


@checked
def compact_product(
    left: CompactGroup | FiniteGroup | PermutationGroup, right: CompactGroup | FiniteGroup | PermutationGroup
) -> CompactGroup:
    """G x H as block-diagonal matrices; a finite factor enters through its permutation matrices.

    >>> from symscope.groups import symmetric
    >>> mixed = compact_product(symmetric(4), so(3)); mixed.name, mixed.size, len(mixed.generators)
    ('S4xSO(3)', 7, 2)
    """
    a, b = as_compact(left), as_compact(right)
    size = a.size + b.size
    name = f"{a.name}x{b.name}"
    _check_matrices(name, a.dimension + b.dimension + len(a.generators) + len(b.generators), size)

    def placed(blocks: Tensor, start: int, diagonal: float) -> Tensor:
        out = torch.zeros(len(blocks), size, size, dtype=torch.float64)
        out.diagonal(dim1=1, dim2=2).fill_(diagonal)
        stop = start + blocks.shape[-1]
        out[:, start:stop, start:stop] = blocks
        return out

    return CompactGroup(
        name,
        size,
        torch.cat([placed(a.lie_algebra, 0, 0.0), placed(b.lie_algebra, a.size, 0.0)]),
        torch.cat([placed(a.generators, 0, 1.0), placed(b.generators, a.size, 1.0)]),
        partial(_haar_product, (a, b)),
        ((0, a.size), (a.size, size)),
    )


@checked
def as_compact(group: CompactGroup | FiniteGroup | PermutationGroup) -> CompactGroup:
    """A finite group as a group of permutation matrices; a compact group as it is.

    >>> from symscope.groups import cyclic
    >>> as_compact(cyclic(5)).dimension
    0
    """
    if isinstance(group, CompactGroup):
        return group
    gens = (
        group.generators
        if isinstance(group, PermutationGroup)
        else group.move(torch.tensor(group.generators, dtype=torch.int64))
    )
    size = gens.shape[1]
    _check_matrices(group.name, len(gens), size)
    return CompactGroup(
        group.name,
        size,
        torch.zeros(0, size, size, dtype=torch.float64),
        _permutation_matrices(gens),
        partial(_haar_finite, group),
    )


def _permutation_matrices(perms: Tensor) -> Float[Tensor, "k n n"]:
    return torch.nn.functional.one_hot(perms, perms.shape[1]).transpose(1, 2).to(torch.float64)


def _antisymmetric(n: int) -> Float[Tensor, "k n n"]:
    """E_ji - E_ij for i < j: the generator of the rotation that takes axis i towards axis j."""
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    basis = torch.zeros(len(pairs), n, n, dtype=torch.float64)
    for k, (i, j) in enumerate(pairs):
        basis[k, j, i], basis[k, i, j] = 1.0, -1.0
    return basis


def _haar(n: int, proper: bool, count: int, generator: torch.Generator) -> Float[Tensor, "count n n"]:
    """Haar samples of O(n), or SO(n) if proper: QR of Gaussians with the signs of R made positive."""
    gaussian = torch.randn(count, n, n, generator=generator, dtype=torch.float64)
    q, r = torch.linalg.qr(gaussian)
    q = q * torch.sign(torch.diagonal(r, dim1=1, dim2=2))[:, None, :]
    if proper:
        q[:, :, 0] *= torch.linalg.det(q)[:, None].sign()
    return q


def _haar_product(factors: tuple[CompactGroup, ...], count: int, generator: torch.Generator) -> Tensor:
    samples = [factor.sample(count, generator) for factor in factors]
    return torch.stack([torch.block_diag(*blocks) for blocks in zip(*samples, strict=True)])


def _haar_finite(group: FiniteGroup | PermutationGroup, count: int, generator: torch.Generator) -> Tensor:
    if isinstance(group, FiniteGroup):
        return _permutation_matrices(group.move(torch.tensor(group.sample(count, generator))))
    return _permutation_matrices(torch.stack(group.sample(count, generator)))


def _check_matrices(name: str, count: int, size: int) -> None:
    """Refuses a group whose Lie algebra and generators do not fit, before they are built."""
    check_memory(
        f"the Lie algebra and generators of {name}, {shortened(count)} matrices of side {shortened(size)}",
        8 * count * size**2,
        "take a smaller group",
        most=LARGEST_MATRICES,
    )
