"""Kernel profiles: what a kernel that respects a group is made of, `profile[s, t, d] = k(x_s, d x_t)`.

Over m orbits of a group G the Gram matrix is `K[(s, g), (t, h)] = kappa_st(g^-1 h)`: m^2 |G|
numbers instead of (m |G|)^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import FiniteGroup
from symscope.kernels import Kernel
from symscope.kernels.inputs import byte_count
from symscope.spectral.dense import allowed, check_gram, check_real

HERMITIAN = 1e-8  # relative to the largest entry: rounding stays far below, a wrong layout far above
ONE_POINT = 1024  # roundings, relative to the norm: nearer points are one, apart by an action's rounding only
LOOKS_ALIKE = 1e-7  # of k(x, x): points the kernel does not tell apart, or hardly
SPOT_SEEDS, SPOT_ELEMENTS = 2, 5  # on which a kernel is asked whether it respects the group
RESPECTS = 30  # roots of rounding, relative to the largest entry: what a kernel of coinciding points may lose
OWN_SEEDS = 256  # at most, whose values k(x, x) are taken from one square of a plain function


@final
@dataclass(frozen=True, eq=False)
class ProjectedProfile:
    """The profile nearest to a Gram matrix over orbits, and how near it is.

    Attributes:
        profile: `profile[s, t, d] = mean_g k(g x_s, g d x_t)`.
        departure: `|K - projected K| / |K|`, Frobenius: 0 when the kernel respects the action exactly.
    """

    profile: Float[Tensor, "m m n"]
    departure: float


def projected_profile(gram: Float[Tensor, "p p"], group: FiniteGroup) -> ProjectedProfile:
    """The group-projected profile of a Gram matrix over orbits, `kappa_st(d) = mean_g k(g x_s, g d x_t)`.

    The orthogonal projection on the matrices that respect the group: for actions that are only nearly one,
    such as rotations on a pixel grid.

    Args:
        gram: K over all points, orbit after orbit, elements in the group's order
            (`data.orbits(...).flat().points`).
        group: The group.

    Raises:
        InputError: Not a kernel matrix, or not over whole orbits.

    >>> from symscope.groups import cyclic
    >>> found = projected_profile(torch.tensor([[2.0, 1.0], [1.0, 4.0]], dtype=torch.float64), cyclic(2))
    >>> found.profile.tolist(), round(found.departure, 4)
    ([[[3.0, 1.0]]], 0.3015)
    """
    check_gram(gram)
    n = group.order
    if len(gram) % n:
        raise InputError(
            f"expected whole orbits of {group.name}, one after the other, a multiple of {n} points; got "
            f"{len(gram)}"
        )
    m = len(gram) // n
    cells = gram.unflatten(1, (m, n)).unflatten(0, (m, n))  # [s, g, t, h]
    table = group.table.to(gram.device)
    profile = gram.new_zeros(m, m, n)
    for g in group.elements:
        profile += cells[:, g][:, :, table[g]]
    profile /= n
    # K is its projection plus what is orthogonal to it
    whole, kept = float(gram.square().sum()), float(n * profile.square().sum())
    away = sum(
        float((cells[:, g] - profile[:, :, table[group.inverse(g)]]).square().sum()) for g in group.elements
    )
    return ProjectedProfile(profile, (away / max(whole, kept, 1e-300)) ** 0.5)


def profile_gram(profile: Float[Tensor, "m m n"], group: FiniteGroup) -> Float[Tensor, "p p"]:
    """The whole Gram matrix, orbit after orbit: `K[(s, g), (t, h)] = kappa_st(g^-1 h)`.

    Args:
        profile: The profile.
        group: The group.

    Raises:
        InputError: They do not match.

    >>> from symscope.groups import cyclic
    >>> profile_gram(torch.tensor([[[3.0, 1.0]]], dtype=torch.float64), cyclic(2)).tolist()
    [[3.0, 1.0], [1.0, 3.0]]
    """
    check_profile(profile, group)
    steps = group.table[group.inverses].to(profile.device)  # [g, h] -> g^-1 h
    return profile[:, :, steps].permute(0, 2, 1, 3).reshape(profile.shape[0] * group.order, -1)


def kernel_profile(
    kernel: Callable[[Tensor, Tensor], Tensor],
    orbit: Callable[[Tensor], Tensor],
    seeds: Float[Tensor, "m *sample"],
    group: FiniteGroup,
    *,
    memory: int | float | str = "2GB",
) -> Float[Tensor, "m m n"]:
    """The profile of a kernel, one block of seeds against one block of orbits at a time.

    Only `k(x_s, d x_t)` for s <= t is computed, m^2 |G| / 2 entries; the rest is
    `kappa_ts(d) = kappa_st(d^-1)`. The action must be exact, and the kernel must respect it; otherwise use
    `projected_profile`.

    Args:
        kernel: `(x1 [a, *sample], x2 [b, *sample]) -> [a, b]`; any `symscope.kernels.Kernel` is one. A plain
            function that is given one tensor twice should return an exact diagonal (see `own_values`).
        orbit: `x [a, *sample] -> [a, |G|, *sample]`; `action.act_all` of a `symscope.data.Action` is one.
        seeds: One point of each orbit.
        group: The group.
        memory: What one block's orbits and entries may take, in bytes or as text; the profile itself,
            8 m^2 |G| bytes, comes on top.

    Raises:
        InputError: No seeds, orbits of the wrong length, a kernel that does not respect the group (tried on a
            few points), or a budget too small for one seed.

    >>> from symscope.groups import cyclic
    >>> x = torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    >>> flips = lambda x: torch.stack([x, x.flip(-1)], dim=1)
    >>> kernel_profile(lambda a, b: a @ b.T, flips, x, cyclic(2)).tolist()
    [[[5.0, 4.0], [2.0, 1.0]], [[2.0, 1.0], [1.0, 0.0]]]
    """
    m, n = len(seeds), group.order
    side = seeds_at_once(seeds, group, memory)
    check_respected(kernel, orbit, seeds, group)
    profile = torch.empty(m, m, n, dtype=seeds.dtype, device=seeds.device)
    inverses = group.inverses.to(seeds.device)
    own, same = own_values(kernel, seeds), torch.zeros(m, n, dtype=torch.bool, device=seeds.device)
    for start in range(0, m, side):
        columns = slice(start, min(start + side, m))
        points = orbit_points(orbit, seeds[columns], group)
        same[columns] = coinciding(seeds[columns], points)
        for top in range(0, columns.stop, side):
            rows = slice(top, min(top + side, columns.stop))
            tile = entries(kernel, seeds[rows], points).unflatten(1, (-1, n))
            profile[rows, columns] = tile
            if rows.start < columns.start:
                profile[columns, rows] = tile[:, :, inverses].transpose(0, 1)
    # entries on diagonal blocks were computed twice: keep one rounding of each
    for start in range(0, m, side):
        block = profile[start : start + side, start : start + side]
        block.copy_((block + block.transpose(0, 1)[:, :, inverses]) / 2)
    settle(profile, own, same, 0)
    return profile


def own_values(
    kernel: Callable[[Tensor, Tensor], Tensor], seeds: Float[Tensor, "m *sample"]
) -> Float[Tensor, "m"]:
    """`k(x_s, x_s)` of every seed, by the kernel's own diagonal.

    Where two points coincide a kernel of pairs loses half its digits: a ReLU network's falls linearly in the
    angle between them, and an inner product known to 1e-16 gives the angle to 1e-8 only. A
    `symscope.kernels.Kernel` has a diagonal without that error; so has a plain function that passes the same
    tensor on to one.

    Args:
        kernel: As in `kernel_profile`.
        seeds: Points.

    >>> own_values(lambda a, b: a @ b.T, torch.tensor([[1.0, 2.0], [0.0, 3.0]])).tolist()
    [5.0, 9.0]
    """
    if isinstance(kernel, Kernel):
        return kernel.diagonal(seeds).to(seeds)
    side = min(OWN_SEEDS, max(1, len(seeds) // 16))  # squares that cost little beside the profile
    return torch.cat([entries(kernel, part, part).diagonal() for part in seeds.split(side)]).to(seeds)


def entries(
    kernel: Callable[[Tensor, Tensor], Tensor], x1: Float[Tensor, "a *sample"], x2: Float[Tensor, "b *sample"]
) -> Float[Tensor, "a b"]:
    """`k(x1_i, x2_j)`, after checking that there is one entry for every pair."""
    found = kernel(x1, x2)
    if found.shape != (len(x1), len(x2)):
        raise InputError(
            f"kernel: expected one entry for every pair of {len(x1)} and {len(x2)} points, got shape "
            f"{tuple(found.shape)}"
        )
    return found


def check_respected(
    kernel: Callable[[Tensor, Tensor], Tensor],
    orbit: Callable[[Tensor], Tensor],
    seeds: Float[Tensor, "m *sample"],
    group: FiniteGroup,
) -> None:
    """Refuses a kernel that does not respect the group: tries `k(g x, h y) = k(x, g^-1 h y)` on a few points.

    It also fails when the orbits are those of another group, or in another order than its elements.

    Raises:
        InputError: Numbers that are not finite, or entries that differ.

    >>> from symscope.groups import cyclic
    >>> flips, x = lambda x: torch.stack([x, x.flip(-1)], 1), torch.tensor([[1.0, 2.0]])
    >>> check_respected(lambda a, b: a @ b.T, flips, x, cyclic(2))
    >>> check_respected(lambda a, b: (a * torch.tensor([1.0, 3.0])) @ b.T, flips, x, cyclic(2))
    Traceback (most recent call last):
    ...
    symscope.errors.InputError: the kernel does not respect C2: ...
    """
    if not bool(seeds.isfinite().all()):
        raise InputError("seeds: expected finite numbers")
    n = group.order
    chosen = seeds[:: max(1, len(seeds) - 1)][:SPOT_SEEDS]
    generator = torch.Generator().manual_seed(0)
    elements = torch.randperm(n, generator=generator)[:SPOT_ELEMENTS].sort().values
    points = orbit_points(orbit, chosen, group).unflatten(0, (len(chosen), n))
    there = points[:, elements.to(seeds.device)].flatten(0, 1)
    moved = entries(kernel, there, there.clone())  # not one tensor twice: all entries must round alike
    steps = group.table[group.inverses[elements]][:, elements].flatten().to(seeds.device)  # [g, h] -> g^-1 h
    plain = entries(kernel, chosen, points[:, steps].flatten(0, 1))
    count, k = len(chosen), len(elements)
    moved = moved.reshape(count, k, count, k).transpose(1, 2)  # [s, t, g, h]
    gap = (moved - plain.reshape(count, count, k, k)).abs()
    if not bool(gap.isfinite().all()):
        raise InputError("kernel: expected finite entries, got NaN or infinity")
    scale = float(plain.abs().max())
    if not float(gap.max()) <= RESPECTS * torch.finfo(seeds.dtype).eps ** 0.5 * scale:
        worst = int(gap.flatten().argmax()) % k**2
        g, h = int(elements[worst // k]), int(elements[worst % k])
        raise InputError(
            f"the kernel does not respect {group.name}: k(g x, h y) and k(x, g^-1 h y) differ by "
            f"{float(gap.max()):.3g} of {scale:.3g}, for g = {g}, h = {h}. "
            "Either the orbits are those of another group or not in the order of its elements, or the kernel "
            "changes under it; where both hold approximately, use projected_profile on the Gram matrix"
        )


def coinciding(seeds: Float[Tensor, "a *sample"], points: Float[Tensor, "b *sample"]) -> Bool[Tensor, "a n"]:
    """Which points of its own orbit are the seed itself, but for the action's rounding.

    >>> coinciding(torch.ones(1, 2), torch.tensor([[1.0, 1.0000001], [1.0, -1.0]])).tolist()
    [[True, False]]
    """
    apart = points.unflatten(0, (len(seeds), -1)).flatten(2) - seeds.flatten(1)[:, None]
    near = ONE_POINT * torch.finfo(seeds.dtype).eps * seeds.flatten(1).norm(dim=1)
    return apart.norm(dim=2) <= near[:, None]


def settle(
    tile: Float[Tensor, "r c n"], own: Float[Tensor, "c"], same: Bool[Tensor, "c n"], ahead: int
) -> None:
    """Put `k(x, x)` where a seed meets itself, in place.

    Nothing is changed for a seed that the kernel hardly tells from another point of its orbit, as under the
    symmetry a network pools over: there all entries carry the same rounding and must go on to.

    Args:
        tile: `k(x_s, d x_t)`, rows s and columns t consecutive seeds.
        own: Of the columns.
        same: Of the columns, from `coinciding`.
        ahead: The first row's seed minus the first column's, not negative.

    >>> tile = torch.tensor([[[1.5 - 1e-9, 1.0]]]).double()
    >>> settle(tile, torch.tensor([1.5]).double(), torch.tensor([[True, False]]), 0)
    >>> tile.tolist()
    [[[1.5, 1.0]]]
    """
    count = min(tile.shape[0], tile.shape[1] - ahead)
    if count <= 0:
        return
    rows = torch.arange(count, device=tile.device)
    cells, own, same = tile[rows, rows + ahead], own[ahead : ahead + count], same[ahead : ahead + count]
    alike = (cells - own[:, None]).abs() <= LOOKS_ALIKE * own.abs()[:, None]
    alone = (same | ~alike).all(1, keepdim=True)
    tile[rows, rows + ahead] = torch.where(same & alone, own[:, None], cells)


def orbit_points(
    orbit: Callable[[Tensor], Tensor], seeds: Float[Tensor, "a *sample"], group: FiniteGroup
) -> Float[Tensor, "b *sample"]:
    """The points of some orbits in one row, after checking that `orbit` made whole ones."""
    points = orbit(seeds)
    if points.shape != (len(seeds), group.order, *seeds.shape[1:]):
        raise InputError(
            f"orbit: expected {group.order} points for each of {len(seeds)} seeds under {group.name}, shape "
            f"{(len(seeds), group.order, *seeds.shape[1:])}; got {tuple(points.shape)}"
        )
    return points.flatten(0, 1)


def seeds_at_once(seeds: Float[Tensor, "m *sample"], group: FiniteGroup, memory: int | float | str) -> int:
    """How many seeds' orbits, against as many seeds, a budget allows."""
    budget = byte_count(memory)
    if len(seeds) == 0:
        raise InputError("expected one seed or more, got none")
    each = 3.0 * seeds[0].numel() * group.order * seeds.element_size()
    square = 6.0 * group.order * seeds.element_size()  # the entries, and what a kernel needs to make them
    side = int(((each**2 + 4 * square * budget) ** 0.5 - each) / (2 * square))
    if side < 1:
        raise InputError(
            f"memory: one orbit of {group.order} points and its entries take {int(each + square)} bytes, "
            f"more than the {budget} allowed"
        )
    return min(side, len(seeds))


