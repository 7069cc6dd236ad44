"""Images of one pentagon or triangle, with a mask for each kind: a segmentation task for C4."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import check_count, seeded

CORNERS = (5, 3)
"""Corners of the shape that mask 0 and mask 1 show: pentagon, triangle."""

FIGURE = (640 / 450, 480 / 450)  # half of the width and height of the authors' figure
_FINE = 8  # sub-pixels along each side of a pixel
_CHUNK = 128  # images drawn at once


@final
@dataclass(frozen=True, eq=False)
class Segmentation:
    """Images with one mask per kind of shape.

    Attributes:
        images: Part of each pixel that is covered, in [0, 1].
        masks: 1 where at least half of the pixel is covered, for pentagons and for triangles; all 0 for the
            kind that the image does not show.
        kinds: Which of the two is shown: 0 pentagon, 1 triangle.
        centres: Centre of each shape, (x, y), y upwards, in units of the canvas.
        scales: Circumradius of each shape.
        source: How it was made.
    """

    images: Float[Tensor, "n size size"]
    masks: Float[Tensor, "n 2 size size"]
    kinds: Int64[Tensor, "n"]
    centres: Float[Tensor, "n 2"]
    scales: Float[Tensor, "n"]
    source: str


def polygons(
    count: int,
    size: int = 14,
    *,
    seed: int,
    scale: tuple[float, float] = (0.7, 0.8),
    canvas: float = 2.0,
    dtype: torch.dtype = torch.float64,
) -> Segmentation:
    """Images of one regular pentagon or triangle each, all upright, anywhere on the canvas.

    The kind is a fair coin; the circumradius is uniform in `scale`; the centre is uniform where the whole
    circumcircle fits on the canvas. One corner points up in every image, so the set is not invariant under
    quarter turns. Experiment 3 of "Optimization Dynamics of Equivariant and Augmented Neural Networks" (C.3),
    which gives kind, scale and size; the canvas's size is not said there.

    Args:
        count: Number of images.
        size: Pixels along a side.
        seed: Random seed, a non-negative integer.
        scale: Smallest and largest circumradius.
        canvas: Half of the canvas's side, in the unit of `scale`.
        dtype: Floating-point type.

    Returns:
        Images, masks, and what was drawn.

    Raises:
        InputError: A count below 1, or shapes that do not fit on the canvas.

    >>> shapes = polygons(4, seed=0)
    >>> shapes.images.shape, shapes.masks.shape
    (torch.Size([4, 14, 14]), torch.Size([4, 2, 14, 14]))
    """
    count, size = check_count("count", count), check_count("size", size)
    low, high = scale
    if not (0 < low <= high and math.isfinite(canvas) and high <= canvas):
        raise InputError(
            f"scale, canvas: expected 0 < smallest <= largest <= canvas, got {scale} and {canvas}."
        )
    generator = seeded(seed)
    kinds = torch.randint(2, (count,), generator=generator)
    draws = torch.rand(count, 3, generator=generator, dtype=torch.float64)
    scales = low + (high - low) * draws[:, 0]
    centres = (2 * draws[:, 1:] - 1) * (canvas - scales)[:, None]
    return _drawn(kinds, centres, scales, size, canvas, dtype, f"seed={seed}, scale={scale}, canvas={canvas}")


def scripted_polygons(
    count: int, size: int = 14, *, seed: int, dtype: torch.dtype = torch.float64
) -> Segmentation:
    """Images as the authors' scripts draw them: wider than high, shapes pointing right and cut off.

    Their figure of 640 x 480 pixels holds a square of 450 whose sides are -1 and 1; centres are within 1/2 of
    its middle, what leaves the square is not drawn, and the whole figure is made `size` x `size`.

    >>> float(scripted_polygons(50, seed=0).images[:, :, 0].sum())  # the margin is left empty
    0.0
    """
    generator = seeded(seed)
    kinds = torch.randint(2, (count,), generator=generator)
    draws = torch.rand(count, 3, generator=generator, dtype=torch.float64)
    centres, scales = draws[:, 1:] - 0.5, 0.7 + 0.1 * draws[:, 0]
    return _drawn(kinds, centres, scales, size, FIGURE, dtype, f"seed={seed}, as the scripts", 0.0, 1.0)


def _drawn(
    kinds: Tensor,
    centres: Tensor,
    scales: Tensor,
    size: int,
    canvas: float | tuple[float, float],
    dtype: torch.dtype,
    source: str,
    towards: float = math.pi / 2,
    cut: float = math.inf,
) -> Segmentation:
    count = len(kinds)
    images = torch.zeros(count, size, size, dtype=torch.float64)
    for kind, corners in enumerate(CORNERS):
        for part in (kinds == kind).nonzero()[:, 0].split(_CHUNK):
            images[part] = pixel_coverage(corners, centres[part], scales[part], size, canvas, towards, cut)
    masks = torch.zeros(count, 2, size, size, dtype=torch.float64)
    masks[torch.arange(count), kinds] = (images >= 0.5).to(torch.float64)
    return Segmentation(
        images.to(dtype),
        masks.to(dtype),
        kinds,
        centres.to(dtype),
        scales.to(dtype),
        f"polygons(count={count}, size={size}, {source})",
    )


def pixel_coverage(
    corners: int,
    centres: Float[Tensor, "n 2"],
    scales: Float[Tensor, "n"],
    size: int,
    canvas: float | tuple[float, float],
    towards: float = math.pi / 2,
    cut: float = math.inf,
) -> Float[Tensor, "n size size"]:
    """The part of each pixel that a regular polygon covers, by default with one corner up.

    A point p is inside iff `max_j u_j . (p - centre) <= scale cos(pi / corners)`, u_j the unit normals of the
    edges; a pixel's part is counted on 8 x 8 points in it.

    Args:
        corners: Corners of the polygon, at least 3.
        centres: Its centre in each image, (x, y) with y upwards.
        scales: Its circumradius in each image.
        size: Pixels along a side.
        canvas: Half of the canvas's side, or of its width and height.
        towards: Direction of one corner, as an angle.
        cut: Points further than this from the middle, in x or y, are left empty.

    Returns:
        Parts in [0, 1]; row 0 is at the top.

    Raises:
        InputError: Fewer than three corners.

    >>> centre, scale = torch.zeros(1, 2).double(), torch.tensor([0.9]).double()
    >>> square = pixel_coverage(4, centre, scale, size=20, canvas=1.0)  # area 2 scale^2 of 4
    >>> round(square.mean().item(), 2), 2 * 0.9**2 / 4
    (0.4, 0.405)
    """
    corners = check_count("corners", corners, least=3)
    fine = size * _FINE
    width, height = (canvas, canvas) if isinstance(canvas, float | int) else canvas
    unit = 2 * (torch.arange(fine, dtype=torch.float64) + 0.5) / fine - 1
    x, y = width * unit, height * unit
    right = x[None, None, :] - centres[:, 0, None, None]
    up = -y[None, :, None] - centres[:, 1, None, None]
    reach = torch.full((len(centres), fine, fine), -math.inf, dtype=torch.float64)
    for j in range(corners):
        angle = towards + math.pi * (2 * j + 1) / corners
        reach = torch.maximum(reach, math.cos(angle) * right + math.sin(angle) * up)
    inside = reach <= (scales * math.cos(math.pi / corners))[:, None, None]
    inside &= (x.abs()[None, None, :] <= cut) & (y.abs()[None, :, None] <= cut)
    return inside.to(torch.float64).reshape(len(centres), size, _FINE, size, _FINE).mean((2, 4))
