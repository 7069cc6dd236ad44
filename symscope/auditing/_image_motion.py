"""Where an action moves the pixels of images: the affine map of each element, from spots that are "
"followed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.data import Action
from symscope.errors import InputError

FEWEST = 5  # pixels along each side: fewer hold no spots
MISSED = 0.35  # pixels from where the affine map puts a spot: further, and the motion is not affine


@final
@dataclass(frozen=True, eq=False)
class ImageMotion:
    """The affine map `p -> A p + b` of an element, in pixels from the centre, x to the right and y up.

    Attributes:
        matrix: A, 2 by 2.
        offset: b.
    """

    matrix: Float64[Tensor, "2 2"]
    offset: Float64[Tensor, "2"]

    @property
    def determinant(self) -> float:
        """1 for rotations and shifts, -1 for mirrors."""
        return float(torch.linalg.det(self.matrix))

    @property
    def turn(self) -> float:
        """Angle in degrees, counterclockwise; of a mirror, that of the turn after a left-right mirror."""
        mirror = torch.diag(torch.tensor([-1.0 if self.determinant < 0 else 1.0, 1.0]).double())
        plain = self.matrix @ mirror
        return math.degrees(math.atan2(float(plain[1, 0] - plain[0, 1]), float(plain[0, 0] + plain[1, 1])))

    @property
    def centre_distance(self) -> float:
        """Pixels from the image's centre to the point, or line, that stays; 0 where nothing is turned."""
        values, vectors = torch.linalg.eigh(self.matrix + self.matrix.T)
        if self.determinant < 0:
            return abs(float(self.offset @ vectors[:, 0])) / 2
        if float(values.min()) > 2 - 1e-2:  # a shift
            return 0.0
        return float(torch.linalg.solve(torch.eye(2).double() - self.matrix, self.offset).norm())


def image_motion(action: Action, shape: Sequence[int], g: int) -> ImageMotion | None:
    """The affine map by which an element moves images; None where it is not affine, or cannot be followed.

    Bright spots near the centre are moved, and the centroids of what comes out are fitted by least squares.

    Args:
        action: Action on samples of the shape.
        shape: Shape of one sample; the last two axes are rows and columns.
        g: The element.

    >>> from symscope.data import rotation
    >>> motion = image_motion(rotation(8), (12, 12), 1)
    >>> round(motion.turn), round(motion.determinant, 2), round(motion.centre_distance, 1)
    (45, 1.0, 0.0)
    """
    if len(shape) < 2 or min(shape[-2:]) < FEWEST:
        return None
    height, width = shape[-2:]
    x = torch.arange(width).double() - (width - 1) / 2
    y = (height - 1) / 2 - torch.arange(height).double()
    reach, size = min(height, width) / 5, max(0.8, min(height, width) / 14)
    at = reach * torch.tensor([[0, 0], [1, 0], [-0.6, 0.8], [-0.5, -1], [0.7, 0.7]]).double()
    distance = (x - at[:, :1])[:, None] ** 2 + (y - at[:, 1:])[:, :, None] ** 2
    spots = torch.exp(-distance / (2 * size**2)).reshape(len(at), *[1] * (len(shape) - 2), height, width)
    try:
        moved = action.act(g, spots.expand(len(at), *shape).contiguous())
    except InputError:
        return None
    seen, before = (_centroids(one, x, y) for one in (moved, spots))
    design = torch.cat([before, torch.ones(len(at), 1).double()], 1)
    fit = torch.linalg.lstsq(design, seen).solution
    if float((design @ fit - seen).norm(dim=1).max()) > MISSED:
        return None
    return ImageMotion(fit[:2].T.contiguous(), fit[2])


def _centroids(images: Tensor, x: Tensor, y: Tensor) -> Float64[Tensor, "p 2"]:
    """Mean position of the light in each image, over its channels."""
    light = images.double().clamp_min(0).square().reshape(len(images), -1, len(y), len(x)).sum(1)
    total = light.sum((1, 2)).clamp_min(1e-12)
    return torch.stack([(light.sum(1) * x).sum(1) / total, (light.sum(2) * y).sum(1) / total], 1)
