"""Averages over a group, listed only where it must be: the Reynolds operator, and `mean_g g^T M g`.

The paper's matrix g acts on a batch of row vectors as `X g`. For a representation, `X g` is `rep.act(g, X)`:
the paper's g is then `rho(g)^T`.

The mean is the orthogonal projection on the maps that commute with the group, so that its elements need not
be listed: permutations average entries over the orbits of index pairs (the orbitals, a basis of the
centraliser algebra; Cameron, Permutation Groups, ch. 3), other groups give linear constraints by generators
alone (Finzi, Welling and Wilson, A Practical Method for Constructing Equivariant MLPs, ICML 2021).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import (
    CompactGroup,
    EquivariantMaps,
    FiniteGroup,
    Quadrature,
    Representation,
    equivariant_maps,
    from_matrices,
    from_table,
    trivial,
)
from symscope.linear._weighted_elements import check_matrices, weighted_elements
from symscope.numerics import checked

__all__ = [
    "feature_representation",
    "group_mean",
    "reynolds",
]

LinearSymmetry: TypeAlias = Representation | Tensor

ORTHOGONAL = 1e-8  # entries of g g^T - I; matrices from trigonometry are good to 1e-14
SAME_MATRIX = 1e-8  # relative; distinct elements of a listed group differ by far more
# Orbits of index pairs take a few passes over the d^2 pairs, an average over elements takes |G| of them.
_ORBITS_FROM_ORDER = 16
_ORBITS_UP_TO = 2**24


def dimension(symmetry: LinearSymmetry) -> int:
    """The length of the vectors a symmetry acts on.

    >>> dimension(torch.eye(3)[None])
    3
    """
    if isinstance(symmetry, Tensor):
        check_matrices(symmetry)
        return symmetry.shape[1]
    return symmetry.dim


def haar_mass(symmetry: LinearSymmetry) -> int:
    """The paper's sum of ones over g: the order of a finite group; 1 for compact ones, for the Haar mean.

    >>> from symscope.groups.constructions import defining

    >>> from symscope.groups import permutation, symmetric

    >>> from symscope.groups.compact import so
    >>> haar_mass(permutation(symmetric(10))), haar_mass(defining(so(3)))
    (3628800, 1)
    """
    if isinstance(symmetry, Tensor):
        return len(symmetry)
    return 1 if isinstance(symmetry.group, CompactGroup) else symmetry.group.order


def is_orthogonal(symmetry: LinearSymmetry) -> bool:
    """Whether every element preserves lengths (Assumption 5).

    >>> is_orthogonal(torch.tensor([[[1.0, 0.0], [0.5, -1.0]]]))
    False
    """
    if not isinstance(symmetry, Tensor):
        return symmetry.unitary
    eye = torch.eye(dimension(symmetry), dtype=symmetry.dtype, device=symmetry.device)
    return bool((symmetry @ symmetry.mT - eye).abs().max() < ORTHOGONAL)


@checked
def feature_representation(matrices: Float[Tensor, "order d d"], name: str = "features") -> Representation:
    """The representation whose `rep.act(g, X)` is `X g`, from the matrices of a finite group.

    `rho(g) = g^T`; the product of a and b is the element whose matrix is `b a`, so that acting with b first
    and then with a is acting with ab.

    Args:
        matrices: Every element once, the identity first.
        name: What the group is called.

    Raises:
        InputError: They are not a group: some product is not among them, or the identity is not first.

    >>> rep = feature_representation(torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]]]))
    >>> rep.group.order, rep.act(1, torch.tensor([3.0, 4.0])).tolist()
    (2, [3.0, -4.0])
    """
    check_matrices(matrices)
    wide = matrices.to("cpu", torch.float64)
    products = torch.einsum("bij,ajk->abik", wide, wide).flatten(0, 1).flatten(1)
    distance, where = torch.cdist(products, wide.flatten(1)).min(1)
    worst = int(distance.argmax())
    if float(distance[worst]) > SAME_MATRIX * max(1.0, float(wide.abs().max())):
        a, b = divmod(worst, len(wide))
        raise InputError(
            f"expected a group; the product of matrices {b} and {a} is not among the {len(wide)} given "
            f"(nearest at distance {float(distance[worst]):.2g})."
        )
    group = from_table(where.reshape(len(wide), len(wide)), name=name)
    return from_matrices(group, wide.mT.contiguous(), name="features")


@checked
def reynolds(symmetry: LinearSymmetry, quadrature: Quadrature | None = None) -> Float[Tensor, "d d"]:
    """The unnormalised Reynolds operator `R = sum_g g`; the Haar mean for compact groups (Theorem 3.3).

    Divided by the order of the group it projects weights on those whose predictions are invariant.

    Args:
        symmetry: A representation, or matrices `[order, d, d]` acting as `X g`.
        quadrature: Elements that stand for a compact group whose representation is not orthogonal.

    Raises:
        InputError: A complex representation, or elements that are not listed and not orthogonal.

    >>> from symscope.groups import permutation, symmetric
    >>> reynolds(permutation(symmetric(3)))
    tensor([[2., 2., 2.],
            [2., 2., 2.],
            [2., 2., 2.]], dtype=torch.float64)
    """
    if isinstance(symmetry, Tensor):
        check_matrices(symmetry)
        return symmetry.sum(0)
    eye = torch.eye(symmetry.dim, dtype=torch.float64)
    return haar_mass(symmetry) * group_mean(eye, symmetry, None, quadrature).mT.contiguous()


@checked
def group_mean(
    matrix: Float[Tensor, "*batch d m"],
    features: LinearSymmetry,
    labels: LinearSymmetry | None = None,
    quadrature: Quadrature | None = None,
) -> Float[Tensor, "*batch d m"]:
    """`mean_g g^T M g'`, where g acts on features and g' on labels (on which nothing moves by default).

    For orthogonal representations it is the orthogonal projection on the maps that commute with the group,
    found without its elements: orbits of index pairs for permutations, the solutions of the Lie algebra's
    constraints for compact groups. Listed groups are averaged element by element, acting on M, without
    building any matrix of the representation.

    Args:
        matrix: M, or a batch of them.
        features: Acts on the rows of M.
        labels: Acts on its columns.
        quadrature: Elements to average over instead, for a compact group.

    Raises:
        InputError: Sizes that do not fit, two groups, a complex representation, or elements that are neither
            listed nor orthogonal.

    >>> from symscope.groups import permutation, symmetric
    >>> s10 = permutation(symmetric(10))  # 3.6 million elements
    >>> m = torch.zeros(10, 10, dtype=torch.float64); m[0, 0] = 10.0
    >>> group_mean(m, s10, s10)[:2, :2].round(decimals=12).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_fit(matrix, features, labels)
    mean = averager(features, labels, quadrature)(matrix)
    if mean.is_complex():
        raise InputError(f"expected real representations, {features!r} or its labels' is complex.")
    return mean


