"""What two-sample tests see of samples: features on which the means of moving them leave little trace.

An image that was turned is blurred by interpolation, has lost its corners, and is off by a pixel where the
set is not centred on the grid: a classifier would tell it from others by these alone.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor
from torch.nn import functional

from symscope.data import Action

NOT_PICTURES = ("nodes", "pixels", "points", "shift")  # on two axes, but not moving a picture
ANY_SIZE = ("dihedral", "flip", "rotation")  # actions that do the same to pictures of any size
SMALLEST_SIDE = 6  # pixels of a picture's side
BLUR = 1.0  # standard deviation of the smoothing, in pixels
CENTRED = 1 / 14  # part of a side by which a picture may be moved to its centre
FINE = 32  # pixels of a side at which pictures are centred and smoothed; larger ones are averaged first
COARSE = 16  # pixels of a side after averaging over neighbours
CELLS = 4  # cells of a side in which the energy of gradients is counted
KEPT = 0.99  # of a constant image that must be left at a pixel under every element
FEWEST_KEPT = 0.25  # share of pixels below which samples are no pictures


def small_pictures(action: Action, x: Float[Tensor, "m *s"]) -> Float[Tensor, "m *t"]:
    """Samples that are cheap to move: large pictures averaged, where the action takes any size."""
    kind = action.name.partition(":")[0].partition("-")[0]
    if kind not in ANY_SIZE or min(x.shape[-2:]) < 2 * FINE:
        return x
    images = x.float().reshape(len(x), -1, *x.shape[-2:])
    return functional.adaptive_avg_pool2d(images, FINE).reshape(*x.shape[:-2], FINE, FINE)


def kept_pixels(action: Action, shape: tuple[int, ...]) -> Bool[Tensor, "h w"] | None:
    """Pixels of a picture that no element cuts off; None where the action does not move pictures.

    >>> from symscope.data import rotation
    >>> kept = kept_pixels(rotation(8), (28, 28))
    >>> bool(kept[1, 1]), bool(kept[1, 14])
    (False, True)
    """
    kind = action.name.partition(":")[0].partition("-")[0]
    if action.sample_ndim < 2 or min(shape[-2:]) < SMALLEST_SIDE or kind in NOT_PICTURES:
        return None
    ones = torch.ones(shape[len(shape) - action.sample_ndim :], dtype=torch.float64)
    left = torch.stack([action.act(g, ones) for g in action.group.elements])
    kept = ((left - 1).abs() <= 1 - KEPT).flatten(0, -3).all(0)
    if not bool(kept.all()):  # splines ring next to an edge: one pixel more is left out
        lost = functional.pad((~kept).double(), (1, 1, 1, 1), value=1.0)
        kept = functional.max_pool2d(lost[None], 3, 1)[0] == 0
    return kept if float(kept.double().mean()) >= FEWEST_KEPT else None


def comparable_features(
    samples: Float[Tensor, "m *s"], inside: Bool[Tensor, "h w"] | None
) -> Float64[Tensor, "m d"]:
    """Features of samples, moved or not, that hardly show interpolation, cut corners or a shift by a pixel.

    Pictures lose their background (the median) and what lies outside `inside`; are moved so that their centre
    of mass lies in the middle, by at most a fourteenth of a side; smoothed by one pixel; and averaged to
    at most 16 x 16 pixels. To these come the amplitudes of gradients down, right and across in 4 x 4 cells,
    by which textures differ that have no outline in common. Other samples are taken as they are.

    Args:
        samples: Samples, moved or not.
        inside: Pixels that no element cuts off, from `kept_pixels`; None for samples that are no pictures.
    """
    if inside is None:
        return samples.flatten(1).double()
    images = samples.float().reshape(len(samples), -1, *samples.shape[-2:])
    ground = images[:, :, inside].median(2).values[:, :, None, None]
    images = torch.where(inside, images - ground, 0.0)
    if max(images.shape[-2:]) >= 2 * FINE:
        images = functional.avg_pool2d(images, max(images.shape[-2:]) // FINE, ceil_mode=True)
    images = _smoothed(_centred(images))
    coarse = functional.avg_pool2d(images, -(-max(images.shape[-2:]) // COARSE))
    down, right = torch.gradient(images, dim=(2, 3))
    energies = torch.cat([down.square(), right.square(), down * right], 1)
    cells = functional.adaptive_avg_pool2d(energies, CELLS)
    # a cell counts as much as the coarse pixels it covers
    weight = 2 * math.sqrt(coarse.shape[-1] * coarse.shape[-2]) / CELLS
    amplitudes = weight * cells.sign() * cells.abs().sqrt()
    return torch.cat([coarse.flatten(1), amplitudes.flatten(1)], 1).double()


def _centred(images: Float[Tensor, "m c h w"]) -> Float[Tensor, "m c h w"]:
    """Each image moved by its centre of mass, between pixels by linear interpolation."""
    mass = images.abs().sum(1)
    whole = mass.sum((1, 2)).clamp_min(1e-30)
    affine = torch.zeros(len(images), 2, 3, dtype=images.dtype)
    for axis, (row, side) in enumerate(((1, images.shape[2]), (0, images.shape[3]))):
        # grid_sample counts from -1 to 1 over a side
        places = (2 * torch.arange(side, dtype=images.dtype) + 1) / side - 1
        centre = (mass.sum(2 - axis) * places).sum(1) / whole
        affine[:, row, 2] = centre.clamp(-2 * CENTRED, 2 * CENTRED)
        affine[:, axis, axis] = 1
    grid = functional.affine_grid(affine, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def _smoothed(images: Float[Tensor, "m c h w"]) -> Float[Tensor, "m c h w"]:
    """Gaussian smoothing of rows and columns, with nothing outside, as two matrix products."""

    def weights(side: int) -> Tensor:
        apart = torch.arange(side)[:, None] - torch.arange(side)
        whole = torch.exp(-torch.arange(-side, side + 1).square() / (2 * BLUR**2)).sum()
        return torch.exp(-apart.square() / (2 * BLUR**2)).to(images.dtype) / whole

    return weights(images.shape[2]) @ images @ weights(images.shape[3])
