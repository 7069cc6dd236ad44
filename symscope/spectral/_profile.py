"""Kernel profiles: what an invariant kernel is made of, `profile[s, t, d] = k(x_s, d x_t)`.

Over m orbits of a group G the Gram matrix is `K[(s, g), (t, h)] = kappa_st(g^-1 h)`: m^2 |G|
numbers instead of (m |G|)^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import FiniteGroup, check_finite_group
from symscope.numerics import Progress, byte_count, checked
from symscope.spectral._kernel_entries import (
    OrbitPoints,
    check_invariant_kernel,
    check_samples,
    coinciding_points,
    entries,
    own_values,
)
from symscope.spectral._matrix_checks import allowed_gap, check_gram, check_real

HERMITIAN = 1e-8  # relative to the largest entry: rounding stays far below, a wrong layout far above
LOOKS_ALIKE = 1e-7  # of k(x, x): points the kernel does not tell apart, or hardly


@final
@dataclass(frozen=True, eq=False)
class ProjectedProfile:
    """The profile nearest to a Gram matrix over orbits, and how near it is.

    Attributes:
        profile: `profile[s, t, d] = mean_g k(g x_s, g d x_t)`.
        invariance_error: `|K - projected K| / |K|`, Frobenius: 0 when the kernel is exactly invariant.
    """

    profile: Float[Tensor, "m m n"]
    invariance_error: float


@checked
def projected_profile(
    gram: Float[Tensor, "p p"],
    group: FiniteGroup,
    stabilisers: Sequence[Int64[Tensor, "_"]] | None = None,
) -> ProjectedProfile:
    """The group-projected profile of a Gram matrix over orbits, `kappa_st(d) = mean_g k(g x_s, g d x_t)`.

    The orthogonal projection on the invariant matrices: for actions that are only nearly one,
    such as rotations on a pixel grid.

    Args:
        gram: K over all points, orbit after orbit, elements in the group's order
            (`data.orbits(...).flat().points`).
        group: The group.
        stabilisers: Elements that fix each sample, `data.orbits(...).stabilisers`, whose points get one value
            each: a kernel of pairs loses half its digits where points coincide. None when only the identity
            does.

    Raises:
        InputError: Not a kernel matrix, not over whole orbits, or not one stabiliser for each orbit.

    >>> from symscope.groups import cyclic
    >>> result = projected_profile(torch.tensor([[2.0, 1.0], [1.0, 4.0]], dtype=torch.float64), cyclic(2))
    >>> result.profile.tolist(), round(result.invariance_error, 4)
    ([[[3.0, 1.0]]], 0.3015)
    """
    check_gram(gram)
    n = check_finite_group(group).order
    if len(gram) % n:
        raise InputError(
            f"expected whole orbits of {group.name}, one after the other, a multiple of {n} points; got "
            f"{len(gram)}"
        )
    m = len(gram) // n
    cells = gram.unflatten(1, (m, n)).unflatten(0, (m, n))  # [s, g, t, h]
    table = group.table.to(gram.device)
    profile = gram.new_zeros(m, m, n)
    # a power of two near the largest entry: the squares of very large and small entries would be lost
    unit = max(math.ldexp(0.5, math.frexp(float(gram.abs().max()))[1]), torch.finfo(gram.dtype).tiny)
    for g in group.elements:
        profile += cells[:, g][:, :, table[g]] / unit
    profile /= n
    whole = away = 0.0
    for g in group.elements:
        rows = cells[:, g] / unit
        whole += float(rows.square().sum(dtype=torch.float64))
        rows -= profile[:, :, table[group.inverse(g)]]
        away += float(rows.square().sum(dtype=torch.float64))
    profile *= unit
    if stabilisers is not None:
        if len(stabilisers) != m:
            raise InputError(f"stabilisers: expected one for each of {m} orbits, got {len(stabilisers)}")
        same = torch.zeros(m, n, dtype=torch.bool)
        for s, elements in enumerate(stabilisers):
            same[s, elements] = True
        unite_coinciding(profile, same, group)
    return ProjectedProfile(profile, (away / whole) ** 0.5 if whole else 0.0)


@checked
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


@checked
def kernel_profile(
    kernel: Callable[[Tensor, Tensor], Tensor],
    orbit: Callable[[Tensor], Tensor],
    samples: Shaped[Tensor, "*shape"],
    group: FiniteGroup,
    *,
    memory: int | float | str = "2GB",
    progress: Progress | None = None,
) -> Float[Tensor, "m m n"]:
    """The profile of a kernel, one block of samples against one block of orbits at a time.

    Only `k(x_s, d x_t)` for s <= t is computed, m^2 |G| / 2 entries; the rest is `kappa_ts(d) =
    kappa_st(d^-1)`. The action must be exact, and the kernel must be invariant under it; otherwise use
    `projected_profile`.

    Args:
        kernel: `(x1 [a, *sample], x2 [b, *sample]) -> [a, b]`; any `symscope.kernels.Kernel` is one. A plain
            function that is given one tensor twice should return an exact diagonal (see `own_values`).
        orbit: `x [a, *sample] -> [a, |G|, *sample]`; `action.act_all` of a `symscope.data.Action` is one.
        samples: One sample of each orbit, `[m, *sample]`, floating point.
        group: The group.
        memory: What one block's orbits and entries may take, in bytes or as text; the profile itself,
            8 m^2 |G| bytes, comes on top.
        progress: Called as `progress("kernel", entries computed, entries in all)`.

    Returns:
        The profile, in the dtype of the kernel's entries: float64 for every `symscope.kernels.Kernel`.

    Raises:
        InputError: No samples, orbits of the wrong length, a kernel that is not real or not invariant under
            the group (tried on a few points), or a budget too small for one sample.

    >>> from symscope.groups import cyclic
    >>> x = torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    >>> flips = lambda x: torch.stack([x, x.flip(-1)], dim=1)
    >>> kernel_profile(lambda a, b: a @ b.T, flips, x, cyclic(2)).tolist()
    [[[5.0, 4.0], [2.0, 1.0]], [[2.0, 1.0], [1.0, 0.0]]]
    """
    check_samples(samples)
    m, n = len(samples), check_finite_group(group).order
    side = samples_at_once(samples, group, memory)
    orbits = OrbitPoints(samples, group, orbit)
    check_invariant_kernel(kernel, orbits)
    own, same = own_values(kernel, samples), torch.zeros(m, n, dtype=torch.bool, device=samples.device)
    profile = torch.empty(m, m, n, dtype=own.dtype, device=samples.device)
    inverses = group.inverses.to(samples.device)
    corners = range(0, m, side)
    done, whole = 0, n * sum((min(start + side, m) - start) * min(start + side, m) for start in corners)
    for start in corners:
        columns = slice(start, min(start + side, m))
        points = orbits.whole(columns)
        same[columns] = coinciding_points(points, group.identity)
        for top in range(0, columns.stop, side):
            rows = slice(top, min(top + side, columns.stop))
            tile = entries(kernel, samples[rows], points.flatten(0, 1)).unflatten(1, (-1, n))
            profile[rows, columns] = tile
            if rows.start < columns.start:
                profile[columns, rows] = tile[:, :, inverses].transpose(0, 1)
            done += tile.numel()
            if progress is not None:
                progress("kernel", done, whole)
    # entries on diagonal blocks were computed twice: keep one rounding of each
    for start in corners:
        block = profile[start : start + side, start : start + side]
        block.copy_((block + block.transpose(0, 1)[:, :, inverses]) / 2)
    unite_coinciding(profile, same, group)
    write_own_values(profile, own, same, 0)
    return profile


@checked
def unite_coinciding(profile: Float[Tensor, "m m n"], same: Bool[Tensor, "m n"], group: FiniteGroup) -> None:
    """Give the points of an orbit that coincide one value, `kappa_st(d h) = kappa_st(d)`, in place.

    Only an action's rounding tells them apart.

    Args:
        profile: The profile.
        same: Mask of the elements that fix each sample, from `coinciding_points`.
        group: The group.

    >>> from symscope.groups import cyclic
    >>> profile = torch.tensor([[[2.0, 1.0, 1.5, 1.0]]])
    >>> unite_coinciding(profile, torch.tensor([[True, False, True, False]]), cyclic(4))
    >>> profile.tolist()
    [[[1.75, 1.0, 1.75, 1.0]]]
    """
    for t in (same.sum(1) > 1).nonzero()[:, 0].tolist():
        kept = same[t].nonzero()[:, 0].cpu()
        if len(group.subgroup(kept)) > len(kept):
            continue  # the action is only nearly one there
        after, before = group.table[:, kept].to(profile.device), group.table[kept].to(profile.device)
        column = profile[:, t][:, after].mean(2)  # over d h
        column[t] = column[t][before].mean(0)  # and over h d, where the sample meets itself
        profile[:, t], profile[t] = column, column[:, group.inverses.to(profile.device)]


def write_own_values(
    tile: Float[Tensor, "r c n"], own: Float[Tensor, "c"], same: Bool[Tensor, "c n"], offset: int
) -> None:
    """Put `k(x, x)` where a sample meets itself, in place.

    Nothing is changed for a sample that the kernel hardly tells from another point of its orbit, as under the
    symmetry a network pools over: there all entries carry the same rounding and must go on to.

    Args:
        tile: `k(x_s, d x_t)`, rows s and columns t consecutive samples.
        own: Values `k(x, x)` of the columns' samples.
        same: Mask of the elements that fix the columns' samples, from `coinciding_points`.
        offset: Position of the first row's sample minus that of the first column's, not negative.

    >>> tile = torch.tensor([[[1.5 - 1e-9, 1.0]]]).double()
    >>> write_own_values(tile, torch.tensor([1.5]).double(), torch.tensor([[True, False]]), 0)
    >>> tile.tolist()
    [[[1.5, 1.0]]]
    """
    count = min(tile.shape[0], tile.shape[1] - offset)
    if count <= 0:
        return
    rows = torch.arange(count, device=tile.device)
    cells, own, same = tile[rows, rows + offset], own[offset : offset + count], same[offset : offset + count]
    alike = (cells - own[:, None]).abs() <= LOOKS_ALIKE * own.abs()[:, None]
    alone = (same | ~alike).all(1, keepdim=True)
    tile[rows, rows + offset] = torch.where(same & alone, own[:, None], cells)


def samples_at_once(
    samples: Float[Tensor, "m *sample"], group: FiniteGroup, memory: int | float | str
) -> int:
    """How many samples' orbits, against as many samples, a budget allows."""
    budget = byte_count(memory)
    each = 3.0 * samples[0].numel() * group.order * samples.element_size()
    square = 6.0 * group.order * 8  # the entries, and what a kernel needs to make them
    side = int(((each**2 + 4 * square * budget) ** 0.5 - each) / (2 * square))
    if side < 1:
        raise InputError(
            f"memory: one orbit of {group.order} points and its entries take {int(each + square)} bytes, "
            f"more than the {budget} allowed"
        )
    return min(side, len(samples))