def averager(
    features: LinearSymmetry, labels: LinearSymmetry | None, quadrature: Quadrature | None = None
) -> Callable[[Tensor], Tensor]:
    """The function `M -> mean_g g^T M g'`, for many matrices in turn; what it needs is found once.

    >>> averager(torch.eye(2)[None], None)(torch.tensor([[1.0], [2.0]])).tolist()
    [[1.0], [2.0]]
    """
    if isinstance(features, Tensor):
        assert labels is None or isinstance(labels, Tensor)
        return partial(_literal_mean, features, labels)
    assert labels is None or isinstance(labels, Representation)
    if quadrature is None and _by_projection(features, labels):
        if labels is None:
            return partial(_project_columns, equivariant_maps(trivial(features.group), features))
        return equivariant_maps(labels, features).project
    weighted_elements(features, quadrature)  # raises where elements cannot be listed
    return partial(_mean_over_elements, features, labels, quadrature)


def check_fit(matrix: Tensor, features: LinearSymmetry, labels: LinearSymmetry | None) -> None:
    """Raise unless a matrix has a row per feature, a column per label, and both are moved by one group.

    >>> check_fit(torch.ones(2, 1), torch.eye(2)[None], None)
    """
    if matrix.shape[-2] != dimension(features):
        raise InputError(
            f"expected {dimension(features)} features, as many as the symmetry acts on, got "
            f"{matrix.shape[-2]}."
        )
    if labels is None:
        return
    if isinstance(features, Tensor) != isinstance(labels, Tensor):
        raise InputError("expected matrices for features and labels, or representations for both.")
    if matrix.shape[-1] != dimension(labels):
        raise InputError(
            f"expected labels of length {dimension(labels)}, as their representation acts on, got "
            f"{matrix.shape[-1]}; invariant labels need a trivial representation of their length."
        )
    if isinstance(features, Representation) and isinstance(labels, Representation):
        if features.group != labels.group:
            raise InputError(
                f"expected one group acting on features and labels, got {features.group.name} and "
                f"{labels.group.name}."
            )
    elif len(features) != len(labels):  # type: ignore[arg-type]
        raise InputError(
            f"expected as many matrices for the labels as for the features, {len(features)}, got "  # type: ignore[arg-type]
            f"{len(labels)}."  # type: ignore[arg-type]
        )


def _literal_mean(left: Tensor, right: Tensor | None, matrix: Tensor) -> Tensor:
    total = torch.zeros_like(matrix)
    for i, g in enumerate(left.to(matrix)):
        moved = g.mT @ matrix
        total += moved if right is None else moved @ right[i].to(matrix)
    return total / len(left)


def _by_projection(features: Representation, labels: Representation | None) -> bool:
    """Whether the maps that commute with the group are the cheaper, or the only, way to its average."""
    unitary = features.unitary and (labels is None or labels.unitary)
    if not isinstance(features.group, FiniteGroup):
        return unitary
    permutes = features.permutation is not None and (labels is None or labels.permutation is not None)
    pairs = features.dim * (1 if labels is None else labels.dim)
    return permutes and features.group.order >= _ORBITS_FROM_ORDER and pairs <= _ORBITS_UP_TO


def _project_columns(invariant: EquivariantMaps, matrix: Tensor) -> Tensor:
    """Every column by itself on the vectors the group leaves alone."""
    return invariant.project(matrix.mT[..., None])[..., 0].mT


def _mean_over_elements(
    features: Representation, labels: Representation | None, quadrature: Quadrature | None, matrix: Tensor
) -> Tensor:
    total = torch.zeros_like(matrix)
    order = haar_mass(features)  # 1 for compact groups; equal weights are multiplied in once, at the end
    for g, weight in weighted_elements(features, quadrature):
        moved = features.act(g, matrix, axis=-2)
        if labels is not None:
            moved = labels.act(g, moved, axis=-1)
        moved = moved if quadrature is None else weight * moved
        # a large matrix is added in place; a complex one, which is refused later, cannot be
        total = total + moved if moved.is_complex() else total.add_(moved)
    return total / order
