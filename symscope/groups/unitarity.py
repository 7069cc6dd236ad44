"""Whether a representation is unitary, and a change of basis that makes it so."""

from __future__ import annotations

import torch
from torch import Tensor

from symscope.groups._finite_group import check_finite_group
from symscope.groups._representation import Representation
from symscope.groups.compact import CompactGroup
from symscope.groups.constructions import from_matrices
from symscope.numerics import checked

__all__ = ["unitarity_error", "unitary_form"]


@checked
def unitarity_error(rep: Representation) -> float:
    """The largest entry of `rho(g)^H rho(g) - I` over the generators (of `d rho + d rho^H` for Lie groups).

    Products of unitary matrices are unitary, so the generators are enough.

    >>> from symscope.groups import cyclic, from_matrices
    >>> shear = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.0, -1.0]]])
    >>> unitarity_error(from_matrices(cyclic(2), shear))
    0.5
    """
    eye = torch.eye(rep.dim, dtype=torch.float64)
    errors = [0.0]
    for g in rep.group.generators:
        matrix = rep(g)
        errors.append(float((matrix.mH @ matrix - eye.to(matrix.dtype)).abs().max()))
    if isinstance(rep.group, CompactGroup):
        for h in rep.group.lie_algebra:
            generator = rep.act_algebra(h, eye).T
            errors.append(float((generator + generator.mH).abs().max()))
    return max(errors)


@checked
def unitary_form(rep: Representation) -> tuple[Representation, Tensor]:
    """A unitary representation equivalent to a given one of a listed finite group, and the change of basis.

    With `M = mean_g rho(g)^H rho(g)` and `S = M^(1/2)`, `S rho(g) S^-1` is unitary.

    Returns:
        The unitary representation, and S.

    >>> from symscope.groups import cyclic, from_matrices
    >>> shear = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.0, -1.0]]])
    >>> unitary_form(from_matrices(cyclic(2), shear))[0].unitary
    True
    """
    group = check_finite_group(rep.group)
    mean = (rep.matrices.mH @ rep.matrices).mean(dim=0)
    values, vectors = torch.linalg.eigh(mean)
    root = (vectors * values.sqrt()) @ vectors.mH
    inverse = (vectors / values.sqrt()) @ vectors.mH
    return from_matrices(group, root @ rep.matrices @ inverse, name=f"{rep.name} made unitary"), root
