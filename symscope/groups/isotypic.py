"""Isotypic components: the parts of a representation that transform by one irrep each."""

from __future__ import annotations

import torch
from torch import Tensor

from symscope.errors import InputError
from symscope.groups._finite_group import check_finite_group
from symscope.groups._representation import Representation
from symscope.groups.irreducible import character, irreps
from symscope.numerics import checked

__all__ = ["isotypic_part", "isotypic_projector"]


@checked
def isotypic_projector(rep: Representation, irrep: int) -> Tensor:
    """`P_rho = d_rho/|G| sum_g conj(chi_rho(g)) rep(g)`, complex, `[dim, dim]`.

    >>> from symscope.groups import permutation, symmetric
    >>> p = isotypic_projector(permutation(symmetric(3)), 0)  # the mean
    >>> p.real.round(decimals=4)
    tensor([[0.3333, 0.3333, 0.3333],
            [0.3333, 0.3333, 0.3333],
            [0.3333, 0.3333, 0.3333]], dtype=torch.float64)
    """
    return isotypic_part(rep, irrep, torch.eye(rep.dim, dtype=torch.complex128)).T


@checked
def isotypic_part(rep: Representation, irrep: int, x: Tensor) -> Tensor:
    """The part of x (along its last axis) in one isotypic component, without building a matrix.

    >>> from symscope.groups import permutation, symmetric
    >>> isotypic_part(permutation(symmetric(3)), 0, torch.tensor([1.0, 2.0, 6.0])).real
    tensor([3., 3., 3.])
    """
    group = check_finite_group(rep.group)
    all_irreps = irreps(group)
    if not 0 <= irrep < len(all_irreps):
        raise InputError(f"expected an irrep of {group.name} from 0 to {len(all_irreps) - 1}, got {irrep}.")
    chi = character(all_irreps[irrep]).conj()
    dtype = torch.promote_types(x.dtype, torch.complex64)
    total = torch.zeros_like(x, dtype=dtype)
    for g in group.elements:
        total += complex(chi[g]) * rep.act(g, x.to(dtype))
    return total * (all_irreps[irrep].dim / group.order)
