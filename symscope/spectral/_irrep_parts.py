"""What one irrep contributes: its share of `P_MM` for every missing set, and of `P y`.

`P[(s, g), (t, h)] = 1/|G| sum_rho d_rho tr(rho(g) P_hat_st(rho) rho(h)^H)`, where `P_hat(rho) = (K_hat(rho) +
ridge)^-1`: Fourier inversion on the group (Serre, Linear Representations of Finite Groups, sec. 6.2), which
takes products of blocks to products of kernels, and so inverses to inverses. Where a sample is fixed by a
stabiliser H only the vectors Q fixed by H count: the block becomes `Q_s^H K_hat_st Q_t / sqrt(|H_s| |H_t|)`,
and that of the inverse is multiplied by the roots on the way back. Its size stays: rows of vectors that do
not count are zero but for their diagonal, and never asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from symscope.spectral._matrix_checks import check_not_negative
from symscope.spectral._missing_sets import MissingSet
from symscope.spectral.irrep_blocks import Frequency, Quotient

POINT_PAIRS = 2**22  # of missing points whose part of `P_MM` is made at once
OUT_OF_REACH = 1e-9  # of the largest label: a larger part on an irrep that the kernel does not see
ZERO = 64  # roundings: a block below ZERO eps |G| of the kernel's own scale is zero, its transform is noise


@final
class SingularBlockError(ArithmeticError):
    """A block without inverse that is not simply zero."""


@final
@dataclass(frozen=True, eq=False)
class IrrepPart:
    """One irrep's share.

    Attributes:
        precision: Part of `P_MM` for each missing set; empty if the kernel does not see the irrep.
        even: Diagonal for each missing set with a kernel of spectrum 1 everywhere.
        unseen_size: None, or where the block is zero to rounding, so that the inverse is infinite on it, what
            rounding has left of it.
        weights: Part of `P y` at the missing points of each set; None where labels have none, as on every
            irrep but the trivial one if they are constant on orbits.
    """

    precision: tuple[Float[Tensor, "_ _"], ...]
    even: tuple[Float[Tensor, "_"], ...]
    unseen_size: float | None
    weights: tuple[Float[Tensor, "_ c"], ...] | None


def irrep_part(
    block: Shaped[Tensor, "k k"],
    frequency: Frequency,
    sets: Sequence[MissingSet],
    points: Quotient,
    labels: Float[Tensor, "m e c"],
    ridge: float,
    scale: float,
    device: torch.device,
) -> IrrepPart:
    """Everything one irrep has to give, from one factorisation of its block.

    Args:
        block: `K_hat(rho)`, over whole orbits.
        frequency: The irrep; index 0 is the trivial one.
        sets: The missing sets.
        points: Quotient that names the different points.
        labels: One row per orbit, `e = 1`, or one for each of its points.
        ridge: Number added to the diagonal of the block.
        scale: The largest `k(x, x)`, against which a block is zero or not.
        device: Device to compute on.

    Raises:
        SingularBlockError: A block that is singular without being zero.
    """
    block = block.to(device)
    fixed = None if points.is_free else points.fixed_vectors(frequency).to(device, block.dtype)
    if fixed is not None:
        cells = block.unflatten(1, (-1, frequency.dim)).unflatten(0, (-1, frequency.dim))
        block = on_fixed(cells, fixed, fixed)
    counted = counted_vectors(points, frequency, fixed)
    if not bool(counted.any()):
        return empty_part(sets, labels.cpu())
    labels = labels.to(device)
    even = tuple(even_diagonal(frequency, one, points, counted) for one in sets)
    if ridge == 0:
        left = unseen_size(float(block.abs().max()), int(counted.sum()), block.dtype, frequency, scale)
        if left is not None:
            check_within_reach(labels, frequency)
            return IrrepPart((), even, left, None)
    unused = (~counted.flatten()).nonzero()[:, 0].to(device)
    block.diagonal()[unused] = block.diagonal().real.max().to(block.dtype)
    factor = cholesky(block, ridge, frequency.name, scale)
    weights = label_parts(lambda y: torch.cholesky_solve(y, factor), labels, frequency, sets, points, fixed)
    columns = [columns_of_owners(one, frequency) for one in sets]
    precision = []
    for one, inverse in zip(sets, inverse_blocks(factor, columns), strict=True):
        precision.append(on_points(inverse, frequency, one, fixed, points).cpu())
    return IrrepPart(tuple(precision), even, None, weights)


def on_fixed(
    cells: Shaped[Tensor, "r d c d"], rows: Shaped[Tensor, "r d d"], columns: Shaped[Tensor, "c d d"]
) -> Shaped[Tensor, "k l"]:
    """`W_s^H cells_st W_t`, flattened: entries of a block between the vectors that count.

    Args:
        cells: Entries for some samples against some.
        rows: `Quotient.fixed_vectors` of the former.
        columns: `Quotient.fixed_vectors` of the latter.
    """
    turned = torch.einsum("rai,racb,cbj->ricj", rows.conj(), cells, columns)
    return turned.flatten(2).flatten(0, 1)


def counted_vectors(
    points: Quotient, frequency: Frequency, fixed: Shaped[Tensor, "m d d"] | None
) -> Bool[Tensor, "m d"]:
    """Which vectors of which samples count: all on free orbits."""
    if fixed is None:
        return torch.ones(len(points.stabiliser_orders), frequency.dim, dtype=torch.bool)
    return (fixed != 0).any(1).cpu()


def empty_part(sets: Sequence[MissingSet], labels: Float[Tensor, "m e c"]) -> IrrepPart:
    """The part of an irrep that does not occur on these orbits, in the labels' dtype and on their device."""
    even = tuple(torch.zeros(len(one.samples), dtype=torch.float64) for one in sets)
    return IrrepPart(tuple(torch.diag(zero).to(labels) for zero in even), even, None, None)


