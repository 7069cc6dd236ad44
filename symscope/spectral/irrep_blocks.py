"""Fourier blocks of a profile: `K_hat(rho) = [sum_d kappa_st(d) rho(d)]_st`, one small matrix per irrep.

A kernel over whole orbits commutes with the group, so that a basis adapted to its irreps makes it block
diagonal; the block of an irrep of dimension d occurs d times (Serre, Linear Representations of Finite Groups,
sec. 2.6 and 2.7; Fässler and Stiefel, Group Theoretical Methods and Their Applications). For C_n this is
the discrete Fourier transform of a circulant matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import torch
from jaxtyping import Float, Int64, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import (
    FiniteGroup,
    Representation,
    check_finite_group,
    check_subgroup,
    conjugate_indices,
    irreps,
)
from symscope.numerics import byte_count, checked
from symscope.spectral._matrix_checks import allowed_gap
from symscope.spectral._profile import check_profile

__all__ = ["Frequency", "Quotient", "fourier_block", "fourier_blocks", "frequencies", "quotient"]

BILINEAR = 1e-8  # relative: how well a profile must be constant on double cosets of its stabilisers


@final
@dataclass(frozen=True, eq=False)
class Frequency:
    """One irrep, standing for its complex conjugate too if that is another one.

    Attributes:
        index: Position in `groups.irreps(group)`.
        irrep: The irrep itself.
        copies: 2 if it stands for a conjugate pair, otherwise 1.
        order: Number of elements of the group.
        is_real: Whether its matrices are real, and so its blocks.
    """

    index: int
    irrep: Representation
    copies: int
    order: int
    is_real: bool

    @property
    def name(self) -> str:
        """The irrep's name."""
        return self.irrep.name

    @property
    def dim(self) -> int:
        """Dimension d of the irrep."""
        return self.irrep.dim

    @property
    def matrices(self) -> Shaped[Tensor, "order d d"]:
        """Every rho(g); made when asked for where a formula gives them: all those of C4096 take 134 MB."""
        return self.irrep.matrices

    @property
    def weight(self) -> float:
        """`copies d^2 / |G|`: its share of a bump at one group element; all weights sum to 1."""
        return self.copies * self.dim**2 / self.order


@lru_cache(maxsize=32)  # equal groups have the same irreps in the same order
def frequencies(group: FiniteGroup) -> tuple[Frequency, ...]:
    """The irreps whose blocks determine a real profile; the trivial one first.

    A real profile has conjugate blocks at conjugate irreps, so one of each pair is enough: 33 of 64 for C64.

    >>> from symscope.groups import cyclic
    >>> [(f.name, f.copies) for f in frequencies(cyclic(4))]
    [('k=0', 1), ('k=1', 2), ('k=2', 1)]
    """
    identity, partner = check_finite_group(group).identity, conjugate_indices(group)
    return tuple(
        Frequency(i, rho, 1 if partner[i] == i else 2, group.order, not rho(identity).is_complex())
        for i, rho in enumerate(irreps(group))
        if i <= partner[i]
    )


@checked
def fourier_blocks(
    profile: Float[Tensor, "m m n"], group: FiniteGroup, *, memory: int | float | str = "2GB"
) -> Iterator[tuple[Frequency, Shaped[Tensor, "k k"]]]:
    """The blocks one at a time, `k = m d`, real symmetric where the irrep is real, otherwise Hermitian.

    In the group's Fourier basis the Gram matrix over all orbits is block-diagonal; the block of an irrep of
    dimension d occurs d times. Products of cyclic groups use one real FFT where it fits the budget.

    Args:
        profile: The profile.
        group: The group.
        memory: What a transform of the whole profile may take; one block at a time is computed beyond that.

    Raises:
        InputError: A profile that is not one.

    >>> from symscope.groups import cyclic
    >>> profile = torch.tensor([[[3.0, 1.0]]], dtype=torch.float64)
    >>> [(f.name, block.item()) for f, block in fourier_blocks(profile, cyclic(2))]
    [('k=0', 4.0), ('k=1', 2.0)]
    """
    check_profile(profile, group)
    return checked_blocks(profile, group, byte_count(memory))


def checked_blocks(
    profile: Float[Tensor, "m m n"], group: FiniteGroup, budget: int
) -> Iterator[tuple[Frequency, Shaped[Tensor, "k k"]]]:
    """The blocks of a profile that is known to be one."""
    whole = 2 * profile.numel() * profile.element_size()
    if group.cyclic_factors is not None and whole <= budget:
        yield from _fft_blocks(profile, group)
        return
    for frequency in frequencies(group):
        yield frequency, fourier_block(profile, frequency)


@checked
def fourier_block(profile: Float[Tensor, "s t n"], frequency: Frequency) -> Shaped[Tensor, "k l"]:
    """`[sum_d kappa_st(d) rho(d)]_st` for one irrep, by its definition.

    Args:
        profile: A profile, or some rows and columns of one.
        frequency: The irrep.

    >>> from symscope.groups import cyclic
    >>> fourier_block(torch.tensor([[[3.0, 1.0]]], dtype=torch.float64), frequencies(cyclic(2))[1])
    tensor([[2.]], dtype=torch.float64)
    """
    matrices = frequency.matrices.flatten(1).to(profile.device)
    d = frequency.dim
    if frequency.is_real:
        cells = profile @ matrices.to(profile.dtype)
    else:  # two real products: a complex copy of the profile would double it
        cells = torch.complex(
            profile @ matrices.real.to(profile.dtype), profile @ matrices.imag.to(profile.dtype)
        )
    return cells.unflatten(-1, (d, d)).permute(0, 2, 1, 3).reshape(profile.shape[0] * d, -1)


