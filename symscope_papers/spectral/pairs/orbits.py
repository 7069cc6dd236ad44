"""Pairs of rotated digits: which, their orbits, and how these lie in input space."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.data import LabelledData, rotation
from symscope.errors import InputError
from symscope.numerics import check_count, seeded

LARGEST_BATCH = 1 << 25  # numbers of one batch of rotated images: 256 MB in float64


def digit_pairs(data: LabelledData, count: int, seed: int) -> Int64[Tensor, "pairs 2"]:
    """Positions of random pairs of different classes; fewer pairs are the first of more.

    Args:
        data: The digits.
        count: Number of pairs.
        seed: Seed for drawing pairs.

    Raises:
        InputError: Less than one pair, or data of one class.

    >>> from symscope.data import mnist_sample
    >>> data = mnist_sample()
    >>> chosen = digit_pairs(data, 3, seed=0)
    >>> bool((data.labels[chosen[:, 0]] != data.labels[chosen[:, 1]]).all())
    True
    """
    check_count("pairs", count)
    if len(data.classes) < 2:
        raise InputError(f"{data.name}: pairs need two classes or more, got {data.classes}")
    generator = seeded(seed, 1)
    kept: list[Tensor] = []
    while sum(len(part) for part in kept) < count:
        drawn = torch.randint(len(data), (1024, 2), generator=generator)
        kept.append(drawn[data.labels[drawn[:, 0]] != data.labels[drawn[:, 1]]])
    return torch.cat(kept)[:count]


def rotated(images: Float[Tensor, "*batch h h"], angles: int) -> Float[Tensor, "*batch n pixels"]:
    """Whole orbits under rotation by 360 / n degrees (cubic splines), each image centred and of unit norm.

    Args:
        images: Upright images, on any device.
        angles: Number n of angles.

    Returns:
        Flattened images.

    Raises:
        InputError: An image that is constant.

    >>> image = torch.tensor([[0.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    >>> rotated(image[None], 4).shape
    torch.Size([1, 4, 4])
    """
    action = rotation(angles)
    upright = images.flatten(0, -3)
    side = max(1, LARGEST_BATCH // (angles * upright[0].numel()))
    points = torch.cat([action.act_all(part).flatten(-2) for part in upright.split(side)])
    points -= points.mean(-1, keepdim=True)
    norms = points.norm(dim=-1, keepdim=True)
    if not float(norms.min()) > 0:
        raise InputError("a constant image has no direction: nothing is left after its mean is gone")
    return (points / norms).unflatten(0, images.shape[:-2])


def pair_geometry(
    points: Float[Tensor, "pairs 2 n pixels"],
) -> tuple[Float[Tensor, "pairs"], Float[Tensor, "pairs"]]:
    """How far the two orbits of every pair are apart, and how dense they are, in input space.

    Separation is `|mean(A) - mean(B)|^2`, density one over the mean distance of points from their centre.

    >>> pair_geometry(torch.tensor([[[[0.0], [2.0]], [[3.0], [9.0]]]]))
    (tensor([25.]), tensor([0.5000]))
    """
    centres = points.mean(2)
    radii = (points - centres[:, :, None]).norm(dim=-1).mean((1, 2))
    return (centres[:, 0] - centres[:, 1]).square().sum(-1), 1 / radii


def orbit_signs(angles: int) -> Float[Tensor, "p"]:
    """The labels of a pair's points: +1 on the first orbit, -1 on the second.

    >>> orbit_signs(2).tolist()
    [1.0, 1.0, -1.0, -1.0]
    """
    return torch.tensor([1.0, -1.0], dtype=torch.float64).repeat_interleave(angles)