def check_profile(profile: Shaped[Tensor, "*shape"], group: FiniteGroup) -> None:
    """Refuses what is no kernel profile over the group.

    Raises:
        InputError: Not square, another group's length, not finite, or not Hermitian.
    """
    if profile.ndim != 3 or profile.shape[0] != profile.shape[1] or len(profile) < 1:
        raise InputError(
            f"a profile is [samples, samples, elements] over one sample or more, got {tuple(profile.shape)}"
        )
    check_real("a profile", profile)
    check_finite_group(group)
    if profile.shape[2] != group.order:
        raise InputError(
            f"the profile has {profile.shape[2]} group elements on its last axis; {group.name} has "
            f"{group.order}: the group does not match"
        )
    if not bool(profile.isfinite().all()):
        raise InputError("the profile has entries that are not finite; look at the inputs of the kernel")
    scale = float(profile.abs().max())
    inverses = group.inverses.to(profile.device)
    # a sample at a time: the whole mirror image would double the memory
    gap = max(float((profile[s] - profile[:, s][:, inverses]).abs().max()) for s in range(len(profile)))
    if gap > allowed_gap(HERMITIAN, profile.dtype) * scale:
        raise InputError(
            f"a profile is Hermitian, profile[t, s, d] = profile[s, t, d^-1]; this one is off by {gap:.3g} "
            f"(largest entry {scale:.3g}). If the action or the kernel's symmetry is only approximate, "
            "use projected_profile on the Gram matrix"
        )