def _fft_blocks(
    profile: Float[Tensor, "m m n"], group: FiniteGroup
) -> Iterator[tuple[Frequency, Shaped[Tensor, "m m"]]]:
    factors = group.cyclic_factors
    assert factors is not None
    axes = tuple(range(-len(factors), 0))
    half = torch.fft.rfftn(profile.unflatten(-1, factors), dim=axes)
    for frequency in frequencies(group):
        where, rest = [0] * len(factors), frequency.index
        for axis in reversed(range(len(factors))):
            rest, where[axis] = divmod(rest, factors[axis])
        mirrored = where[-1] > factors[-1] // 2
        if mirrored:  # the other of the pair is stored
            where = [-k % n for k, n in zip(where, factors, strict=True)]
        block = half[(slice(None), slice(None), *where)]
        block = block.conj().resolve_conj() if mirrored else block
        yield frequency, block.real.contiguous() if frequency.is_real else block.contiguous()


@checked
@final
@dataclass(frozen=True, eq=False)
class Quotient:
    """The different points of orbits whose samples may be fixed by some elements.

    Attributes:
        stabiliser_orders: Order of each sample's stabiliser.
        representative: `representative[s, g]` is the smallest element that gives the point g x_s.
        stabilisers: The stabilisers themselves.
    """

    stabiliser_orders: Int64[Tensor, "m"]
    representative: Int64[Tensor, "m n"]
    stabilisers: tuple[Int64[Tensor, "_"], ...]

    @property
    def is_free(self) -> bool:
        """Whether all points are different."""
        return bool((self.stabiliser_orders == 1).all())

    def fixed_vectors(self, frequency: Frequency) -> Shaped[Tensor, "m d d"]:
        """For each sample, as columns, what its stabiliser fixes: orthonormal, over the root of its order.

        There are fewer than d where more than the identity fixes the sample; the other columns are zero.

        >>> from symscope.groups import cyclic
        >>> points = quotient(cyclic(4), [torch.tensor([0, 2]), torch.tensor([0])], 2)
        >>> [points.fixed_vectors(f).abs().flatten().tolist() for f in frequencies(cyclic(4))[:2]]
        [[0.7071067811865475, 1.0], [0.0, 1.0]]
        """
        known: dict[tuple[int, ...], Tensor] = {}
        every = []
        for stabiliser in self.stabilisers:
            key = tuple(stabiliser.tolist())
            if key not in known:
                known[key] = _fixed_vectors(frequency, stabiliser)
            every.append(known[key])
        return torch.stack(every)


def _fixed_vectors(frequency: Frequency, stabiliser: Int64[Tensor, "h"]) -> Shaped[Tensor, "d d"]:
    if len(stabiliser) == 1:
        return torch.eye(frequency.dim, dtype=frequency.matrices.dtype)
    # Frobenius reciprocity: rho occurs on G/H as often as it has vectors that H fixes (Serre, sec. 7.2)
    mean = frequency.matrices[stabiliser].mean(0)  # the projector on what it fixes
    values, vectors = torch.linalg.eigh((mean + mean.mH) / 2)
    return vectors * (values > 0.5) / len(stabiliser) ** 0.5


@checked
def quotient(group: FiniteGroup, stabilisers: Sequence[Tensor] | None, samples: int) -> Quotient:
    """The points of m orbits, with the repetitions that stabilisers make.

    Args:
        group: The group.
        stabilisers: Elements that fix each sample (`data.orbits(...).stabilisers`); None if only
            the identity does.
        samples: Number m of samples.

    Raises:
        InputError: Not one for each sample, or one that is no subgroup.

    >>> from symscope.groups import cyclic
    >>> quotient(cyclic(4), [torch.tensor([0, 2])], 1).representative.tolist()
    [[0, 1, 0, 1]]
    """
    if stabilisers is None:
        every = torch.arange(group.order).expand(samples, -1)
        return Quotient(torch.ones(samples, dtype=torch.int64), every, (torch.zeros(1).long(),) * samples)
    if len(stabilisers) != samples:
        raise InputError(f"stabilisers: expected one for each of {samples} samples, got {len(stabilisers)}")
    checked = tuple(check_subgroup(group, one) for one in stabilisers)
    orders = torch.tensor([len(one) for one in checked])
    smallest = torch.stack([group.table[:, one].min(1).values for one in checked])
    return Quotient(orders, smallest, checked)


def check_stabilisers(profile: Float[Tensor, "m m n"], group: FiniteGroup, points: Quotient) -> None:
    """Refuses stabilisers the profile contradicts: `kappa_st(d h) = kappa_st(d)` where h fixes x_t."""
    scale = float(profile.abs().max())
    for t, stabiliser in enumerate(points.stabilisers):
        for h in stabiliser[stabiliser != group.identity].tolist():
            gap = float((profile[:, t][:, group.table[:, h].to(profile.device)] - profile[:, t]).abs().max())
            if gap > allowed_gap(BILINEAR, profile.dtype) * scale:
                raise InputError(
                    f"stabilisers: {group.labels[h]} x_{t} and x_{t} differ in the profile by {gap:.3g}: "
                    f"{group.labels[h]} does not fix sample {t}"
                )
