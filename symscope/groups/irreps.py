"""Irreducible representations of any finite group, and its character table."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import torch
from jaxtyping import Complex128, Float64, Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.groups.constructions import from_matrices
from symscope.groups.finite import FiniteGroup
from symscope.groups.representation import Representation
from symscope.groups.subgroups import conjugacy_classes

# Splitting costs an eigendecomposition of the order: minutes at 5,040.
LARGEST_SPLIT = 5040
ACCURACY = 1e-9  # an attempt whose irreps miss Schur orthogonality by more is thrown away
_ATTEMPTS = 5


@lru_cache(maxsize=32)
def irreps(group: FiniteGroup) -> tuple[Representation, ...]:
    """Every irreducible representation once, unitary, the trivial one first.

    Products of cyclic groups get the characters `exp(-2 pi i k g / n)`, in the order and with the sign of
    the FFT; direct products get tensor products of their factors' irreps. Any other group is split
    numerically: a random Hermitian element of the commutant of the regular representation has the
    irreducible subspaces as eigenspaces. Irreps that can be made real are real.

    Raises:
        InputError: The group has more than 5,040 elements.

    >>> from symscope.groups import symmetric
    >>> [rho.dim for rho in irreps(symmetric(4))]
    [1, 1, 2, 3, 3]
    """
    if group.cyclic_factors is not None:
        return _characters(group, group.cyclic_factors)
    if group.factors is not None:
        return _product_irreps(group, *group.factors)
    if group.order > LARGEST_SPLIT:
        raise InputError(
            f"expected a group of at most {LARGEST_SPLIT} elements to split numerically, {group.name} has "
            f"{group.order}: write it as a product of smaller groups."
        )
    for seed in range(_ATTEMPTS):
        found = _split_regular(group, seed)
        if found is not None:
            return found
    raise ArithmeticError(
        f"the regular representation of {group.name} did not split in {_ATTEMPTS} attempts."
    )


@final
@dataclass(frozen=True)
class CharacterTable:
    """Characters of all irreps on all conjugacy classes.

    Attributes:
        characters: `[irrep, class]`.
        class_sizes: Number of elements of each class.
        representatives: An element of each class.
        indicators: Frobenius-Schur: 1 real, 0 complex, -1 quaternionic.
    """

    characters: Complex128[Tensor, "irreps classes"]
    class_sizes: Int64[Tensor, "classes"]
    representatives: Int64[Tensor, "classes"]
    indicators: Int64[Tensor, "irreps"]


def character_table(group: FiniteGroup) -> CharacterTable:
    """The character table.

    >>> from symscope.groups import quaternion
    >>> character_table(quaternion()).indicators.tolist()
    [1, 1, 1, 1, -1]
    """
    classes = conjugacy_classes(group)
    representatives = torch.stack([c[0] for c in classes])
    full = torch.stack([character(rho) for rho in irreps(group)])
    squares = group.table.diagonal()
    indicators = full[:, squares].mean(dim=1).real.round().to(torch.int64)
    sizes = torch.tensor([len(c) for c in classes])
    return CharacterTable(full[:, representatives], sizes, representatives, indicators)


def character(rep: Representation) -> Complex128[Tensor, "order"]:
    """tr rho(g) for every element of a listed group; fixed points for permutation representations.

    >>> from symscope.groups import permutation, symmetric
    >>> character(permutation(symmetric(3))).real.tolist()
    [3.0, 1.0, 1.0, 0.0, 0.0, 1.0]
    """
    group = rep.group
    if not isinstance(group, FiniteGroup):
        raise InputError(f"expected a listed finite group, got {group.name}.")
    if rep.permutation is not None:
        here = torch.arange(rep.dim)
        counts = [int((rep.permutation(g) == here).sum()) for g in group.elements]
        return torch.tensor(counts, dtype=torch.complex128)
    values = torch.empty(group.order, dtype=torch.complex128)
    for members in conjugacy_classes(group):
        values[members] = torch.trace(rep(int(members[0]))).to(torch.complex128)
    return values


def multiplicities(rep: Representation) -> Int64[Tensor, "irreps"]:
    """How often each irrep occurs: the inner product of characters.

    >>> from symscope.groups import permutation, symmetric
    >>> multiplicities(permutation(symmetric(4))).tolist()
    [1, 0, 0, 1, 0]
    """
    assert isinstance(rep.group, FiniteGroup)
    theirs = torch.stack([character(rho) for rho in irreps(rep.group)])
    return (theirs.conj() @ character(rep) / rep.group.order).real.round().to(torch.int64)


def _characters(group: FiniteGroup, factors: tuple[int, ...]) -> tuple[Representation, ...]:
    grids = [torch.arange(n) for n in factors]
    elements = torch.cartesian_prod(*grids).reshape(-1, len(factors))
    found = []
    for k in itertools.product(*(range(n) for n in factors)):
        # exact integers before the division keep the phase of large groups accurate
        turns = torch.stack([(elements[:, i] * k[i] % n).double() / n for i, n in enumerate(factors)]).sum(
            dim=0
        )
        values = torch.polar(torch.ones(group.order, dtype=torch.float64), -2 * math.pi * turns)
        real = all(2 * ki % n == 0 for ki, n in zip(k, factors, strict=True))
        name = f"k={k[0]}" if len(k) == 1 else f"k={k}"
        matrices = values.real.round() if real else values
        found.append(from_matrices(group, matrices[:, None, None].clone(), name=name))
    return tuple(found)


def _product_irreps(group: FiniteGroup, left: FiniteGroup, right: FiniteGroup) -> tuple[Representation, ...]:
    found = []
    for a, b in itertools.product(irreps(left), irreps(right)):
        dtype = torch.promote_types(a.matrices.dtype, b.matrices.dtype)
        grid = torch.einsum("gij,hkl->ghikjl", a.matrices.to(dtype), b.matrices.to(dtype))
        dim = a.dim * b.dim
        found.append(from_matrices(group, grid.reshape(group.order, dim, dim), name=f"{a.name} * {b.name}"))
    return tuple(found)


def _split_regular(group: FiniteGroup, seed: int) -> tuple[Representation, ...] | None:
    """One attempt: eigenspaces of a random Hermitian element; None when they did not come out irreducible."""
    n = group.order
    generator = torch.Generator().manual_seed(seed)
    c = torch.randn(n, dtype=torch.complex128, generator=generator)
    c = c + c[group.inverses].conj()
    element = c[group.table[group.inverses]]  # A[h, k] = c(h^-1 k) commutes with left translations
    values, vectors = torch.linalg.eigh(element)
    cuts = (values.diff() > 1e-7 * float(values.abs().max())).nonzero()[:, 0] + 1
    spaces = torch.tensor_split(vectors, cuts.tolist(), dim=1)
    representatives = torch.stack([members[0] for members in conjugacy_classes(group)])
    chosen: dict[tuple[complex, ...], Tensor] = {}
    for space in spaces:
        moved = space[group.table[group.inverses[representatives]]]  # (L(g) u)(h) = u(g^-1 h)
        chi = torch.einsum("hd,chd->c", space.conj(), moved)
        key = tuple(complex(round(z.real, 4) + 0.0, round(z.imag, 4) + 0.0) for z in chi.tolist())
        chosen.setdefault(key, space)
    if sum(s.shape[1] ** 2 for s in chosen.values()) != n:
        return None
    order = sorted(chosen, key=lambda chi: (chosen[chi].shape[1], [(-z.real, -z.imag) for z in chi]))
    matrices = [_made_real(_restricted(group, chosen[chi]), group) for chi in order]
    if max(_schur_error(m) for m in matrices) > ACCURACY:
        return None
    return _named(group, matrices)


def _named(group: FiniteGroup, matrices: list[Tensor]) -> tuple[Representation, ...]:
    seen: dict[int, int] = {}
    reps = []
    for m in matrices:
        dim = m.shape[1]
        seen[dim] = seen.get(dim, 0) + 1
        reps.append(from_matrices(group, m, name=f"{dim}{_letter(seen[dim])}"))
    return tuple(reps)


def _letter(count: int) -> str:
    text = ""
    while count:
        count, rest = divmod(count - 1, 26)
        text = "abcdefghijklmnopqrstuvwxyz"[rest] + text
    return text


def _restricted(group: FiniteGroup, space: Complex128[Tensor, "n d"]) -> Complex128[Tensor, "n d d"]:
    """U^H L(g) U for every g, one at a time: the whole would be n^2 d numbers."""
    return torch.stack([space.mH @ space[group.table[group.inverses[g]]] for g in group.elements])


def _schur_error(matrices: Tensor) -> float:
    """How far `mean_g rho_ij(g) conj rho_kl(g)` is from `delta_ik delta_jl / d`."""
    n, d, _ = matrices.shape
    flat = matrices.reshape(n, d * d)
    gram = flat.mH @ flat / n
    return float((gram - torch.eye(d * d, dtype=gram.dtype) / d).abs().max())


def _made_real(matrices: Complex128[Tensor, "n d d"], group: FiniteGroup) -> Tensor:
    """The same irrep in a real basis, where one exists (Frobenius-Schur indicator 1).

    C = mean_g rho(g) X rho(g)^T is a multiple of the symmetric unitary with rho C = C conj(rho); with the
    Takagi factorisation C = V V^T, V^H rho V is real.
    """
    chi = torch.einsum("gii->g", matrices)
    if float(chi[group.table.diagonal()].mean().real) < 0.5:
        return matrices
    d = matrices.shape[1]
    probe = torch.randn(d, d, dtype=torch.complex128, generator=torch.Generator().manual_seed(d))
    c = torch.einsum("gij,jk,glk->il", matrices, probe, matrices) / len(matrices)
    c = c / torch.linalg.matrix_norm(c, 2)
    _, rotation = torch.linalg.eigh(0.6 * c.real + 0.8 * c.imag)  # real and imaginary parts commute
    o = rotation.to(torch.complex128)
    phases = torch.einsum("ji,jk,ki->i", o, c, o)
    v = o * (phases / phases.abs()).sqrt()
    real = v.mH @ matrices @ v
    return real.real.contiguous() if float(real.imag.abs().max()) < ACCURACY else matrices


def trivial_index(reps: tuple[Representation, ...]) -> int:
    """The position of the trivial representation among irreps.

    >>> from symscope.groups import quaternion
    >>> trivial_index(irreps(quaternion()))
    0
    """
    for i, rho in enumerate(reps):
        if rho.dim == 1 and float((rho.matrices - 1).abs().max()) < ACCURACY:
            return i
    raise InputError("expected irreps with the trivial one among them; it is missing.")


def schur_error(group: FiniteGroup) -> Float64[Tensor, ""]:
    """The largest departure from Schur orthogonality over all pairs of matrix entries of all irreps.

    >>> from symscope.groups import dihedral
    >>> bool(schur_error(dihedral(5)) < 1e-12)
    True
    """
    columns = [
        (rho.matrices.to(torch.complex128) * (rho.dim / group.order) ** 0.5).reshape(group.order, -1)
        for rho in irreps(group)
    ]
    joint = torch.cat(columns, dim=1)
    return (joint.mH @ joint - torch.eye(group.order, dtype=torch.complex128)).abs().max()
