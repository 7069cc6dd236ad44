"""The exact group form when the profile itself is too large: blocks made, used and dropped within a budget.

For m orbits of a group G a pass over the kernel makes as many Fourier blocks as fit, as panels; each is
inverted in place, gives its part of every missing set, and is dropped. Nothing of size m^2 |G| is ever held.

Memory is bought with kernel evaluations: irreps are packed into batches whose panels fit together, each batch
takes one more pass over the kernel, and a pass goes tile by tile through the lower triangle. The transform of
a tile is a product with the irreps' matrix entries, as a discrete Fourier transform is one with its matrix,
for the irreps of the batch alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from symscope.data import default_tolerance
from symscope.errors import InputError, SingularKernelError
from symscope.groups import FiniteGroup, check_finite_group
from symscope.numerics import Progress, byte_count, byte_text, check_ridge, checked, usable_device
from symscope.spectral._irrep_parts import (
    IrrepPart,
    SingularBlockError,
    columns_of_owners,
    counted_vectors,
    empty_part,
    even_diagonal,
    label_weights,
    on_fixed,
    on_points,
    unseen_size,
)
from symscope.spectral._kernel_entries import (
    check_invariant_kernel,
    check_samples,
    coinciding_points,
    entries,
    own_values,
    whole_orbits,
)
from symscope.spectral._leave_out import assemble, orbit_labels
from symscope.spectral._leave_out_result import LeaveOut
from symscope.spectral._missing_sets import MissingSet, missing_sets
from symscope.spectral._profile import write_own_values
from symscope.spectral.irrep_blocks import Frequency, Quotient, frequencies, quotient
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

__all__ = [
    "IrrepPart",
    "assemble",
    "filled_panels",
    "irrep_batches",
    "leave_out_streamed",
    "missing_sets",
    "orbits_per_panel",
    "panel_part",
    "set_bytes",
    "tile_budget",
]

KernelFunction = Callable[[Tensor, Tensor], Tensor]
OrbitFunction = Callable[[Tensor], Tensor]
TILE_SHARE, LARGEST_TILE = 0.2, 4e9  # of the budget, for orbits and tiles of kernel entries; bytes


@checked
def leave_out_streamed(
    kernel: KernelFunction,
    orbit: OrbitFunction,
    samples: Shaped[Tensor, "*shape"],
    labels: Float[Tensor, "labels *c"],
    missing: Bool[Tensor, "*sets samples elements"],
    group: FiniteGroup,
    ridge: float,
    *,
    memory: int | float | str,
    panel: int | None = None,
    stabilisers: Sequence[Tensor] | None = None,
    device: torch.device | str | None = None,
    progress: Progress | None = None,
) -> LeaveOut:
    """`leave_out` from a kernel instead of a profile, in bounded memory, for an exact action.

    The kernel is evaluated on `m^2 |G| / 2` pairs in each of as many passes as the budget makes necessary.

    Args:
        kernel: `(x1 [a, *sample], x2 [b, *sample]) -> [a, b]`, a new tensor; a `symscope.kernels.Kernel` or a
            function that returns an exact diagonal when it is given one tensor twice (see `own_values`).
        orbit: `x [a, *sample] -> [a, |G|, *sample]`, an exact action under which the kernel is invariant.
        samples: One sample of each orbit, `[m, *sample]`, floating point.
        labels: One number or vector per orbit, or per point, as in `leave_out`.
        missing: Masks of the points left out, as in `leave_out`.
        group: The group.
        ridge: Number added to the diagonal of K.
        memory: What may be used on the device besides the samples, in bytes or as text.
        panel: Orbits whose columns are factorised together; None chooses by size.
        stabilisers: Elements that fix each sample, as in `leave_out`; None when only the identity does.
        device: Device to compute on; the samples' device when None.
        progress: Called as `progress("irreps", done, total)`.

    Raises:
        InputError: As for `leave_out` and `kernel_profile`, or a budget too small for one block (says how
            much is needed).

    >>> from symscope.groups import cyclic
    >>> x = torch.tensor([[1.0, 2.0], [0.5, 1.5]], dtype=torch.float64)
    >>> flips, rbf = lambda x: torch.stack([x, x.flip(-1)], 1), lambda a, b: torch.exp(-torch.cdist(a, b))
    >>> y, missing = torch.tensor([1.0, -1.0]).double(), torch.tensor([[True, False], [False, False]])
    >>> result = leave_out_streamed(rbf, flips, x, y, missing, cyclic(2), ridge=0.0, memory="1MB")
    >>> result.residual.round(decimals=4).tolist()
    [1.351]
    """
    check_ridge(ridge)
    check_samples(samples)
    check_finite_group(group)
    points = quotient(group, stabilisers, len(samples))
    checked = orbit_labels(labels, len(samples), group)
    sets = missing_sets(missing, group, points)
    place = usable_device(device, samples)
    x = samples.to(place)
    check_invariant_kernel(kernel, orbit, x, group)
    check_fixed_samples(orbit, x, group, points)
    budget = byte_count(memory) - set_bytes(len(samples), group, sets)
    batches = irrep_batches(len(samples), group, panel, budget)

    own = own_values(kernel, x)
    values = checked.to(own.dtype)

    def parts() -> Iterator[tuple[Frequency, IrrepPart]]:
        done = 0
        for batch in batches:
            filled = filled_panels(kernel, orbit, x, group, batch, panel, tile_budget(budget), points, own)
            for frequency in batch:
                panels, scale = filled.pop(0)
                yield frequency, panel_part(panels, frequency, sets, points, values.to(place), ridge, scale)
                del panels
                done += 1
                if progress is not None:
                    progress("irreps", done, sum(len(one) for one in batches))

    try:
        return assemble(parts(), sets, values.cpu(), group, points)
    except SingularBlockError as error:
        raise SingularKernelError(
            f"{error}: samples lie on one orbit, or are fixed by some elements (then pass "
            "stabilisers=data.orbits(...).stabilisers), or points are too near; remove them or use a ridge"
        ) from error


def check_fixed_samples(
    orbit: OrbitFunction, samples: Float[Tensor, "m *sample"], group: FiniteGroup, points: Quotient
) -> None:
    """Refuses stabilisers whose elements do not fix their samples."""
    for s in (points.stabiliser_orders > 1).nonzero()[:, 0].tolist():
        own, stabiliser = samples[s : s + 1], points.stabilisers[s]
        moved = whole_orbits(orbit, own, group)[stabiliser.to(samples.device)]
        apart = (moved - own).flatten(1).norm(dim=1)
        if bool((apart > default_tolerance(samples.dtype) * own.norm()).any()):
            name = group.labels[int(stabiliser[int(apart.argmax())])]
            raise InputError(
                f"stabilisers: {name} x_{s} and x_{s} are {float(apart.max()):.3g} apart: {name} does not "
                f"fix sample {s}"
            )


def set_bytes(samples: int, group: FiniteGroup, sets: Sequence[MissingSet]) -> int:
    """What the missing sets take: two sums of `P_MM` each, and the columns and block of the largest."""
    widest = max(one.dim for one in frequencies(group))
    largest = max(len(one.owners) for one in sets) * widest
    sums = sum(2 * 8 * len(one.samples) ** 2 for one in sets)
    return sums + 16 * (samples * widest * largest + 2 * largest**2)


def irrep_batches(
    samples: int, group: FiniteGroup, panel: int | None, budget: float | int
) -> list[list[Frequency]]:
    """The irreps in groups whose panels fit the budget together, beside workspace and tiles.

    Raises:
        InputError: One block does not fit.
    """
    batches: list[list[Frequency]] = []
    used = float("inf")
    for one in frequencies(group):
        columns = orbits_per_panel(samples, panel) * one.dim
        rows = samples * one.dim
        needed = panel_bytes(rows, columns, complex=not one.is_real)
        free = budget - tile_budget(budget) - workspace_bytes(rows, columns)
        if needed > free:
            held = needed + workspace_bytes(rows, columns)
            least = min(held / (1 - TILE_SHARE), held + LARGEST_TILE)
            raise InputError(
                f"memory: a block of {rows} rows with its workspace takes {byte_text(least)} on top of the "
                "missing sets, more than is allowed; allow more, or use smaller panels"
            )
        if used + needed > free:
            batches.append([])
            used = 0.0
        batches[-1].append(one)
        used += needed
    return batches


def tile_budget(budget: float | int) -> float:
    """The part of a budget that orbits and kernel entries may take at a time.

    >>> tile_budget(1e9), tile_budget(1e11)
    (200000000.0, 4000000000.0)
    """
    return min(TILE_SHARE * budget, LARGEST_TILE)


def orbits_per_panel(samples: int, panel: int | None) -> int:
    """How many orbits share a panel: about a tenth of them, in multiples of 32, at most 2,048.

    >>> orbits_per_panel(10_000, None), orbits_per_panel(60_000, None), orbits_per_panel(7, None)
    (992, 2048, 32)
    """
    if panel is not None and panel < 1:
        raise InputError(f"panel: expected a positive number of orbits, got {panel}")
    return min(2048, max(1, samples // 320) * 32) if panel is None else panel


def filled_panels(
    kernel: KernelFunction,
    orbit: OrbitFunction,
    samples: Float[Tensor, "m *sample"],
    group: FiniteGroup,
    batch: Sequence[Frequency],
    panel: int | None,
    tile_bytes: float | int,
    points: Quotient,
    own: Float[Tensor, "m"] | None = None,
) -> list[tuple[Panels, float]]:
    """One pass over the kernel: the lower halves of the blocks of some irreps, and the largest `k(x, x)`.

    Entries are `k(x_s, d x_t)` for s >= t only; the transform of a tile is one real matrix product.
    `own` is `own_values(kernel, samples)`, computed where it is not given.
    """
    m, n, device = len(samples), group.order, samples.device
    wide = orbits_per_panel(m, panel)
    own = own_values(kernel, samples) if own is None else own
    panels = [
        empty_panels(m * one.dim, wide * one.dim, complex=not one.is_real, device=device, dtype=own.dtype)
        for one in batch
    ]
    characters = torch.cat([_columns(one) for one in batch], dim=1).to(device, own.dtype)
    several, none = points.stabiliser_orders > 1, [None] * len(batch)
    fixed = none if points.is_free else [points.fixed_vectors(one).to(device) for one in batch]
    columns = _at_once(samples, group, wide, tile_bytes / 2)
    rows = max(1, int(tile_bytes / 2 / (8 * columns * (5 * n + 2 * characters.shape[1]))))
    for start in range(0, m, columns):
        stop = min(start + columns, m)
        moved = whole_orbits(orbit, samples[start:stop], group)
        same = coinciding_points(samples[start:stop], moved)
        for top in range(start, m, rows):
            tile = entries(kernel, samples[top : top + rows], moved).unflatten(1, (-1, n))
            write_own_values(tile, own[start:stop], same, top - start)
            cells = tile @ characters
            some = bool(several[top : top + rows].any() | several[start:stop].any())
            _place(panels, batch, fixed if some else none, cells, top, start)
    return [(one, float(own.abs().max())) for one in panels]


def _at_once(samples: Float[Tensor, "m *sample"], group: FiniteGroup, panel: int, budget: float) -> int:
    """Orbits whose points are made together: a divisor of the panel, at most 8,192 points, three copies."""
    fitting = int(budget / (3 * 8 * samples[0].numel() * group.order))
    wanted = max(1, min(panel, 8192 // group.order, fitting))
    return next(k for k in range(wanted, 0, -1) if panel % k == 0)


def _columns(frequency: Frequency) -> Tensor:
    """The matrices' entries as real columns: real parts, then imaginary ones."""
    flat = frequency.matrices.flatten(1)
    return torch.cat([flat.real, flat.imag], dim=1) if flat.is_complex() else flat


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
    at = 0
    for matrix, one, vectors in zip(panels, batch, fixed, strict=True):
        d = one.dim
        halves = [half for half in (matrix.real, matrix.imaginary) if half]
        parts = []
        for _ in halves:
            parts.append(cells[:, :, at : at + d * d].unflatten(2, (d, d)).permute(0, 2, 1, 3))
            at += d * d
        if vectors is not None:
            whole = parts[0] if len(parts) == 1 else torch.complex(*parts)
            own = vectors.to(whole.dtype)
            turned = on_fixed(whole, own[top : top + count], own[start : start + wide])
            parts = [turned] if len(parts) == 1 else [turned.real, turned.imag]
        panel = start * d // matrix.width
        first = panel * matrix.width
        rows = slice(top * d - first, (top + count) * d - first)
        columns = slice(start * d - first, (start + wide) * d - first)
        for half, values in zip(halves, parts, strict=True):
            half[panel][rows, columns] = values.reshape(count * d, -1)


def _largest(matrix: Panels) -> float:
    return max(float(panel.abs().max()) for panel in (*matrix.real, *matrix.imaginary))


def panel_part(
    matrix: Panels,
    frequency: Frequency,
    sets: Sequence[MissingSet],
    points: Quotient,
    labels: Float[Tensor, "m *c"],
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
    weights = label_weights(partial(solve, matrix), labels, points).cpu() if frequency.index == 0 else None
    return IrrepPart(tuple(precision), even, None, weights)
