"""Passes over a kernel on orbits: Fourier blocks as panels, as many as fit, each inverted in place and used.

Memory is bought with kernel evaluations: irreps are packed into batches whose panels fit together, each batch
takes one more pass over the kernel, and a pass goes tile by tile through the lower triangle. The transform of
a tile is a product with the irreps' matrix entries, as a discrete Fourier transform is one with its matrix,
for the irreps of the batch alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import FiniteGroup
from symscope.numerics import Progress, byte_text, explained
from symscope.spectral._irrep_parts import (
    IrrepPart,
    SingularBlockError,
    check_within_reach,
    columns_of_owners,
    counted_vectors,
    empty_part,
    even_diagonal,
    label_parts,
    matching_dtype,
    on_fixed,
    on_points,
    unseen_size,
)
from symscope.spectral._kernel_entries import OrbitPoints
from symscope.spectral._missing_sets import MissingSet
from symscope.spectral._orbit_tiles import ProjectedKernel, SquaredNorms
from symscope.spectral.irrep_blocks import Frequency, Quotient, frequencies
from symscope.spectral.panels import (
    Panels,
    empty_panels,
    fill_diagonal,
    inverse_block,
    invert_factor,
    panel_bytes,
    solve,
    workspace_bytes,
)

TILE_SHARE, LARGEST_TILE = 0.2, 4e9  # of the budget, for orbits and tiles of kernel entries; bytes


@explained
def set_bytes(samples: int, group: FiniteGroup, sets: Sequence[MissingSet]) -> int:
    """What the missing sets take: two sums of `P_MM` each, and the columns and block of the largest."""
    if not sets:
        return 0
    widest = max(one.dim for one in frequencies(group))
    largest = max(len(one.owners) for one in sets) * widest
    sums = sum(2 * 8 * len(one.samples) ** 2 for one in sets)
    return sums + 16 * (samples * widest * largest + 2 * largest**2)


@explained
def irrep_batches(
    samples: int,
    group: FiniteGroup,
    panel: int | None,
    budget: float | int,
    needed: Sequence[Frequency] | None = None,
    itemsize: int = 8,
) -> list[list[Frequency]]:
    """The irreps in groups whose panels fit the budget together, beside workspace and tiles.

    Args:
        samples: Number of orbits.
        group: The group.
        panel: Orbits whose columns share a panel; None chooses by size.
        budget: Bytes that may be used.
        needed: The irreps; all when None.
        itemsize: Bytes of a real number.

    Raises:
        InputError: One block does not fit.
    """
    batches: list[list[Frequency]] = []
    used = float("inf")
    for one in frequencies(group) if needed is None else needed:
        columns = orbits_per_panel(samples, panel) * one.dim
        rows = samples * one.dim
        taken = panel_bytes(rows, columns, complex=not one.is_real, itemsize=itemsize)
        free = budget - tile_budget(budget) - workspace_bytes(rows, columns, itemsize=itemsize)
        if taken > free:
            held = taken + workspace_bytes(rows, columns, itemsize=itemsize)
            least = min(held / (1 - TILE_SHARE), held + LARGEST_TILE)
            raise InputError(
                f"memory: a block of {rows} rows with its workspace takes {byte_text(least)} on top of the "
                "missing sets, more than is allowed; allow more, or use smaller panels"
            )
        if used + taken > free:
            batches.append([])
            used = 0.0
        batches[-1].append(one)
        used += taken
    return batches


@explained
def tile_budget(budget: float | int) -> float:
    """The part of a budget that orbits and kernel entries may take at a time.

    >>> tile_budget(1e9), tile_budget(1e11)
    (200000000.0, 4000000000.0)
    """
    return min(TILE_SHARE * budget, LARGEST_TILE)


@explained
def orbits_per_panel(samples: int, panel: int | None) -> int:
    """How many orbits share a panel: about a tenth of them, in multiples of 32, at most 2,048.

    >>> orbits_per_panel(10_000, None), orbits_per_panel(60_000, None), orbits_per_panel(7, None)
    (992, 2048, 32)
    """
    if panel is not None and panel < 1:
        raise InputError(f"panel: expected a positive number of orbits, got {panel}")
    return min(2048, max(1, samples // 320) * 32) if panel is None else panel


@explained
def filled_panels(
    kernel: ProjectedKernel,
    orbits: OrbitPoints,
    batch: Sequence[Frequency],
    panel: int | None,
    tile_bytes: float | int,
    points: Quotient,
    own: Float[Tensor, "m"] | None = None,
    norms: SquaredNorms | None = None,
    progress: Progress | None = None,
) -> list[tuple[Panels, float]]:
    """One pass over the kernel: the lower halves of the blocks of some irreps, and the largest `k(x, x)`.

    Entries are `kappa_st(d)` for s >= t only; the transform of a tile is one real matrix product.

    Args:
        kernel: The kernel, made invariant.
        orbits: The orbits.
        batch: Irreps whose blocks are made.
        panel: Orbits whose columns share a panel; None chooses by size.
        tile_bytes: What orbits and entries may take at a time.
        points: Quotient that names the different points.
        own: `kernel.own_values(orbits)`, computed where it is not given; panels have its precision.
        norms: Where the squares of entries, and of what projection changes, are added up.
        progress: Called as `progress("kernel", entries computed, entries in all)`.
    """
    m, n, device = len(orbits), kernel.group.order, orbits.samples.device
    wide, count = orbits_per_panel(m, panel), len(kernel.representatives)
    own = kernel.own_values(orbits) if own is None else own
    norms = SquaredNorms() if norms is None else norms
    panels = [
        empty_panels(m * one.dim, wide * one.dim, complex=not one.is_real, device=device, dtype=own.dtype)
        for one in batch
    ]
    characters = torch.cat([character_columns(one) for one in batch], dim=1).to(device, own.dtype)
    several, none = points.stabiliser_orders > 1, [None] * len(batch)
    fixed = none if points.is_free else [points.fixed_vectors(one).to(device) for one in batch]
    columns = _at_once(orbits, wide, tile_bytes / 2)
    rows = max(1, int(tile_bytes / 2 / (8 * columns * ((1 + 4 * count) * n + 2 * characters.shape[1]))))
    done, total = 0, count * n * sum((min(s + columns, m) - s) * (m - s) for s in range(0, m, columns))
    for start in range(0, m, columns):
        moved = orbits.whole(slice(start, min(start + columns, m)))
        for top in range(start, m, rows):
            tile = kernel.lower_tile(orbits, moved, top, rows, start, own, norms)
            done += tile.numel() * count
            cells = tile @ characters
            some = bool(several[top : top + rows].any() | several[start : start + columns].any())
            _place(panels, batch, fixed if some else none, cells, top, start)
            if progress is not None:
                progress("kernel", done, total)
    return [(one, float(own.abs().max())) for one in panels]


def _at_once(orbits: OrbitPoints, panel: int, budget: float) -> int:
    """Orbits whose points are made together: a divisor of the panel, at most 8,192 points, three copies."""
    order = orbits.group.order
    fitting = int(budget / (3 * 8 * math.prod(orbits.point_shape) * order))
    wanted = max(1, min(panel, 8192 // order, fitting))
    return next(k for k in range(wanted, 0, -1) if panel % k == 0)


def character_columns(frequency: Frequency) -> Tensor:
    """The matrices' entries as real columns: real parts, then imaginary ones."""
    flat = frequency.matrices.flatten(1)
    return torch.cat([flat.real, flat.imag], dim=1) if flat.is_complex() else flat


