"""Irreps known beforehand: of products of cyclic groups, of dihedral groups, and of direct products.

None stores its matrices: those of all irreps of C4096 together take 268 MB.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from jaxtyping import Float64, Int64, Shaped
from torch import Tensor

from symscope.groups._finite_group import FiniteGroup, check_finite_group
from symscope.groups._representation import Representation


@final
@dataclass(frozen=True, eq=False)
class Character:
    """One character of a product of cyclic groups: `chi(g) = exp(-2 pi i sum_j k_j g_j / n_j)`.

    With N the least common multiple of the n_j every value is an N-th root of unity; which one is counted in
    whole numbers, which keeps the phase of large groups accurate.

    Attributes:
        roots: `exp(-2 pi i m / N)` for m = 0 .. N - 1; only their real parts where chi is real.
        steps: `steps[g, j] = g_j N / n_j`.
        k: The frequencies k_j.
    """

    roots: Shaped[Tensor, "N"]
    steps: Int64[Tensor, "order factors"]
    k: tuple[int, ...]

    def matrices(self) -> Shaped[Tensor, "order 1 1"]:
        """The values at all elements, as 1 x 1 matrices."""
        return self.roots[self.steps @ torch.tensor(self.k) % len(self.roots), None, None]

    def act(self, g: int, x: Tensor) -> Tensor:
        """chi(g) x."""
        value = self.roots[self.steps[g] @ torch.tensor(self.k) % len(self.roots)]
        dtype = torch.promote_types(x.dtype, torch.complex64) if value.is_complex() else x.dtype
        return x.to(dtype) * value.to(dtype=dtype, device=x.device)


def cyclic_irreps(group: FiniteGroup, sizes: tuple[int, ...]) -> tuple[Representation, ...]:
    """Every character of a product of cyclic groups, in the order and with the sign of the FFT.

    >>> from symscope.groups import cyclic
    >>> cyclic_irreps(cyclic(3), (3,))
    (k=0 of C3, k=1 of C3, k=2 of C3)
    """
    exponent = math.lcm(*sizes)
    turns = torch.arange(exponent, dtype=torch.float64) / exponent
    roots = torch.polar(torch.ones_like(turns), -2 * math.pi * turns)
    real_roots = roots.real.contiguous()
    elements = torch.cartesian_prod(*(torch.arange(n) for n in sizes)).reshape(-1, len(sizes))
    steps = elements * torch.tensor([exponent // n for n in sizes])
    result = []
    for k in itertools.product(*(range(n) for n in sizes)):
        is_real = all(2 * ki % n == 0 for ki, n in zip(k, sizes, strict=True))
        chi = Character(real_roots if is_real else roots, steps, k)
        name = f"k={k[0]}" if len(k) == 1 else f"k={k}"
        result.append(Representation(group, 1, name, chi.act, listing=chi.matrices))
    return tuple(result)


@final
@dataclass(frozen=True, eq=False)
class PlaneIrrep:
    """One irrep of D_n on the plane: r turns it by `2 pi k / n`, s mirrors the second axis.

    Attributes:
        turns: `turns[m]` is the turn by `2 pi m / n`.
        k: How many times as fast the plane turns, `0 < 2k < n`.
    """

    turns: Float64[Tensor, "n 2 2"]
    k: int

    def matrices(self) -> Float64[Tensor, "order 2 2"]:
        """All turns, then all turns after the mirror."""
        rotations = self.turns[self.k * torch.arange(len(self.turns)) % len(self.turns)]
        return torch.cat([rotations, rotations * torch.tensor([1.0, -1.0], dtype=torch.float64)])

    def act(self, g: int, x: Tensor) -> Tensor:
        """rho(g) x."""
        mirror, power = divmod(int(g), len(self.turns))
        matrix = self.turns[self.k * power % len(self.turns)].to(dtype=x.dtype, device=x.device)
        return (x * torch.tensor([1.0, -1.0]).to(x) if mirror else x) @ matrix.T


def dihedral_irreps(group: FiniteGroup, n: int) -> tuple[Representation, ...]:
    """Every irrep of D_n, real, as `irreps` orders and names them: those on lines, then those on planes.

    >>> from symscope.groups import dihedral
    >>> dihedral_irreps(dihedral(4), 4)
    (1a of D4, 1b of D4, 1c of D4, 1d of D4, 2a of D4)
    """
    angles = 2 * math.pi * torch.arange(n, dtype=torch.float64) / n
    cos, sin = angles.cos(), angles.sin()
    turns = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    signs = [(r, s) for r in ((1, -1) if n % 2 == 0 else (1,)) for s in (1, -1)]
    lines = [
        Representation(
            group,
            1,
            f"1{letter}",
            partial(_sign_action, n, r, s),
            listing=partial(_sign_matrices, n, r, s),
        )
        for letter, (r, s) in zip("abcd", signs, strict=False)
    ]
    planes = [PlaneIrrep(turns, k) for k in range(1, (n + 1) // 2)]
    return *lines, *(
        Representation(group, 2, f"2{letters(i)}", rho.act, listing=rho.matrices)
        for i, rho in enumerate(planes, start=1)
    )


def letters(count: int) -> str:
    """The count-th name among a, b, ..., z, aa, ab, ...

    >>> letters(1), letters(28)
    ('a', 'ab')
    """
    text = ""
    while count:
        count, rest = divmod(count - 1, 26)
        text = "abcdefghijklmnopqrstuvwxyz"[rest] + text
    return text


def _sign_matrices(n: int, r: int, s: int) -> Float64[Tensor, "order 1 1"]:
    rotations = torch.ones(n, dtype=torch.float64)
    rotations[1::2] = r
    return torch.cat([rotations, s * rotations])[:, None, None]


def _sign_action(n: int, r: int, s: int, g: int, x: Tensor) -> Tensor:
    mirror, power = divmod(int(g), n)
    return x * (s**mirror * r**power)


def product_irreps(
    group: FiniteGroup, left: Sequence[Representation], right: Sequence[Representation]
) -> tuple[Representation, ...]:
    """The irreps of G x H, with elements in row-major order: tensor products of one of G and one of H.

    >>> from symscope.groups import direct_product, irreps, symmetric

    >>> from symscope.groups.named_groups import quaternion
    >>> a, b = symmetric(3), quaternion()
    >>> [rho.dim for rho in product_irreps(direct_product(a, b), irreps(a), irreps(b))[-5:]]
    [2, 2, 2, 2, 4]
    """
    size = check_finite_group(right[0].group).order
    return tuple(
        Representation(
            group,
            a.dim * b.dim,
            f"{a.name} * {b.name}",
            partial(_pair_action, a, b, size),
            listing=partial(_pair_matrices, a, b),
        )
        for a, b in itertools.product(left, right)
    )


def _pair_action(left: Representation, right: Representation, size: int, g: int, x: Tensor) -> Tensor:
    a, b = divmod(int(g), size)
    grid = x.unflatten(-1, (left.dim, right.dim))
    return left.act(a, right.act(b, grid), axis=-2).flatten(-2)


def _pair_matrices(left: Representation, right: Representation) -> Shaped[Tensor, "order d d"]:
    dtype = torch.promote_types(left.matrices.dtype, right.matrices.dtype)
    grid = torch.einsum("gij,hkl->ghikjl", left.matrices.to(dtype), right.matrices.to(dtype))
    dim = left.dim * right.dim
    return grid.reshape(-1, dim, dim)
