"""The orthogonal, exactly n-periodic rotation of square images nearest to the spline rotations.

Write `T_k` for the spline rotation by 360 k / n degrees and s for the left-right mirror. A group action by
orthogonal matrices is a choice of orthogonal subspaces `V_j`, on which one step multiplies by
`exp(2 pi i j / n)`. The one with the smallest `sum_k |R^k - T_k|^2` maximises

    sum_j tr(Pi_j P_j),   P_j = 1/n sum_k exp(-2 pi i j k / n) A_k,   A_k = (T_k + s T_k^T s) / 2,

where Pi_j projects on V_j. (For R with `s R s = R^-1`, A_k in place of T_k changes the sum by a constant.)
`T_k` commutes with the quarter turn, so each V_j can be kept inside one eigenspace of the quarter turn, and
`R^(n/4) = rot90` holds by construction, not by luck. In the basis of mirror-even and i times mirror-odd
images all the P_j are real symmetric matrices. From their top eigenvectors the steps
`V <- polar([P_j V_j]_j)`, which never go down, climb to a local maximum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import torch
from jaxtyping import Float64, Int64
from scipy.special import cosdg, sindg
from torch import Tensor

from symscope.data._sectors import Sector, climb, image_sectors, share
from symscope.data._spline import checked_images, spline_matrix
from symscope.errors import InputError
from symscope.numerics import check_count, check_memory, checked, shortened

__all__ = ["OrthogonalRotation", "RotationBasis", "rotate_flat", "rotation_basis", "spline_matrix"]

LARGEST_STEPS = 4096  # one spline rotation and one part of every image for each
LARGEST_SIZE = 64  # a [4096, 4096] basis, 134 MB; its factorisations already take minutes


@checked
@final
@dataclass(frozen=True, eq=False)
class RotationBasis:
    """An orthonormal basis of images in which every power of the rotation turns planes by known angles.

    One step turns the plane of columns i and `planes + i` by `360 frequencies[i] / n` degrees; the columns
    after `2 planes` are kept (frequency 0) or change sign (frequency n/2).

    Attributes:
        n: Steps in a full turn.
        basis: Columns are flattened images.
        frequencies: One for each plane, then one for each remaining column.
        planes: How many planes.
        defect: Dimension of the subspace where `R^(n/4)` is not `rot90`, 0 unless no real orthogonal R can.
    """

    n: int
    basis: Float64[Tensor, "pixels pixels"]
    frequencies: Int64[Tensor, "turning"]
    planes: int
    defect: int

    def matrix(self, k: int) -> Float64[Tensor, "pixels pixels"]:
        """R^k as a matrix on flattened images."""
        everything = torch.eye(len(self.basis), dtype=torch.float64)
        return rotate_flat(everything, self, torch.tensor(k), self.basis).T


@lru_cache(maxsize=16)
def rotation_basis(size: int, n: int, mirrored: bool = False) -> RotationBasis:
    """The exact rotation by n steps of `[size, size]` images; made once, then remembered.

    Two facts about pixel grids put limits on every such rotation, when 8 divides n and the size is even:
    real images with `rot90 x = -x` must split into planes, so an odd number of them (size 2 mod 4)
    leaves one image over, the finest cosine, nearly a chess board; and for D_n each plane needs one
    mirror-even and one mirror-odd image, of which there are size/2 too many of one kind. The images left
    over, the roughest ones, are kept fixed by R; `defect` is their number, 0 in all other cases.

    Args:
        size: Height and width of the images.
        n: Steps in a full turn.
        mirrored: Whether to obey `s R s = R^-1` as well, as D_n needs.

    Raises:
        InputError: n below 1 or too large, or images too large for a dense basis.

    >>> basis = rotation_basis(4, 8)
    >>> turn = basis.matrix(1)
    >>> bool((torch.linalg.matrix_power(turn, 8) - torch.eye(16)).abs().max() < 1e-12), basis.defect
    (True, 0)
    """
    n, size = check_count("n", n, 1, LARGEST_STEPS), check_count("size", size)
    if size > LARGEST_SIZE:
        side = shortened(size)
        raise InputError(
            f"expected images up to {LARGEST_SIZE}x{LARGEST_SIZE} for the orthogonal rotation, which needs a "
            f"dense basis of them; got {side}x{side}. Use method='spline', or smaller images."
        )
    m = math.gcd(n, 4)
    check_memory(
        f"the parts of {size}x{size} images by {n} frequencies", 8 * n * size**4 // m, "take fewer steps"
    )
    sectors = image_sectors(size, m)
    means = _frequency_parts(sectors, size, n, m)
    even, odd, turning, kept, resting = [], [], [], [], []
    defect = 0
    for sector, parts in zip(sectors, means, strict=True):
        over = _left_over(sector, n, m, size)
        if over is not None:
            pairs = 0 if mirrored else over.shape[1] // 2
            sector, parts = sector.without(over, parts)
            even.append(over[:, :pairs])
            odd.append(over[:, pairs : 2 * pairs])
            turning += [sector.k] * pairs
            kept.append(over[:, 2 * pairs :])
            resting += [0] * (over.shape[1] - 2 * pairs)
            defect += over.shape[1] - 2 * pairs
        if sector.dimension == 0:  # tiny images, or all of it left over
            continue
        e, o, f, rest, rest_f = _sector_basis(sector, parts, n, m)
        even.append(e)
        odd.append(o)
        turning += f
        kept.append(rest)
        resting += rest_f
    return RotationBasis(
        n, torch.cat(even + odd + kept, dim=1), torch.tensor(turning + resting), len(turning), defect
    )


@checked
def rotate_flat(
    x: Float64[Tensor, "*batch pixels"] | Tensor, rotation: RotationBasis, k: Tensor, basis: Tensor
) -> Tensor:
    """R^k x for flattened images; batch axes of k and x broadcast."""
    planes = rotation.planes
    cos, sin = _angles(rotation, k, basis)
    c = x @ basis
    u, v, rest = c[..., :planes], c[..., planes : 2 * planes], c[..., 2 * planes :]
    cos_planes, sin_planes = cos[..., :planes], sin[..., :planes]
    moved = torch.cat(
        [u * cos_planes + v * sin_planes, v * cos_planes - u * sin_planes, rest * cos[..., planes:]], dim=-1
    )
    return moved @ basis.T


@checked
@final
@dataclass(frozen=True)
class OrthogonalRotation:
    """The transform of `rotation(n, "orthogonal")`: two matrix products, and planes turned in between."""

    n: int
    mirrored: bool = False

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        image = checked_images(x)
        size = image.shape[-1]
        rotation = rotation_basis(size, self.n, self.mirrored)
        basis = _placed_basis(size, self.n, self.mirrored, image.device, image.dtype)
        return rotate_flat(image.flatten(-2), rotation, g, basis).unflatten(-1, (size, size)).to(x.dtype)


@lru_cache(maxsize=16)
def _placed_basis(size: int, n: int, mirrored: bool, device: torch.device, dtype: torch.dtype) -> Tensor:
    return rotation_basis(size, n, mirrored).basis.to(device, dtype)


def _angles(rotation: RotationBasis, k: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of 2 pi f k / n, exact at quarter turns."""
    steps = k[..., None] * rotation.frequencies.to(k.device) % rotation.n
    degrees = [360 * step / rotation.n for step in range(rotation.n)]
    cos = torch.tensor([float(cosdg(a)) for a in degrees], dtype=torch.float64).to(like)
    sin = torch.tensor([float(sindg(a)) for a in degrees], dtype=torch.float64).to(like)
    return cos[steps], sin[steps]