def irrep_cells(cells: Float[Tensor, "r c f"], batch: Sequence[Frequency]) -> list[Shaped[Tensor, "_ _"]]:
    """Transformed entries, irrep by irrep: rows (sample, a), columns (sample, b).

    Args:
        cells: `tile @ character_columns` of the irreps side by side.
        batch: The irreps.
    """
    result = []
    for one, parts in _irrep_halves(cells, batch):
        whole = parts[0] if len(parts) == 1 else torch.complex(*parts)
        result.append(whole.reshape(len(cells) * one.dim, -1))
    return result


def _irrep_halves(
    cells: Float[Tensor, "r c f"], batch: Sequence[Frequency]
) -> Iterator[tuple[Frequency, list[Float[Tensor, "r d c d"]]]]:
    """Real and, where there are any, imaginary parts of each irrep's entries."""
    at = 0
    for one in batch:
        d, parts = one.dim, []
        for _ in range(1 if one.is_real else 2):
            parts.append(cells[:, :, at : at + d * d].unflatten(2, (d, d)).permute(0, 2, 1, 3))
            at += d * d
        yield one, parts


def _place(
    panels: Sequence[Panels],
    batch: Sequence[Frequency],
    fixed: Sequence[Tensor] | Sequence[None],
    cells: Float[Tensor, "r c f"],
    top: int,
    start: int,
) -> None:
    """Write transformed entries of samples `top ..` against orbits `start ..` into every irrep's panels."""
    count, wide = cells.shape[:2]
    for matrix, (one, parts), vectors in zip(panels, _irrep_halves(cells, batch), fixed, strict=True):
        d = one.dim
        if vectors is not None:
            whole = parts[0] if len(parts) == 1 else torch.complex(*parts)
            own = vectors.to(whole.dtype)
            turned = on_fixed(whole, own[top : top + count], own[start : start + wide])
            parts = [turned] if len(parts) == 1 else [turned.real, turned.imag]
        panel = start * d // matrix.width
        first = panel * matrix.width
        rows = slice(top * d - first, (top + count) * d - first)
        columns = slice(start * d - first, (start + wide) * d - first)
        halves = [half for half in (matrix.real, matrix.imaginary) if half]
        for half, values in zip(halves, parts, strict=True):
            half[panel][rows, columns] = values.reshape(count * d, -1)


