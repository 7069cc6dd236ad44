"""A kernel's entries on orbits, and the checks before: samples, whole orbits, a kernel that is invariant."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import FiniteGroup
from symscope.kernels import Kernel
from symscope.spectral._matrix_checks import allowed_gap, check_tensor

ONE_POINT = 1024  # roundings, relative to the norm: nearer points are one, apart by an action's rounding only
SPOT_SAMPLES, SPOT_ELEMENTS = 2, 5  # on which a kernel is asked whether it is invariant under the group
CANDIDATES = 256  # samples, spread over all, among which those that move most are looked for
ROOTS_OF_ROUNDING = 30  # relative to the largest entry: what a kernel of coinciding points may lose
INVARIANT = 4.5e-7  # relative to the largest entry: those 30 roots in float64
ORBIT_NUMBERS = 2**22  # numbers of the orbits that are held at once while looking for them
OWN_SAMPLES = 256  # at most, whose values k(x, x) are taken from one square of a plain function


class NotInvariantError(InputError):
    """A kernel that is not exactly invariant under the group, or an action that is not exact."""


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
    side = min(OWN_SAMPLES, max(1, len(samples) // 16))  # squares that cost little beside the profile
    diagonals = [entries(kernel, part, part).diagonal() for part in samples.split(side)]
    return torch.cat(diagonals).to(samples.device)


def entries(
    kernel: Callable[[Tensor, Tensor], Tensor], x1: Float[Tensor, "a *sample"], x2: Float[Tensor, "b *sample"]
) -> Float[Tensor, "a b"]:
    """`k(x1_i, x2_j)`, after checking that there is one real entry for every pair."""
    result = kernel(x1, x2)
    check_tensor("kernel", result)
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


def whole_orbits(
    orbit: Callable[[Tensor], Tensor], samples: Float[Tensor, "a *sample"], group: FiniteGroup
) -> Float[Tensor, "b *sample"]:
    """The points of some orbits in one row, after checking that `orbit` made whole ones."""
    points = orbit(samples)
    if points.shape != (len(samples), group.order, *samples.shape[1:]):
        raise InputError(
            f"orbit: expected {group.order} points for each of {len(samples)} samples under {group.name}, "
            f"shape {(len(samples), group.order, *samples.shape[1:])}; got {tuple(points.shape)}"
        )
    return points.flatten(0, 1)


def check_samples(samples: Shaped[Tensor, "*shape"]) -> None:
    """Refuses what cannot be samples of orbits.

    Raises:
        InputError: No tensor, none, or numbers that are not real and finite.
    """
    check_tensor("samples", samples)
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


def check_invariant_kernel(
    kernel: Callable[[Tensor, Tensor], Tensor],
    orbit: Callable[[Tensor], Tensor],
    samples: Float[Tensor, "m *sample"],
    group: FiniteGroup,
) -> None:
    """Refuses a kernel that is not invariant: tries `k(g x, h y) = k(x, g^-1 h y)` on a few points.

    On samples that the group fixes every kernel is invariant, so those it moves most are tried. Orbits of
    another group, or in another order than its elements, fail too. Samples in single precision are tried in
    double, where the kernel and the orbits allow it: what is left then is no rounding.

    Raises:
        NotInvariantError: Entries differ.
        InputError: Entries that are not finite.

    >>> from symscope.groups import cyclic
    >>> flips, x = lambda x: torch.stack([x, x.flip(-1)], 1), torch.tensor([[1.0, 2.0]])
    >>> check_invariant_kernel(lambda a, b: a @ b.T, flips, x, cyclic(2))
    >>> check_invariant_kernel(lambda a, b: (a * torch.tensor([1.0, 3.0])) @ b.T, flips, x, cyclic(2))
    Traceback (most recent call last):
    ...
    symscope.spectral._kernel_entries.NotInvariantError: the kernel is not invariant under C2 (46.15% ...
    """
    chosen = samples[spot_samples(orbit, samples, group)]
    generator = torch.Generator().manual_seed(0)
    elements = torch.randperm(group.order, generator=generator)[:SPOT_ELEMENTS].sort().values
    try:
        moved, plain = spot_entries(kernel, orbit, chosen.double(), group, elements)
    except Exception:
        if samples.dtype == torch.float64:
            raise
        # made for single precision only: the errors of anything else come again
        moved, plain = spot_entries(kernel, orbit, chosen, group, elements)
    gap = (moved - plain).abs()
    if not bool(gap.isfinite().all()):
        raise InputError("kernel: expected finite entries, got NaN or infinity")
    scale = float(plain.abs().max())
    if bool((gap > scale * (allowed_gap(INVARIANT, samples.dtype) + lost_precision(plain))).any()):
        place = int(gap.flatten().argmax())
        g, h = (group.labels[int(elements[k])] for k in divmod(place % len(elements) ** 2, len(elements)))
        raise NotInvariantError(
            f"the kernel is not invariant under {group.name} ({float(gap.max()) / scale:.2%} for g = {g}, "
            f"h = {h}): k(g x, h y) = {float(moved.flatten()[place]):.6g} but k(x, g^-1 h y) = "
            f"{float(plain.flatten()[place]):.6g}. Either the orbits are those of another group or not in "
            "the order of its elements, or the kernel changes under it; where both hold approximately, use "
            "projected_profile on the Gram matrix"
        )


def spot_samples(
    orbit: Callable[[Tensor], Tensor], samples: Float[Tensor, "m *sample"], group: FiniteGroup
) -> Int64[Tensor, "s"]:
    """Positions of the samples that the group moves most, by the sum of `|g x - x|^2` over its elements.

    >>> from symscope.groups import cyclic
    >>> x = torch.tensor([[1.0, 1.0], [1.0, 2.0], [0.0, 3.0], [2.0, 2.0]])
    >>> spot_samples(lambda x: torch.stack([x, x.flip(-1)], 1), x, cyclic(2))
    tensor([1, 2])
    """
    if len(samples) <= SPOT_SAMPLES:
        return torch.arange(len(samples), device=samples.device)
    spread = torch.linspace(0, len(samples) - 1, min(len(samples), CANDIDATES)).round().long()
    spread = spread.to(samples.device)
    distances = []
    for part in spread.split(max(1, ORBIT_NUMBERS // (group.order * samples[0].numel()))):
        points = whole_orbits(orbit, samples[part], group).unflatten(0, (len(part), group.order))
        distances.append((points - samples[part][:, None]).flatten(1).norm(dim=1))
    return spread[torch.cat(distances).topk(SPOT_SAMPLES).indices].sort().values


def spot_entries(
    kernel: Callable[[Tensor, Tensor], Tensor],
    orbit: Callable[[Tensor], Tensor],
    samples: Float[Tensor, "s *sample"],
    group: FiniteGroup,
    elements: Int64[Tensor, "k"],
) -> tuple[Float[Tensor, "s s k k"], Float[Tensor, "s s k k"]]:
    """`k(g x, h y)` and `k(x, g^-1 h y)` for some elements g and h."""
    points = whole_orbits(orbit, samples, group).unflatten(0, (len(samples), group.order))
    there = points[:, elements.to(samples.device)].flatten(0, 1)
    moved = entries(kernel, there, there.clone())  # not one tensor twice: all entries must round alike
    steps = (
        group.table[group.inverses[elements]][:, elements].flatten().to(samples.device)
    )  # [g, h] -> g^-1 h
    plain = entries(kernel, samples, points[:, steps].flatten(0, 1))
    count, k = len(samples), len(elements)
    return moved.reshape(count, k, count, k).transpose(1, 2), plain.reshape(count, count, k, k)


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


def coinciding_points(
    samples: Float[Tensor, "a *sample"], points: Float[Tensor, "b *sample"]
) -> Bool[Tensor, "a n"]:
    """Which points of its own orbit are the sample itself, but for the action's rounding.

    >>> coinciding_points(torch.ones(1, 2), torch.tensor([[1.0, 1.0000001], [1.0, -1.0]])).tolist()
    [[True, False]]
    """
    apart = points.unflatten(0, (len(samples), -1)).flatten(2) - samples.flatten(1)[:, None]
    near = ONE_POINT * torch.finfo(samples.dtype).eps * samples.flatten(1).norm(dim=1)
    return apart.norm(dim=2) <= near[:, None]