def check_profile(profile: Shaped[Tensor, "*shape"], group: FiniteGroup) -> None:
    """Refuses what is no kernel profile over the group.

    Raises:
        InputError: Not square, another group's length, not finite, or not Hermitian.
    """
    if profile.ndim != 3 or profile.shape[0] != profile.shape[1] or len(profile) < 1:
        raise InputError(
            f"a profile is [seeds, seeds, elements] over one seed or more, got {tuple(profile.shape)}"
        )
    check_real("a profile", profile)
    if profile.shape[2] != group.order:
        raise InputError(
            f"the profile has {profile.shape[2]} group elements on its last axis; {group.name} has "
            f"{group.order}: the group does not match"
        )
    if not bool(profile.isfinite().all()):
        raise InputError("the profile has entries that are not finite; look at the inputs of the kernel")
    scale = float(profile.abs().max())
    inverses = group.inverses.to(profile.device)
    # a seed at a time: the whole mirror image would double the memory
    gap = max(float((profile[s] - profile[:, s][:, inverses]).abs().max()) for s in range(len(profile)))
    if gap > allowed(HERMITIAN, profile.dtype) * scale:
        raise InputError(
            f"a profile is Hermitian, profile[t, s, d] = profile[s, t, d^-1]; this one is off by {gap:.3g} "
            f"(largest entry {scale:.3g}). If the action or the kernel's symmetry is only approximate, "
            "use projected_profile on the Gram matrix"
        )