def _largest(matrix: Panels) -> float:
    return max(float(panel.abs().max()) for panel in (*matrix.real, *matrix.imaginary))


@explained
def panel_part(
    matrix: Panels,
    frequency: Frequency,
    sets: Sequence[MissingSet],
    points: Quotient,
    labels: Float[Tensor, "m e c"],
    ridge: float,
    scale: float,
) -> IrrepPart:
    """One irrep's part of every missing set; the panels are used up.

    Raises:
        SingularBlockError: A block that is singular without being zero.
    """
    dtype, d = matrix.real[0].dtype, frequency.dim
    fixed = None if points.is_free else points.fixed_vectors(frequency).to(matrix.real[0].device)
    counted = counted_vectors(points, frequency, fixed)
    if not bool(counted.any()):
        return empty_part(sets, labels)
    even = tuple(even_diagonal(frequency, one, points, counted) for one in sets)
    if ridge == 0:
        left = unseen_size(_largest(matrix), int(counted.sum()), dtype, frequency, scale)
        if left is not None:
            check_within_reach(labels, frequency)
            return IrrepPart((), even, left, None)
    fill_diagonal(matrix, (~counted.flatten()).nonzero()[:, 0])
    try:
        invert_factor(matrix, ridge)
    except SingularBlockError as error:
        raise SingularBlockError(f"the block of irrep {frequency.name}: {error}") from error
    precision = []
    for one in sets:
        real_only = d == 1 and fixed is None and one.one_element
        real, imaginary = inverse_block(matrix, columns_of_owners(one, frequency), real_only=real_only)
        inverse = real if imaginary is None else torch.complex(real, imaginary)
        if not frequency.is_real and not real_only:
            inverse = inverse.to(torch.complex128 if labels.dtype == torch.float64 else torch.complex64)
        precision.append(on_points(inverse, frequency, one, fixed, points))
    if fixed is not None:
        fixed = fixed.to(matching_dtype(fixed, dtype))
    weights = label_parts(partial(solve, matrix), labels, frequency, sets, points, fixed)
    return IrrepPart(tuple(precision), even, None, weights)
