"""The elements of a symmetry one by one: what each does to inputs, and how much it counts in an average."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import torch
from torch import Tensor

from symscope.data import Action
from symscope.errors import InputError
from symscope.groups import CompactGroup, FiniteGroup, Quadrature, Representation
from symscope.numerics import seed_generator

# A tensor holds the paper's matrices, [order, d, d]: `g` takes a batch of row vectors X to X g.
Symmetry: TypeAlias = Action | Representation | Tensor


def check_matrices(matrices: Tensor, dim: int | None = None) -> None:
    """Raise unless these are finite square matrices, of side `dim` where it is given.

    >>> check_matrices(torch.eye(2)[None])
    """
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or 0 in matrices.shape:
        raise InputError(
            f"expected the matrices of a symmetry as [order, d, d], got shape {tuple(matrices.shape)}."
        )
    if not (matrices.is_floating_point() and bool(torch.isfinite(matrices).all())):
        raise InputError(
            f"expected real, finite matrices, got {matrices.dtype}, or some entry is not finite."
        )
    if dim is not None and matrices.shape[1] != dim:
        raise InputError(
            f"expected matrices of side {dim}, as the vectors are long, got {matrices.shape[1]}."
        )


def weighted_elements(
    symmetry: Symmetry, quadrature: Quadrature | None = None
) -> Iterator[tuple[Any, float]]:
    """Every element with its weight in the average over the group; the weights add up to one.

    Args:
        symmetry: Symmetry whose elements are listed.
        quadrature: Elements that stand for a compact group (`groups.haar_quadrature`).

    Raises:
        InputError: The elements are not listed and no quadrature was given.

    >>> from symscope.groups import cyclic, permutation
    >>> list(weighted_elements(permutation(cyclic(2))))
    [(0, 0.5), (1, 0.5)]
    """
    if isinstance(symmetry, Tensor):
        check_matrices(symmetry)
        return ((g, 1 / len(symmetry)) for g in range(len(symmetry)))
    group = symmetry.group
    if quadrature is not None:
        if not isinstance(group, CompactGroup) or quadrature.elements.shape[-1] != group.size:
            raise InputError(
                f"expected no quadrature, or one of {group.name}: it was made for another group."
            )
        return zip(quadrature.elements, quadrature.weights.tolist(), strict=True)
    if not isinstance(group, FiniteGroup):
        raise InputError(
            f"expected a listed finite group for an exact average, the elements of {group.name} are not "
            "listed: give quadrature=haar_quadrature(group, band_limit), or sample."
        )
    return ((g, 1 / group.order) for g in group.elements)


def random_elements(symmetry: Symmetry, count: int, seed: int) -> list[Any]:
    """Elements drawn independently from the uniform (Haar) measure.

    Raises:
        InputError: Fewer than two.

    >>> from symscope.groups import cyclic, permutation
    >>> len(random_elements(permutation(cyclic(5)), 3, seed=0))
    3
    """
    if count < 2:
        raise InputError(f"samples: expected at least 2, so that their spread is known, got {count}.")
    generator = seed_generator(seed)
    if isinstance(symmetry, Tensor):
        check_matrices(symmetry)
        return torch.randint(len(symmetry), (count,), generator=generator).tolist()
    return list(symmetry.group.sample(count, generator))


def act(symmetry: Symmetry, g: Any, x: Tensor) -> Tensor:
    """The inputs g x, on the device and in the dtype of x; `x g` where the symmetry is given by matrices.

    >>> act(torch.tensor([[[0.0, 1.0], [2.0, 0.0]]]), 0, torch.tensor([3.0, 5.0]))
    tensor([10.,  3.])
    """
    if isinstance(symmetry, Tensor):
        check_matrices(symmetry, x.shape[-1])
        return x @ symmetry[g].to(x)
    return symmetry.act(g, x)


def act_inverse(symmetry: Symmetry, g: Any, y: Tensor) -> Tensor:
    """The outputs g^-1 y: what `act` does, undone.

    >>> act_inverse(torch.tensor([[[0.0, 1.0], [2.0, 0.0]]]), 0, torch.tensor([10.0, 3.0]))
    tensor([3., 5.])
    """
    if isinstance(symmetry, Tensor):
        check_matrices(symmetry, y.shape[-1])
        return torch.linalg.solve(symmetry[g].to(y), y[..., None, :], left=False)[..., 0, :]
    return symmetry.act(symmetry.group.inverse(g), y)
