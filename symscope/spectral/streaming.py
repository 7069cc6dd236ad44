"""The exact group form when the profile itself is too large: blocks made, used and dropped within a budget.

For m orbits of a group G a pass over the kernel makes as many Fourier blocks as fit, as panels; each is
inverted in place, gives its part of every missing set, and is dropped. Nothing of size m^2 |G| is ever held.
For those who measure or schedule the steps of `leave_out_streamed`, they are here too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from symscope.data import default_tolerance
from symscope.errors import InputError
from symscope.groups import FiniteGroup, check_finite_group
from symscope.numerics import Progress, byte_count, check_ridge, checked, usable_device
from symscope.spectral._irrep_parts import IrrepPart
from symscope.spectral._kernel_entries import OrbitPoints, check_invariant_kernel, check_samples
from symscope.spectral._leave_out import assemble, orbit_labels
from symscope.spectral._leave_out_result import LeaveOut
from symscope.spectral._missing_sets import missing_sets
from symscope.spectral._orbit_inverse import OrbitInverse
from symscope.spectral._orbit_passes import (
    filled_panels,
    irrep_batches,
    orbits_per_panel,
    panel_part,
    set_bytes,
    tile_budget,
)
from symscope.spectral._orbit_tiles import ProjectedKernel
from symscope.spectral.irrep_blocks import Quotient, quotient

__all__ = [
    "IrrepPart",
    "OrbitPoints",
    "ProjectedKernel",
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
    points = quotient(check_finite_group(group), stabilisers, len(samples))
    checked = orbit_labels(labels, group, points)
    sets = missing_sets(missing, group, points)
    orbits = OrbitPoints(samples.to(usable_device(device, samples)), group, orbit)
    check_invariant_kernel(kernel, orbits)
    check_fixed_samples(orbits, points)
    exact = ProjectedKernel(kernel, group, (group.identity,))
    inverse = OrbitInverse(exact, orbits, points, ridge, byte_count(memory), panel, progress)
    return inverse.left_out(checked, sets)


def check_fixed_samples(orbits: OrbitPoints, points: Quotient) -> None:
    """Refuses stabilisers whose elements do not fix their samples."""
    for s in (points.stabiliser_orders > 1).nonzero()[:, 0].tolist():
        stabiliser, whole = points.stabilisers[s], orbits.whole(slice(s, s + 1))[0]
        own = whole[orbits.group.identity]
        apart = (whole[stabiliser.to(whole.device)] - own).flatten(1).norm(dim=1)
        if bool((apart > default_tolerance(whole.dtype) * own.norm()).any()):
            name = orbits.group.labels[int(stabiliser[int(apart.argmax())])]
            raise InputError(
                f"stabilisers: {name} x_{s} and x_{s} are {float(apart.max()):.3g} apart: {name} does not "
                f"fix sample {s}"
            )
