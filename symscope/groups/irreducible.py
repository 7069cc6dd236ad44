"""Irreducible representations of any finite group, and its character table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import final

import torch
from jaxtyping import Complex128, Float64, Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.groups._characters import cyclic_irreps, dihedral_irreps, product_irreps
from symscope.groups._finite_group import FiniteGroup, check_finite_group
from symscope.groups._group_laws import DihedralLaw
from symscope.groups._representation import Representation
from symscope.groups._splitting import ACCURACY, split_regular
from symscope.groups.subgroups import conjugacy_classes
from symscope.numerics import check_memory, checked

__all__ = [
    "CharacterTable",
    "character",
    "character_table",
    "conjugate_indices",
    "irreps",
    "multiplicities",
    "schur_error",
    "trivial_index",
]

# Splitting costs an eigendecomposition of the order: minutes at 5,040.
LARGEST_SPLIT = 5040
_ATTEMPTS = 5


@checked
def irreps(group: FiniteGroup) -> tuple[Representation, ...]:
    """Every irreducible representation once, unitary, the trivial one first.

    Products of cyclic groups get the characters `exp(-2 pi i k g / n)`, in the order and with the sign of
    the FFT; dihedral groups their real irreps on lines and planes; direct products tensor products of their
    factors' irreps. Any other group is split numerically: a random Hermitian element of the commutant of the
    regular representation has the irreducible subspaces as eigenspaces. Irreps that can be made real are
    real.

    Raises:
        InputError: Not a listed finite group; or one of more than 5,040 elements with no such structure.

    >>> from symscope.groups import symmetric
    >>> [rho.dim for rho in irreps(symmetric(4))]
    [1, 1, 2, 3, 3]
    """
    return _irreps(check_finite_group(group))


@lru_cache(maxsize=32)  # equal groups have the same irreps in the same order
def _irreps(group: FiniteGroup) -> tuple[Representation, ...]:
    if group.cyclic_factors is not None:
        return cyclic_irreps(group, group.cyclic_factors)
    if isinstance(group.law, DihedralLaw):
        return dihedral_irreps(group, group.law.n)
    if group.factors is not None:
        left, right = group.factors
        return product_irreps(group, _irreps(left), _irreps(right))
    if group.order > LARGEST_SPLIT:
        raise InputError(
            f"expected a group of at most {LARGEST_SPLIT} elements to split numerically, {group.name} has "
            f"{group.order}: write it as a product of smaller groups."
        )
    for seed in range(_ATTEMPTS):
        result = split_regular(group, seed)
        if result is not None:
            return result
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


@checked
def character_table(group: FiniteGroup) -> CharacterTable:
    """The character table.

    >>> from symscope.groups.named_groups import quaternion
    >>> character_table(quaternion()).indicators.tolist()
    [1, 1, 1, 1, -1]
    """
    group = check_finite_group(group)
    classes = conjugacy_classes(group)
    check_memory(
        f"the characters of {group.name}", 16 * len(classes) * group.order, "take irreps(group) one by one"
    )
    representatives = torch.stack([c[0] for c in classes])
    full = torch.stack([character(rho) for rho in irreps(group)])
    squares = group.law(torch.arange(group.order), torch.arange(group.order))
    indicators = full[:, squares].mean(dim=1).real.round().to(torch.int64)
    sizes = torch.tensor([len(c) for c in classes])
    return CharacterTable(full[:, representatives], sizes, representatives, indicators)


@checked
def character(rep: Representation) -> Complex128[Tensor, "order"]:
    """tr rho(g) for every element of a listed group; fixed points for permutation representations.

    >>> from symscope.groups import permutation, symmetric
    >>> character(permutation(symmetric(3))).real.tolist()
    [3.0, 1.0, 1.0, 0.0, 0.0, 1.0]
    """
    group = check_finite_group(rep.group)
    if rep.listing is not None:
        return torch.einsum("gii->g", rep.matrices).to(torch.complex128)
    if rep.permutation is not None:
        here = torch.arange(rep.dim)
        counts = [int((rep.permutation(g) == here).sum()) for g in group.elements]
        return torch.tensor(counts, dtype=torch.complex128)
    values = torch.empty(group.order, dtype=torch.complex128)
    for members in conjugacy_classes(group):
        values[members] = torch.trace(rep(int(members[0]))).to(torch.complex128)
    return values


@checked
def multiplicities(rep: Representation) -> Int64[Tensor, "irreps"]:
    """How often each irrep occurs: the inner product of characters.

    >>> from symscope.groups import permutation, symmetric
    >>> multiplicities(permutation(symmetric(4))).tolist()
    [1, 0, 0, 1, 0]
    """
    group = check_finite_group(rep.group)
    chi = character(rep)
    if group.cyclic_factors is not None:
        counts = torch.fft.ifftn(chi.reshape(group.cyclic_factors)).flatten()
    else:
        counts = torch.stack([character(rho).conj() @ chi for rho in irreps(group)]) / group.order
    return counts.real.round().to(torch.int64)


@checked
def conjugate_indices(group: FiniteGroup) -> tuple[int, ...]:
    """For each irrep the position of its complex conjugate among `irreps(group)`: its own if equivalent.

    >>> from symscope.groups import cyclic
    >>> conjugate_indices(cyclic(5))
    (0, 4, 3, 2, 1)
    """
    group = check_finite_group(group)
    if group.cyclic_factors is not None:
        indices = torch.arange(group.order).reshape(group.cyclic_factors)
        for axis, n in enumerate(group.cyclic_factors):
            indices = indices.index_select(axis, -torch.arange(n) % n)
        return tuple(indices.flatten().tolist())
    if group.factors is not None:
        left, right = (conjugate_indices(factor) for factor in group.factors)
        return tuple(a * len(right) + b for a in left for b in right)
    if isinstance(group.law, DihedralLaw):  # all of them are real
        return tuple(range(len(irreps(group))))
    table = character_table(group)
    # <conj chi_i, chi_j> is 1 where j is the conjugate of i, otherwise 0
    products = (table.characters * table.class_sizes) @ table.characters.T
    return tuple(products.real.argmax(1).tolist())


@checked
def trivial_index(reps: tuple[Representation, ...]) -> int:
    """The position of the trivial representation among irreps.

    >>> from symscope.groups.named_groups import quaternion
    >>> trivial_index(irreps(quaternion()))
    0
    """
    for i, rho in enumerate(reps):
        if rho.dim == 1 and float((rho.matrices - 1).abs().max()) < ACCURACY:
            return i
    raise InputError("expected irreps with the trivial one among them; it is missing.")


@checked
def schur_error(group: FiniteGroup) -> Float64[Tensor, ""]:
    """The largest departure from Schur orthogonality over all pairs of matrix entries of all irreps.

    >>> from symscope.groups import dihedral
    >>> bool(schur_error(dihedral(5)) < 1e-12)
    True
    """
    group = check_finite_group(group)
    check_memory(f"the irreps of {group.name}", 16 * group.order**2, "take a smaller group")
    columns = [
        (rho.matrices.to(torch.complex128) * (rho.dim / group.order) ** 0.5).reshape(group.order, -1)
        for rho in irreps(group)
    ]
    joint = torch.cat(columns, dim=1)
    return (joint.mH @ joint - torch.eye(group.order, dtype=torch.complex128)).abs().max()
