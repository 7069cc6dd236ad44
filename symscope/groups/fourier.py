"""The group Fourier transform, on the group and on cosets."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from symscope.errors import InputError
from symscope.groups._finite_group import FiniteGroup, check_finite_group
from symscope.groups.irreducible import irreps
from symscope.groups.subgroups import cosets
from symscope.numerics import checked

__all__ = ["coset_fourier", "fourier", "inverse_coset_fourier", "inverse_fourier"]


@checked
def fourier(values: Tensor, group: FiniteGroup) -> list[Tensor]:
    """`f_hat(rho) = sum_g f(g) rho(g)` for every irrep, in the order of `irreps(group)`.

    Products of cyclic groups use the FFT.

    Args:
        values: `[..., order]`, a function on the group along the last axis.
        group: The group.

    Returns:
        One complex tensor `[..., d, d]` per irrep (views of one array for products of cyclic groups).

    >>> from symscope.groups import cyclic
    >>> [round(b.abs().item(), 6) for b in fourier(torch.tensor([1.0, 0.0, -1.0, 0.0]), cyclic(4))]
    [0.0, 2.0, 0.0, 2.0]
    """
    group = check_finite_group(group)
    _check_functions(values, group.order, group)
    if group.cyclic_factors is not None:
        grid = values.unflatten(-1, group.cyclic_factors)
        axes = tuple(range(-len(group.cyclic_factors), 0))
        flat = torch.fft.fftn(grid, dim=axes).flatten(-len(group.cyclic_factors))
        return list(flat[..., None, None].unbind(-3))
    dtype = torch.promote_types(values.dtype, torch.complex64)
    return [
        (values.to(dtype) @ rho.matrices.flatten(1).to(dtype=dtype, device=values.device)).unflatten(
            -1, (rho.dim, rho.dim)
        )
        for rho in irreps(group)
    ]


@checked
def inverse_fourier(blocks: Sequence[Tensor], group: FiniteGroup) -> Tensor:
    """`f(g) = 1/|G| sum_rho d_rho tr(f_hat(rho) rho(g)^H)`, complex, `[..., order]`.

    >>> from symscope.groups import symmetric
    >>> f = torch.arange(6.0, dtype=torch.float64)
    >>> inverse_fourier(fourier(f, symmetric(3)), symmetric(3)).real.round(decimals=10)
    tensor([0., 1., 2., 3., 4., 5.], dtype=torch.float64)
    """
    group = check_finite_group(group)
    if group.cyclic_factors is not None:
        if len(blocks) != group.order:
            raise InputError(
                f"expected {group.order} blocks, one per irrep of {group.name}, got {len(blocks)}."
            )
        flat = torch.stack([b[..., 0, 0] for b in blocks], dim=-1)
        grid = flat.unflatten(-1, group.cyclic_factors)
        axes = tuple(range(-len(group.cyclic_factors), 0))
        return torch.fft.ifftn(grid, dim=axes).flatten(-len(group.cyclic_factors))
    reps = irreps(group)
    if [tuple(b.shape[-2:]) for b in blocks] != [(r.dim, r.dim) for r in reps]:
        raise InputError(
            f"expected blocks of sizes {[r.dim for r in reps]} for {group.name}, got "
            f"{[tuple(b.shape[-2:]) for b in blocks]}."
        )
    total = torch.zeros((), dtype=blocks[0].dtype, device=blocks[0].device)
    for block, rho in zip(blocks, reps, strict=True):
        conjugate = rho.matrices.conj().flatten(1).to(dtype=block.dtype, device=block.device)
        total = total + rho.dim / group.order * (block.flatten(-2) @ conjugate.T)
    return total


@checked
def coset_fourier(
    values: Tensor, group: FiniteGroup, subgroup: Sequence[int] | Tensor
) -> list[tuple[Tensor, Tensor]]:
    """The transform of a function on the left cosets G/H: `f_hat(rho) = sum_gH f(gH) rho(g) Q`.

    Q is an orthonormal basis of the vectors of rho fixed by H: only they are seen by functions on G/H. The
    orbit of a point with stabiliser H is G/H, so this is the transform on orbits that are not free.

    Args:
        values: `[..., cosets]`, in the order of `cosets(group, subgroup)`.
        group: The group.
        subgroup: The elements of H.

    Returns:
        For every irrep the block `[..., d, r]` and Q, `[d, r]`; r may be 0.

    >>> from symscope.groups import cyclic
    >>> [b.shape[-1] for b, _ in coset_fourier(torch.arange(3.0), cyclic(6), [0, 3])]
    [1, 0, 1, 0, 1, 0]
    """
    rows = cosets(group, subgroup)
    _check_functions(values, len(rows), group)
    dtype = torch.promote_types(values.dtype, torch.complex64)
    result = []
    for rho in irreps(group):
        fixed = _fixed_vectors(rho.matrices[rows[0]].to(dtype))
        seen = rho.matrices[rows[:, 0]].to(dtype) @ fixed
        block = values.to(dtype) @ seen.flatten(1).to(values.device)
        result.append((block.unflatten(-1, tuple(seen.shape[1:])), fixed))
    return result


@checked
def inverse_coset_fourier(
    blocks: Sequence[tuple[Tensor, Tensor]], group: FiniteGroup, subgroup: Sequence[int] | Tensor
) -> Tensor:
    """`f(gH) = |H|/|G| sum_rho d_rho tr(f_hat(rho) Q^H rho(g)^H)`, complex, `[..., cosets]`.

    >>> from symscope.groups import dihedral
    >>> f = torch.tensor([3.0, 1.0, 4.0, 1.5], dtype=torch.float64)
    >>> blocks = coset_fourier(f, dihedral(4), [0, 4])
    >>> inverse_coset_fourier(blocks, dihedral(4), [0, 4]).real.round(decimals=10)
    tensor([3.0000, 1.0000, 4.0000, 1.5000], dtype=torch.float64)
    """
    rows = cosets(group, subgroup)
    reps = irreps(group)
    if len(blocks) != len(reps):
        raise InputError(f"expected {len(reps)} blocks, one per irrep of {group.name}, got {len(blocks)}.")
    total = torch.zeros((), dtype=blocks[0][0].dtype, device=blocks[0][0].device)
    for (block, fixed), rho in zip(blocks, reps, strict=True):
        seen = (rho.matrices[rows[:, 0]].to(fixed.dtype) @ fixed).flatten(1).to(block.device)
        total = total + rho.dim / len(rows) * (block.flatten(-2) @ seen.mH)
    return total


def _fixed_vectors(matrices: Tensor) -> Tensor:
    """An orthonormal basis of the vectors fixed by all the (unitary) matrices of a subgroup."""
    projector = matrices.mean(dim=0)
    values, vectors = torch.linalg.eigh((projector + projector.mH) / 2)
    return vectors[:, values > 0.5]


def _check_functions(values: Tensor, length: int, group: FiniteGroup) -> None:
    if values.ndim == 0 or values.shape[-1] != length:
        raise InputError(
            f"expected functions of length {length} along the last axis for {group.name}, got shape "
            f"{tuple(values.shape)}."
        )
