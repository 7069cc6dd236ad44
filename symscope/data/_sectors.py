"""Eigenspaces of the quarter turn on square images, and the best rotation inside one of them.

The quarter turn and the mirror generate D4, whose characters cut images into sectors (Serre, Linear
Representations of Finite Groups, Sec. 2.6): a rotation that commutes with the quarter turn acts in each
sector by itself. Inside one, the sum of traces over orthonormal frames is maximised by alternating polar
factors, the generalised Procrustes iteration (Ten Berge 1977; the trace step is Fan's theorem).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

SWEEPS = 60  # within 0.2 % of the objective after 480, at 28x28 and n = 8 to 64; 20 give 0.5 %


@final
@dataclass(frozen=True, eq=False)
class Sector:
    """Images on which the turn by 360/m degrees is the number exp(2 pi i k / m).

    Spanned over the real numbers by mirror-even images and i times mirror-odd ones. A complex sector
    (m = 4, k = 1) has vectors `even[:, a] + i odd[:, a]`; its conjugate, k = 3, is not listed.

    Attributes:
        k: Which eigenvalue.
        even: Mirror-even images, orthonormal (in a complex sector of norm 1/sqrt 2).
        odd: Mirror-odd images.
        complex: Whether even and odd images only occur together.
    """

    k: int
    even: Float64[Tensor, "pixels even"]
    odd: Float64[Tensor, "pixels odd"]
    complex: bool

    @property
    def dimension(self) -> int:
        """Dimension over the complex numbers."""
        return self.even.shape[1] + (0 if self.complex else self.odd.shape[1])

    def seen(
        self, turn: Float64[Tensor, "pixels pixels"]
    ) -> tuple[Float64[Tensor, "d d"], Float64[Tensor, "d d"]]:
        """(C, S) with `exp(-i a) T + exp(i a) T^H = 2 (cos(a) C + sin(a) S)` in the sector's basis.

        Both are real symmetric once T is replaced by `(T + s T^T s) / 2`, which is done here.
        """
        image_even, image_odd = turn @ self.even, turn @ self.odd
        ee, oo = self.even.T @ image_even, self.odd.T @ image_odd
        eo, oe = self.even.T @ image_odd, self.odd.T @ image_even
        if self.complex:
            cosine, sine = ee + oo, eo - oe
        else:
            cosine, sine = (
                torch.block_diag(ee, oo),
                torch.zeros(self.dimension, self.dimension, dtype=ee.dtype),
            )
            split = self.even.shape[1]
            sine[:split, split:], sine[split:, :split] = eo, -oe
        return (cosine + cosine.T) / 2, (sine + sine.T) / 2

    def without(
        self, over: Float64[Tensor, "pixels over"], parts: dict[int, Float64[Tensor, "d d"]]
    ) -> tuple[Sector, dict[int, Float64[Tensor, "_ _"]]]:
        """The sector and its matrices on the orthogonal complement of some of its images."""
        even, odd = (_complement(images, over) for images in (self.even, self.odd))
        keep = torch.block_diag(self.even.T @ even, self.odd.T @ odd)
        smaller = Sector(self.k, even, odd, self.complex)
        return smaller, {j: keep.T @ part @ keep for j, part in parts.items()}


def image_sectors(size: int, m: int) -> list[Sector]:
    """The sectors of the turn by 360/m degrees (m = 1, 2 or 4), one of each conjugate pair.

    >>> [(s.k, s.dimension) for s in image_sectors(4, 4)]
    [(0, 4), (2, 4), (1, 4)]
    """
    index = torch.arange(size * size).reshape(size, size)

    def turn(quarters: int) -> Callable[[Tensor], Tensor]:
        return lambda i: torch.rot90(i, quarters)

    def character(quarters: int, turn_sign: int, mirror_sign: int) -> Float64[Tensor, "pixels d"]:
        moves, signs = [], []
        for power in range(4 // quarters if quarters else 1):
            moved = turn(quarters * power)(index)
            moves += [moved.reshape(-1), moved.flip(-1).reshape(-1)]
            signs += [turn_sign**power, mirror_sign * turn_sign**power]
        return _invariant_images(torch.stack(moves), torch.tensor(signs, dtype=torch.float64))

    quarters = {1: 0, 2: 2, 4: 1}[m]
    sectors = [Sector(0, character(quarters, 1, 1), character(quarters, 1, -1), False)]
    if m > 1:
        sectors.append(Sector(m // 2, character(quarters, -1, 1), character(quarters, -1, -1), False))
    if m == 4:
        even = character(2, -1, 1) / 2**0.5
        # rot90 (u + i v) = i (u + i v) means v = -rot90 u
        odd = -even[torch.rot90(index).reshape(-1)]
        sectors.append(Sector(1, even, odd, True))
    return sectors


def share(
    sector: Sector, parts: dict[int, Float64[Tensor, "d d"]], planes: list[int], single: list[int]
) -> dict[int, tuple[int, int]]:
    """How many even and odd images each frequency gets: the traces of P_j, rounded to fill the sector."""
    split = sector.even.shape[1]
    if sector.complex:
        whole = _rounded([float(parts[j].trace()) for j in planes], split)
        return {j: (count, count) for j, count in zip(planes, whole, strict=True)}
    odd_count = sector.odd.shape[1]
    rest = sum(float(parts[j].trace()) for j in single) / 2
    # a plane and its conjugate share a trace, and take one even and one odd image
    wanted = [float(parts[j].trace()) for j in planes]
    fill = min(split, odd_count)
    if single:
        *whole, _ = _rounded([*wanted, max(rest - abs(split - odd_count) / 2, 0.0)], fill)
    else:
        whole = _rounded(wanted, fill)
    left = (split - sum(whole), odd_count - sum(whole))
    evens = _rounded([float(parts[j][:split, :split].trace()) for j in single], left[0])
    odds = _rounded([float(parts[j][split:, split:].trace()) for j in single], left[1])
    pairs = {j: (count, count) for j, count in zip(planes, whole, strict=True)}
    return pairs | {j: (e, o) for j, e, o in zip(single, evens, odds, strict=True)}


def climb(
    sector: Sector,
    parts: dict[int, Float64[Tensor, "d d"]],
    planes: list[int],
    single: list[int],
    counts: dict[int, tuple[int, int]],
) -> tuple[Float64[Tensor, "pixels a"], Float64[Tensor, "pixels b"]]:
    """Images for each frequency that maximise `sum_j tr(Pi_j P_j)`: polar steps from the top eigenvectors."""
    split = sector.even.shape[1]
    eigen = {j: torch.linalg.eigh(parts[j]) for j in planes}
    # a multiple of the identity changes no argument of the maximum and makes every step go up
    lift = 1e-3 - min(0.0, *(float(torch.linalg.eigvalsh(parts[j]).min()) for j in parts))
    if sector.complex:
        frames = _nearest_frames([eigen[j][1].flip(1)[:, : counts[j][0]] for j in planes])
        for _ in range(SWEEPS if len(planes) > 1 else 0):
            frames = _nearest_frames([parts[j] @ v + lift * v for j, v in zip(planes, frames, strict=True)])
        whole = torch.cat(frames, dim=1) * 2**0.5
        return sector.even @ whole, sector.odd @ whole
    starts = [eigen[j][1].flip(1)[:, : counts[j][0]] for j in planes]
    alone = [
        [torch.linalg.eigh(parts[j][block, block])[1].flip(1)[:, : counts[j][side]] for j in single]
        for side, block in ((0, slice(None, split)), (1, slice(split, None)))
    ]
    even = _nearest_frames([v[:split] for v in starts] + alone[0])
    odd = _nearest_frames([v[split:] for v in starts] + alone[1])
    order = [*planes, *single]
    for _ in range(SWEEPS if len(order) > 1 else 0):
        even = _nearest_frames(
            [
                parts[j][:split, :split] @ a + lift * a + (parts[j][:split, split:] @ b if j in eigen else 0)
                for j, a, b in zip(order, even, odd, strict=True)
            ]
        )
        odd = _nearest_frames(
            [
                parts[j][split:, split:] @ b + lift * b + (parts[j][split:, :split] @ a if j in eigen else 0)
                for j, a, b in zip(order, even, odd, strict=True)
            ]
        )
    return sector.even @ torch.cat(even, dim=1), sector.odd @ torch.cat(odd, dim=1)


def _nearest_frames(blocks: list[Float64[Tensor, "d _"]]) -> list[Float64[Tensor, "d _"]]:
    """The orthonormal columns nearest to the given ones, all blocks together (the polar factor)."""
    u, _, v = torch.linalg.svd(torch.cat(blocks, dim=1), full_matrices=False)
    return list((u @ v).split([block.shape[1] for block in blocks], dim=1))


def _rounded(weights: list[float], total: int) -> list[int]:
    """Non-negative whole numbers with a given sum, in proportion to the weights (largest remainders)."""
    if not weights:
        return []
    raw = np.clip(np.array(weights), 0, None)
    ideal = raw / raw.sum() * total if raw.sum() > 0 else np.full(len(raw), total / len(raw))
    whole = np.floor(ideal + 1e-9).astype(int)
    for i in np.argsort(whole - ideal, kind="stable")[: total - int(whole.sum())]:
        whole[i] += 1
    return [int(w) for w in whole]


def _complement(
    images: Float64[Tensor, "pixels d"], over: Float64[Tensor, "pixels over"]
) -> Float64[Tensor, "pixels _"]:
    """An orthonormal basis of the span of `images` without what lies along `over`."""
    inside = images.T @ over
    rank = round(float((inside**2).sum()))
    if rank == 0:
        return images
    return images @ torch.linalg.svd(inside, full_matrices=True)[0][:, rank:]


def _invariant_images(
    moves: Int64[Tensor, "g pixels"], signs: Float64[Tensor, "g"]
) -> Float64[Tensor, "pixels d"]:
    """An orthonormal basis of the images with `x[moves[g]] = signs[g] x`, one for each orbit of pixels."""
    first = (moves.min(dim=0).values == torch.arange(moves.shape[1])).nonzero()[:, 0]
    columns = torch.zeros(moves.shape[1], len(first), dtype=torch.float64)
    for move, sign in zip(moves, signs, strict=True):
        columns[move[first], torch.arange(len(first))] += sign
    norms = columns.norm(dim=0)
    return (columns / norms.clamp_min(1e-300))[:, norms > 0.5]
