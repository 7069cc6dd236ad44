"""A kernel's entries on orbits, and the checks before: samples, whole orbits, a kernel that is invariant."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import FiniteGroup
from symscope.kernels import Kernel
from symscope.numerics import checked
from symscope.spectral._matrix_checks import allowed_gap

ONE_POINT = 1024  # roundings, relative to the norm: nearer points are one, apart by an action's rounding only
SPOT_SAMPLES, SPOT_ELEMENTS = 2, 5  # on which a kernel is asked whether it is invariant under the group
CANDIDATES = 256  # samples, spread over all, among which those that move most are looked for
ROOTS_OF_ROUNDING = 30  # relative to the largest entry: what a kernel of coinciding points may lose
INVARIANT = 4.5e-7  # relative to the largest entry: those 30 roots in float64
ORBIT_NUMBERS = 2**22  # numbers of the orbits that are held at once while looking for them
SUBGROUP_ORDER = 256  # elements of a group of which each is tried alone
OWN_SAMPLES = 256  # at most, whose values k(x, x) are taken from one square of a plain function


class NotInvariantError(InputError):
    """A kernel that is not exactly invariant under the group, or an action that is not exact."""


@checked
@final
@dataclass(frozen=True, eq=False)
class OrbitPoints:
    """Orbits whose points are made when they are needed, or were given.

    Attributes:
        samples: One sample of each orbit, `[m, *sample]`; without `orbit` all points, `[m, |G|, *sample]`.
        group: The group; points are in the order of its elements.
        orbit: `x [a, *sample] -> [a, |G|, *sample]`.

    >>> from symscope.groups import cyclic
    >>> points = torch.tensor([[[1.0, 2.0], [2.0, 1.0]]])
    >>> given = OrbitPoints(points, cyclic(2))
    >>> made = OrbitPoints(points[:, 0], cyclic(2), lambda x: torch.stack([x, x.flip(-1)], 1))
    >>> given.whole(slice(None)).equal(made.whole(slice(None))), given.at(slice(None), [1]).tolist()
    (True, [[2.0, 1.0]])
    """

    samples: Float[Tensor, "m *sample"]
    group: FiniteGroup
    orbit: Callable[[Tensor], Tensor] | None = None

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def point_shape(self) -> tuple[int, ...]:
        """Shape of one point."""
        return tuple(self.samples.shape[1 if self.orbit else 2 :])

    def choose(self, which: slice | Tensor) -> OrbitPoints:
        """Some of the orbits."""
        return OrbitPoints(self.samples[which], self.group, self.orbit)

    def double(self) -> OrbitPoints:
        """The same orbits in double precision."""
        return OrbitPoints(self.samples.double(), self.group, self.orbit)

    def whole(self, which: slice | Tensor) -> Float[Tensor, "a n *sample"]:
        """All points of some orbits, after checking that `orbit` made whole ones."""
        samples = self.samples[which]
        if self.orbit is None:
            return samples
        points = self.orbit(samples)
        expected = (len(samples), self.group.order, *samples.shape[1:])
        if points.shape != expected:
            raise InputError(
                f"orbit: expected {self.group.order} points for each of {len(samples)} samples under "
                f"{self.group.name}, shape {expected}; got {tuple(points.shape)}"
            )
        return points

    def at(self, which: slice | Tensor, elements: Sequence[int]) -> Float[Tensor, "b *sample"]:
        """The points of some orbits at some elements, in one row, orbit after orbit."""
        if list(elements) == [self.group.identity] and self.orbit is not None:
            return self.samples[which]  # nothing has to be made
        return self.whole(which)[:, list(elements)].flatten(0, 1)


def own_values(
    kernel: Callable[[Tensor, Tensor], Tensor], samples: Float[Tensor, "m *sample"]
) -> Float[Tensor, "m"]:
    """`k(x_s, x_s)` of every sample, by the kernel's own diagonal, in the dtype of its entries.

    Where two points coincide a kernel of pairs loses half its digits: a ReLU network's falls linearly in the
    angle between them, and an inner product known to 1e-16 gives the angle to 1e-8 only. A
    `symscope.kernels.Kernel` has a diagonal without that error; so has a plain function that passes the same
    tensor on to one.

    Args:
        kernel: Function from two batches of points to the entries of every pair, as in `kernel_profile`.
        samples: Points whose own values are asked for.

    >>> own_values(lambda a, b: a @ b.T, torch.tensor([[1.0, 2.0], [0.0, 3.0]])).tolist()
    [5.0, 9.0]
    """
    if isinstance(kernel, Kernel):
        # its entries are float64 whatever the samples are
        return kernel.diagonal(samples.double()).to(samples.device)
    side = min(OWN_SAMPLES, max(16, len(samples) // 16))  # squares that cost little beside the profile
    diagonals = [entries(kernel, part, part).diagonal() for part in samples.split(side)]
    return torch.cat(diagonals).to(samples.device)


def entries(
    kernel: Callable[[Tensor, Tensor], Tensor], x1: Float[Tensor, "a *sample"], x2: Float[Tensor, "b *sample"]
) -> Float[Tensor, "a b"]:
    """`k(x1_i, x2_j)`, after checking that there is one real entry for every pair."""
    result = kernel(x1, x2)
    if not isinstance(result, Tensor):
        raise InputError(f"kernel: expected a torch.Tensor of its entries, got {type(result).__name__}")
    if result.shape != (len(x1), len(x2)):
        raise InputError(
            f"kernel: expected one entry for every pair of {len(x1)} and {len(x2)} points, got shape "
            f"{tuple(result.shape)}"
        )
    if result.dtype not in (torch.float64, torch.float32):
        raise InputError(
            f"kernel: expected real entries in float64 or float32, got {result.dtype}; of a complex "
            "kernel whose imaginary part is zero return the real part"
        )
    return result


def check_samples(samples: Shaped[Tensor, "*shape"]) -> None:
    """Refuses what cannot be samples of orbits.

    Raises:
        InputError: No tensor, none, or numbers that are not real and finite.
    """
    if samples.ndim < 2:
        raise InputError(
            "samples: expected one sample of each orbit, [m, *sample] with at least one axis of features; "
            f"got shape {tuple(samples.shape)}"
        )
    if len(samples) == 0:
        raise InputError("expected one sample or more, got none")
    if not samples.is_floating_point():
        raise InputError(
            f"samples: expected floating-point numbers, got {samples.dtype}; use samples.double()"
        )
    if not bool(samples.isfinite().all()):
        raise InputError("samples: expected finite numbers")


def check_invariant_kernel(kernel: Callable[[Tensor, Tensor], Tensor], orbits: OrbitPoints) -> None:
    """Refuses a kernel that is not invariant: tries `k(g x, h y) = k(x, g^-1 h y)` on a few points.

    On samples that the group fixes every kernel is invariant, so those it moves most are tried. Orbits of
    another group, or in another order than its elements, fail too. Samples in single precision are tried in
    double, where the kernel and the orbits allow it: what is left then is no rounding.

    Raises:
        NotInvariantError: Entries differ.
        InputError: Entries that are not finite.

    >>> from symscope.groups import cyclic
    >>> orbits = OrbitPoints(torch.tensor([[[1.0, 2.0], [2.0, 1.0]]]), cyclic(2))
    >>> check_invariant_kernel(lambda a, b: a @ b.T, orbits)
    >>> check_invariant_kernel(lambda a, b: (a * torch.tensor([1.0, 3.0])) @ b.T, orbits)
    Traceback (most recent call last):
    ...
    symscope.spectral._kernel_entries.NotInvariantError: the kernel is not invariant under C2 (46.15% ...
    """
    chosen, group, dtype = orbits.choose(spot_samples(orbits)), orbits.group, orbits.samples.dtype
    generator = torch.Generator().manual_seed(0)
    elements = torch.randperm(group.order, generator=generator)[:SPOT_ELEMENTS].sort().values
    try:
        moved, plain = spot_entries(kernel, chosen.double(), elements)
    except Exception:
        if dtype == torch.float64:
            raise
        # made for single precision only: the errors of anything else come again
        moved, plain = spot_entries(kernel, chosen, elements)
    gap = (moved - plain).abs()
    if not bool(gap.isfinite().all()):
        raise InputError("kernel: expected finite entries, got NaN or infinity")
    scale = float(plain.abs().max())
    if bool((gap > scale * (allowed_gap(INVARIANT, dtype) + lost_precision(plain))).any()):
        place = int(gap.flatten().argmax())
        g, h = (group.labels[int(elements[k])] for k in divmod(place % len(elements) ** 2, len(elements)))
        raise NotInvariantError(
            f"the kernel is not invariant under {group.name} ({float(gap.max()) / scale:.2%} for g = {g}, "
            f"h = {h}): k(g x, h y) = {float(moved.flatten()[place]):.6g} but k(x, g^-1 h y) = "
            f"{float(plain.flatten()[place]):.6g}. Either the orbits are those of another group or not in "
            "the order of its elements, or the kernel changes under it; where both hold approximately, use "
            "coverage_regression, or projected_profile on the Gram matrix"
        )


def spot_samples(orbits: OrbitPoints) -> Int64[Tensor, "s"]:
    """Positions of the samples that the group moves most, by the sum of `|g x - x|^2` over its elements.

    >>> from symscope.groups import cyclic
    >>> x = torch.tensor([[1.0, 1.0], [1.0, 2.0], [0.0, 3.0], [2.0, 2.0]])
    >>> spot_samples(OrbitPoints(x, cyclic(2), lambda x: torch.stack([x, x.flip(-1)], 1)))
    tensor([1, 2])
    """
    count, device = len(orbits), orbits.samples.device
    if count <= SPOT_SAMPLES:
        return torch.arange(count, device=device)
    spread = torch.linspace(0, count - 1, min(count, CANDIDATES)).round().long().to(device)
    distances = []
    numbers = orbits.group.order * math.prod(orbits.point_shape)
    for part in spread.split(max(1, ORBIT_NUMBERS // numbers)):
        points = orbits.whole(part)
        own = points[:, orbits.group.identity, None]
        distances.append((points - own).flatten(1).norm(dim=1))
    return spread[torch.cat(distances).topk(SPOT_SAMPLES).indices].sort().values


def spot_entries(
    kernel: Callable[[Tensor, Tensor], Tensor], orbits: OrbitPoints, elements: Int64[Tensor, "k"]
) -> tuple[Float[Tensor, "s s k k"], Float[Tensor, "s s k k"]]:
    """`k(g x, h y)` and `k(x, g^-1 h y)` for some elements g and h."""
    points, group = orbits.whole(slice(None)), orbits.group
    there = points[:, elements.to(points.device)].flatten(0, 1)
    moved = entries(kernel, there, there.clone())  # not one tensor twice: all entries must round alike
    steps = group.table[group.inverses[elements]][:, elements].flatten().to(points.device)  # [g, h] -> g^-1 h
    plain = entries(kernel, points[:, group.identity], points[:, steps].flatten(0, 1))
    count, k = len(points), len(elements)
    return moved.reshape(count, k, count, k).transpose(1, 2), plain.reshape(count, count, k, k)


def invariance_subgroup(
    kernel: Callable[[Tensor, Tensor], Tensor], orbits: OrbitPoints
) -> Int64[Tensor, "h"]:
    """The elements under which a kernel is exactly invariant, `k(h p, h q) = k(p, q)`, tried on a few points.

    Images turned by splines lose a little at 45 degrees and nothing at 90: the kernel of a network on them is
    invariant under a subgroup, and a mean over the group needs one element of each coset only.

    Raises:
        InputError: Entries that are not finite.

    >>> from symscope.groups import cyclic
    >>> flips = OrbitPoints(torch.tensor([[[1.0, 2.0], [2.0, 1.0]]]), cyclic(2))
    >>> len(invariance_subgroup(lambda a, b: a @ b.T, flips))
    2
    >>> len(invariance_subgroup(lambda a, b: a[:, :1] @ b[:, :1].T, flips))
    1
    """
    group = orbits.group
    alone = torch.tensor([group.identity])
    try:
        check_invariant_kernel(kernel, orbits)
    except NotInvariantError:
        if group.order > SUBGROUP_ORDER:
            return alone
    else:
        return torch.arange(group.order)
    points = orbits.whole(spot_samples(orbits)).double()
    chosen = torch.randperm(group.order, generator=torch.Generator().manual_seed(1))[:SPOT_ELEMENTS]
    plain = _moved_entries(kernel, points, chosen)
    limit = float(plain.abs().max()) * allowed_gap(INVARIANT, orbits.samples.dtype)
    gaps = [
        float((_moved_entries(kernel, points, group.table[h, chosen]) - plain).abs().max())
        for h in group.elements
    ]
    subgroup = (torch.tensor(gaps) <= limit).nonzero()[:, 0]
    return subgroup if len(group.subgroup(subgroup)) == len(subgroup) else alone


def _moved_entries(
    kernel: Callable[[Tensor, Tensor], Tensor], points: Float[Tensor, "s n *p"], elements: Int64[Tensor, "k"]
) -> Float[Tensor, "b b"]:
    there = points[:, elements.to(points.device)].flatten(0, 1)
    return entries(kernel, there, there.clone())


def lost_precision(plain: Float[Tensor, "s s k k"]) -> Float[Tensor, "s s k k"]:
    """What entries in single precision may lose, relative; nothing in double, where `INVARIANT` holds.

    A kernel that falls linearly in the angle between two points loses `eps / angle`, and where they coincide
    or look alike the root of eps: `r^2 / max(1 - cosine, r)` with `r = ROOTS_OF_ROUNDING eps^1/2`.

    Args:
        plain: `k(x_s, g^-1 h x_t)`, of which g = h gives the samples themselves.
    """
    if plain.dtype == torch.float64:
        return torch.zeros_like(plain)
    limits = torch.finfo(plain.dtype)
    own = plain.diagonal()[0, 0].abs().sqrt()  # of k(x_s, x_s)
    size = (own[:, None] * own)[:, :, None, None].clamp_min(limits.tiny)
    coarse = ROOTS_OF_ROUNDING * limits.eps**0.5
    return coarse**2 / (1 - plain.abs() / size).clamp_min(coarse)


def coinciding_points(points: Float[Tensor, "a n *sample"], identity: int) -> Bool[Tensor, "a n"]:
    """Which points of its own orbit are the sample itself, but for the action's rounding.

    >>> coinciding_points(torch.tensor([[[1.0, 1.0], [1.0, 1.0000001], [1.0, -1.0]]]), 0).tolist()
    [[True, True, False]]
    """
    flat = points.flatten(2)
    own = flat[:, identity, None]
    near = ONE_POINT * torch.finfo(points.dtype).eps * own.norm(dim=2)
    return (flat - own).norm(dim=2) <= near