def _frequency_parts(
    sectors: list[Sector], size: int, n: int, m: int
) -> list[dict[int, Float64[Tensor, "d d"]]]:
    """P_j on each sector, for every frequency j of it: real symmetric in even and i times odd images.

    A_(k + n/m) is A_k after a turn by 360/m degrees, which is a number on each sector, so n/m angles do.
    """
    parts: list[dict[int, Tensor]] = [{j: _zeros(s) for j in range(s.k, n, m)} for s in sectors]
    for step in range(n // m):
        turn = spline_matrix(size, 360 * step / n)
        for sector, of_sector in zip(sectors, parts, strict=True):
            real, imaginary = sector.seen(turn)
            for j in of_sector:
                angle = 360 * (j * step % n) / n
                of_sector[j] += (m / n) * (float(cosdg(angle)) * real + float(sindg(angle)) * imaginary)
    return parts


def _zeros(sector: Sector) -> Float64[Tensor, "d d"]:
    return torch.zeros(sector.dimension, sector.dimension, dtype=torch.float64)


def _left_over(sector: Sector, n: int, m: int, size: int) -> Float64[Tensor, "pixels over"] | None:
    """The roughest images of the more numerous parity, where every frequency needs pairs; else None."""
    paired = not sector.complex and all(2 * j % n for j in range(sector.k, n, m))
    over = abs(sector.even.shape[1] - sector.odd.shape[1])
    if not paired or over == 0:
        return None
    larger = sector.even if sector.even.shape[1] > sector.odd.shape[1] else sector.odd
    roughness = larger.T @ _laplacian(size) @ larger
    return larger @ torch.linalg.eigh(roughness)[1][:, -over:]


def _laplacian(size: int) -> Float64[Tensor, "pixels pixels"]:
    steps = torch.diff(torch.eye(size, dtype=torch.float64), dim=0)
    line, one = steps.T @ steps, torch.eye(size, dtype=torch.float64)
    return torch.kron(line, one) + torch.kron(one, line)


def _sector_basis(
    sector: Sector, parts: dict[int, Float64[Tensor, "d d"]], n: int, m: int
) -> tuple[Tensor, Tensor, list[int], Tensor, list[int]]:
    """Even and odd images of each plane with their frequencies, then kept images with theirs."""
    planes = [j for j in parts if sector.complex or 0 < 2 * j < n]
    single = [] if sector.complex else [j for j in parts if 2 * j % n == 0]
    counts = share(sector, parts, planes, single)
    even, odd = climb(sector, parts, planes, single, counts)
    turning = [j for j in planes for _ in range(counts[j][0])]
    turns = len(turning)
    resting = [j for j in single for _ in range(counts[j][0])] + [
        j for j in single for _ in range(counts[j][1])
    ]
    return (
        even[:, :turns],
        odd[:, :turns],
        turning,
        torch.cat([even[:, turns:], odd[:, turns:]], dim=1),
        resting,
    )