def columns_of_owners(missing: MissingSet, frequency: Frequency) -> Int64[Tensor, "c"]:
    """Where in a block the rows of the orbits with missing points are."""
    return (missing.owners[:, None] * frequency.dim + torch.arange(frequency.dim)).flatten()


def unseen_size(
    largest: float, size: int, dtype: torch.dtype, frequency: Frequency, scale: float
) -> float | None:
    """None for a block the kernel sees; otherwise the size of what rounding has left of it.

    Args:
        largest: Largest entry of the block.
        size: Number of rows of the block.
        dtype: Precision of the block.
        frequency: Irrep of the block.
        scale: The largest `k(x, x)`.

    Raises:
        SingularBlockError: The kernel does not see the trivial irrep.
    """
    eps = torch.finfo(dtype).eps
    if largest > ZERO * eps * frequency.order * scale:
        return None
    if frequency.index == 0:
        raise SingularBlockError(
            "the kernel does not see the orbits' averages at all: every label is out of reach"
        )
    return max(largest * size**0.5, eps * scale)  # entries of noise: their matrix grows like the root


def cholesky(
    block: Shaped[Tensor, "k k"], ridge: float, name: str, scale: float = 0.0
) -> Shaped[Tensor, "k k"]:
    """The factor L of `(B + B^H) / 2 + ridge = L L^H`.

    Args:
        block: B.
        ridge: Number added to the diagonal of the block.
        name: The irrep, for errors.
        scale: The size of the kernel whose block it is: what is small beside it is rounding.

    Raises:
        InputError: A block that no kernel has.
        SingularBlockError: There is none to rounding.
    """
    regular = (block + block.mH) / 2
    regular.diagonal().add_(ridge)
    factor, failed = torch.linalg.cholesky_ex(regular)
    smallest = factor.diagonal().real.square().min() if len(factor) else torch.ones(())
    rounding = torch.finfo(factor.real.dtype).eps * len(factor)
    largest = regular.diagonal().real.max() if len(factor) else torch.ones(())
    if bool(failed) or not bool(smallest > rounding * largest):
        check_not_negative(regular, f"the kernel's block of irrep {name}", scale)
        raise SingularBlockError(f"the block of irrep {name} with ridge {ridge:g} is singular to rounding")
    return factor


