"""The inverse of a kernel over orbits within a memory budget: missing sets from it, and products with it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.data import default_tolerance, fixing_elements
from symscope.errors import SingularKernelError
from symscope.numerics import Progress
from symscope.spectral._irrep_parts import (
    IrrepPart,
    SingularBlockError,
    counted_vectors,
    matching_dtype,
    point_values,
    solved_values,
)
from symscope.spectral._kernel_entries import OrbitPoints
from symscope.spectral._leave_out import assemble
from symscope.spectral._leave_out_result import LeaveOut
from symscope.spectral._missing_sets import MissingSet
from symscope.spectral._orbit_passes import (
    filled_panels,
    irrep_batches,
    panel_part,
    set_bytes,
    tile_budget,
)
from symscope.spectral._orbit_tiles import ProjectedKernel, SquaredNorms
from symscope.spectral.irrep_blocks import Frequency, Quotient, frequencies, quotient
from symscope.spectral.panels import Panels, solve

SINGULAR = (
    "samples lie on one orbit, or are fixed by some elements (then pass "
    "stabilisers=data.orbits(...).stabilisers), "
    "or points are too near; remove them or use a ridge"
)


@final
@dataclass(eq=False)
class OrbitInverse:
    """`P = (K + ridge)^-1` of an invariant kernel over orbits, one irrep after the other.

    Attributes:
        kernel: The kernel, made invariant.
        orbits: The orbits.
        points: Quotient that names the different points.
        ridge: Number added to the diagonal.
        budget: Bytes that may be used.
        panel: Orbits whose columns are factorised together; None chooses by size.
        progress: Called as `progress("kernel" or "irreps", done, total)`.
        varying: Whether labels vary within orbits, so that every irrep is needed also without missing points.
        norms: What a pass over the kernel has added up of its distance from an invariant one.
    """

    kernel: ProjectedKernel
    orbits: OrbitPoints
    points: Quotient
    ridge: float
    budget: int
    panel: int | None = None
    progress: Progress | None = None
    varying: bool = False
    norms: SquaredNorms = field(default_factory=SquaredNorms)
    _own: Tensor | None = None
    _inverses: list[tuple[Frequency, Panels]] | None = None  # of all irreps the kernel sees, where they fit

    def left_out(self, labels: Float[Tensor, "m e *c"], sets: Sequence[MissingSet]) -> LeaveOut:
        """Residuals of every missing set, all from the same factorisations.

        Args:
            labels: One row per orbit, `e = 1`, or one for each of its points.
            sets: The missing sets.

        Raises:
            SingularKernelError: A block that is singular without being zero.
        """
        group = self.kernel.group
        parts = self._parts(labels.flatten(2) if labels.ndim > 2 else labels[..., None], sets)
        return assemble(parts, sets, labels.to(self._dtype()).cpu(), group, self.points)

    def times(self, values: Float[Tensor, "m n c"], sets: Sequence[MissingSet]) -> Float[Tensor, "m n c"]:
        """`P values` on the irreps that the kernel sees, for values that are equal where points coincide.

        Args:
            values: Numbers at every point.
            sets: The missing sets `left_out` was asked for; none for the trivial irrep alone, where values
                are constant on orbits.
        """
        group = self.kernel.group
        values = values.to(self.orbits.samples.device, self._dtype())
        total = torch.zeros_like(values)
        for frequency, inverse in self._inverted(sets):
            fixed = self._fixed(frequency)
            solved = solved_values(partial(solve, inverse), values, frequency, self.points, fixed)
            total += point_values(solved, frequency, group.order)
        return total

    def _dtype(self) -> torch.dtype:
        return self._own_values().dtype

    def _own_values(self) -> Tensor:
        if self._own is None:
            self._own = self.kernel.own_values(self.orbits)
        return self._own

    def _fixed(self, frequency: Frequency) -> Tensor | None:
        if self.points.is_free:
            return None
        vectors = self.points.fixed_vectors(frequency).to(self.orbits.samples.device)
        return vectors.to(matching_dtype(vectors, self._dtype()))

    def _occurs(self, frequency: Frequency) -> bool:
        return bool(counted_vectors(self.points, frequency, self._fixed(frequency)).any())

    def _batches(self, sets: Sequence[MissingSet]) -> tuple[list[list[Frequency]], int]:
        """The irreps of each pass over the kernel, and the budget that is left for it."""
        group = self.kernel.group
        budget = self.budget - set_bytes(len(self.orbits), group, sets)
        # without missing points, labels that are constant on orbits need nothing else
        needed = frequencies(group) if sets or self.varying else frequencies(group)[:1]
        itemsize = torch.finfo(self._dtype()).bits // 8
        return irrep_batches(len(self.orbits), group, self.panel, budget, needed, itemsize), budget

    def _filled(self, sets: Sequence[MissingSet]) -> Iterator[tuple[Frequency, Panels, float]]:
        batches, budget = self._batches(sets)
        for batch in batches:
            norms = SquaredNorms()
            filled = filled_panels(
                self.kernel,
                self.orbits,
                batch,
                self.panel,
                tile_budget(budget),
                self.points,
                self._own_values(),
                norms,
                self.progress,
            )
            self.norms = norms
            for frequency in batch:
                panels, scale = filled.pop(0)
                yield frequency, panels, scale
                del panels

    def _parts(
        self, labels: Float[Tensor, "m e c"], sets: Sequence[MissingSet]
    ) -> Iterator[tuple[Frequency, IrrepPart]]:
        labels = labels.to(self.orbits.samples.device, self._dtype())
        batches, _ = self._batches(sets)
        total, kept = sum(len(one) for one in batches), []
        try:
            for done, (frequency, panels, scale) in enumerate(self._filled(sets), start=1):
                part = panel_part(panels, frequency, sets, self.points, labels, self.ridge, scale)
                if part.unseen_size is None and len(batches) == 1 and self._occurs(frequency):
                    kept.append((frequency, panels))
                del panels
                yield frequency, part
                if self.progress is not None:
                    self.progress("irreps", done, total)
        except SingularBlockError as error:
            raise SingularKernelError(f"{error}: {SINGULAR}") from error
        self._inverses = kept if len(batches) == 1 else None

    def _inverted(self, sets: Sequence[MissingSet]) -> Iterator[tuple[Frequency, Panels]]:
        """The inverse factors: those kept, or made once more where all of them do not fit the budget."""
        if self._inverses is not None:
            yield from self._inverses
            return
        labels = torch.zeros(len(self.orbits), 1, 1, dtype=self._dtype(), device=self.orbits.samples.device)
        try:
            for frequency, panels, scale in self._filled(sets):
                part = panel_part(panels, frequency, (), self.points, labels, self.ridge, scale)
                if part.unseen_size is None and self._occurs(frequency):
                    yield frequency, panels
                del panels
        except SingularBlockError as error:
            raise SingularKernelError(f"{error}: {SINGULAR}") from error


def orbit_quotient(orbits: OrbitPoints, budget: int) -> Quotient:
    """Which points of orbits are different: elements that fix a sample give the same one.

    Args:
        orbits: The orbits.
        budget: Bytes that may be used.
    """
    group, dtype = orbits.group, orbits.samples.dtype
    each = 4 * group.order * math.prod(orbits.point_shape) * orbits.samples.element_size()
    alone = torch.tensor([group.identity])
    fixing: list[Tensor] = []
    at_once = max(1, budget // each)
    for start in range(0, len(orbits), at_once):
        points = orbits.whole(slice(start, start + at_once))
        own, closed = fixing_elements(points, points[:, group.identity], group, default_tolerance(dtype))
        fixing.extend(one if whole else alone for one, whole in zip(own, closed.tolist(), strict=True))
    free = all(len(one) == 1 for one in fixing)
    return quotient(group, None if free else fixing, len(orbits))