def inverse_blocks(
    factor: Shaped[Tensor, "k k"], columns: Sequence[Int64[Tensor, "_"]]
) -> list[Shaped[Tensor, "_ _"]]:
    """The blocks `(L L^H)^-1` restricted to some rows and columns, by whichever way takes fewer operations.

    A triangular solve for c columns takes `k^2 c + k c^2` multiplications, the whole inverse `2/3 k^3`.

    Args:
        factor: L, lower triangular.
        columns: The positions of each block.

    >>> L = torch.tensor([[2.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    >>> [block.tolist() for block in inverse_blocks(L, [torch.tensor([1])])]
    [[[1.0]]]
    """
    k = len(factor)
    if sum(k * k * len(c) + k * len(c) ** 2 for c in columns) > 2 * k**3 / 3:
        whole = torch.cholesky_inverse(factor)
        return [whole[c.to(factor.device)][:, c.to(factor.device)] for c in columns]
    result = []
    for column in columns:
        unit = factor.new_zeros(k, len(column))
        unit[column.to(factor.device), torch.arange(len(column), device=factor.device)] = 1
        solved = torch.linalg.solve_triangular(factor, unit, upper=False)
        result.append(solved.mH @ solved)
    return result


def on_points(
    inverse: Shaped[Tensor, "c c"],
    frequency: Frequency,
    missing: MissingSet,
    fixed: Shaped[Tensor, "m d d"] | None,
    points: Quotient,
) -> Float[Tensor, "p p"]:
    """`copies d/|G| Re tr(rho(g) P_hat_st rho(h)^H)` for all pairs of missing points (s, g), (t, h).

    Args:
        inverse: The block of the inverse that belongs to the orbits in `missing.owners`.
        frequency: The irrep.
        missing: The missing set.
        fixed: `Quotient.fixed_vectors`, between which the block was; None for free orbits.
        points: Quotient that names the different points.
    """
    device, d = inverse.device, frequency.dim
    position = missing.position.to(device)
    if d == 1 and fixed is None and missing.one_element:  # |rho(g)| = 1: nothing is turned
        turned = inverse[position][:, position]
        return (turned.real if turned.is_complex() else turned) * frequency.weight
    rho = frequency.matrices[missing.elements].to(device, inverse.dtype)
    if fixed is not None:  # they carry 1/sqrt|H|; |H| times it is the way back
        kept = points.stabiliser_orders[missing.samples].to(device)
        rho = rho @ fixed[missing.samples.to(fixed.device)].to(device, inverse.dtype) * kept[:, None, None]
    total = torch.zeros(len(rho), len(rho), dtype=inverse.real.dtype, device=device)
    every = torch.arange(len(rho), device=device)
    for rows in every.split(max(1, POINT_PAIRS // len(rho))):
        for b in range(d):
            for c in range(d):  # rho_ab P_bc conj(rho_ac), a summed by a product
                cells = inverse[position[rows] * d + b][:, position * d + c]
                cells = cells * (rho[rows, :, b] @ rho[:, :, c].mH)
                total[rows] += cells.real if cells.is_complex() else cells
    return total * (frequency.weight / d)


def label_parts(
    solve: Callable[[Tensor], Tensor],
    labels: Float[Tensor, "m e c"],
    frequency: Frequency,
    sets: Sequence[MissingSet],
    points: Quotient,
    fixed: Shaped[Tensor, "m d d"] | None,
) -> tuple[Float[Tensor, "_ c"], ...] | None:
    """One irrep's part of `P y` at the missing points of each set; None where labels have none.

    Args:
        solve: `B^-1`, B the block of the irrep.
        labels: One row per orbit, `e = 1`, or one for each of its points.
        frequency: The irrep.
        sets: The missing sets.
        points: Quotient that names the different points.
        fixed: `Quotient.fixed_vectors`, between which the block is; None for free orbits.
    """
    if frequency.index > 0 and labels.shape[1] == 1:
        return None
    solved = solved_values(solve, labels, frequency, points, fixed)
    rows = [frequency.matrices[one.elements].to(solved.device).mT.flatten(1) for one in sets]
    cells = solved.unflatten(0, (-1, frequency.dim)).unflatten(2, (frequency.dim, -1)).flatten(1, 2)
    results = [
        torch.einsum("pqo,pq->po", cells[one.samples.to(cells.device)], own.to(cells.dtype))
        for one, own in zip(sets, rows, strict=True)
    ]
    factor = frequency.weight / frequency.dim
    return tuple((part.real if part.is_complex() else part).cpu() * factor for part in results)


def solved_values(
    solve: Callable[[Tensor], Tensor],
    values: Float[Tensor, "m e c"],
    frequency: Frequency,
    points: Quotient,
    fixed: Shaped[Tensor, "m d d"] | None,
) -> Shaped[Tensor, "r l"]:
    """`P values` on one irrep: rows (s, a), columns (b, output), for values equal where points coincide."""
    right = irrep_values(values, frequency)
    if fixed is None:
        return solve(right)
    right = (fixed.mH @ right.unflatten(0, (-1, frequency.dim)).to(fixed.dtype)).flatten(0, 1)
    orders = points.stabiliser_orders.to(fixed.device)[:, None, None]
    return ((fixed * orders) @ solve(right).unflatten(0, (-1, frequency.dim))).flatten(0, 1)


def irrep_values(values: Float[Tensor, "m e c"], frequency: Frequency) -> Shaped[Tensor, "r l"]:
    """Values at points on one irrep, `V_t = sum_h rho(h)^H v(t, h)`: rows (t, a), columns (b, output).

    Args:
        values: Numbers at every point; one row of an orbit, `e = 1`, stands for all its points and has a
            part on the trivial irrep only.
        frequency: The irrep.
    """
    if values.shape[1] == 1 and frequency.order > 1:
        return values[:, 0] * (frequency.order if frequency.index == 0 else 0)
    d = frequency.dim
    columns = frequency.matrices.mH.resolve_conj().flatten(1).to(values.device)  # [h, a b]
    wide = columns.to(matching_dtype(columns, values.dtype))
    cells = torch.einsum("tho,hq->tqo", values.to(wide.dtype), wide)
    return cells.unflatten(1, (d, d)).flatten(2).flatten(0, 1)


def point_values(cells: Shaped[Tensor, "r l"], frequency: Frequency, order: int) -> Float[Tensor, "m n c"]:
    """What one irrep gives at every point, `copies d / |G| Re tr(rho(g) W_s)`: the way back.

    Args:
        cells: `W_s`, rows (s, a), columns (b, output).
        frequency: The irrep.
        order: Number of elements of the group.

    >>> from symscope.groups import dihedral
    >>> from symscope.spectral.irrep_blocks import frequencies
    >>> group = dihedral(3)
    >>> values = torch.arange(1.0, 7.0, dtype=torch.float64).reshape(1, 6, 1)
    >>> whole = sum(point_values(irrep_values(values, f), f, 6) for f in frequencies(group))
    >>> whole.flatten().round(decimals=9).tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    """
    d = frequency.dim
    rows = frequency.matrices.to(cells.device).mT.flatten(1)  # tr(rho W) = sum_ab rho_ba W_ab
    cells = cells.unflatten(0, (-1, d)).unflatten(2, (d, -1)).flatten(1, 2)
    result = torch.einsum("sqo,gq->sgo", cells, rows.to(cells.dtype))
    return (result.real if result.is_complex() else result) * (frequency.copies * d / order)


def matching_dtype(matrices: Tensor, dtype: torch.dtype) -> torch.dtype:
    """The dtype of an irrep's matrices in the precision of some real numbers."""
    if not matrices.is_complex():
        return dtype
    return torch.complex128 if dtype == torch.float64 else torch.complex64


def check_within_reach(labels: Float[Tensor, "m e c"], frequency: Frequency) -> None:
    """Refuses labels that vary within orbits on an irrep on which the kernel is zero.

    Raises:
        SingularBlockError: Labels that no weights reproduce.
    """
    if labels.shape[1] == 1:
        return
    part, whole = irrep_values(labels, frequency).abs().max(), labels.abs().max()
    if float(part) > OUT_OF_REACH * frequency.order * float(whole):
        raise SingularBlockError(
            f"the kernel does not see irrep {frequency.name}, on which labels vary within orbits: they are "
            "out of reach"
        )


def even_diagonal(
    frequency: Frequency, missing: MissingSet, points: Quotient, counted: Bool[Tensor, "m d"]
) -> Float[Tensor, "p"]:
    """The diagonal of the projector on the irrep: `copies d r_s |H_s| / |G|`."""
    each = (counted.sum(1) * points.stabiliser_orders).to(torch.float64) * (frequency.copies * frequency.dim)
    return each[missing.samples] / frequency.order
