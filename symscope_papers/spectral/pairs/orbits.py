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


def rotated(
    images: Float[Tensor, "*batch h h"], angles: int, centred: bool = True
) -> Float[Tensor, "*batch n pixels"]:
    """Whole orbits under rotation by 360 / n degrees (cubic splines), each image of unit norm.

    Args:
        images: Upright images, on any device.
        angles: Number n of angles.
        centred: Subtract each image's mean first, as the authors' scripts do; the paper does not say so.

    Returns:
        Flattened images.

    Raises:
        InputError: An image of which nothing is left.

    >>> image = torch.tensor([[0.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    >>> rotated(image[None], 4).shape
    torch.Size([1, 4, 4])
    """
    action = rotation(angles)
    upright = images.flatten(0, -3)
    side = max(1, LARGEST_BATCH // (angles * upright[0].numel()))
    points = torch.cat([action.act_all(part).flatten(-2) for part in upright.split(side)])
    return on_sphere(points, centred).unflatten(0, images.shape[:-2])


def on_sphere(points: Float[Tensor, "*batch pixels"], centred: bool) -> Float[Tensor, "*batch pixels"]:
    """Images of unit norm, their means subtracted first if so asked.

    Raises:
        InputError: An image of which nothing is left: constant, or without centring zero.

    >>> on_sphere(torch.tensor([[3.0, 4.0]]), centred=False)
    tensor([[0.6000, 0.8000]])
    """
    if centred:
        points = points - points.mean(-1, keepdim=True)
    norms = points.norm(dim=-1, keepdim=True)
    if not float(norms.min()) > 0:
        raise InputError("a constant image has no direction: nothing is left after its mean is gone")
    return points / norms


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


def neighbour_products(points: Float[Tensor, "pairs 2 n pixels"]) -> dict[str, Float[Tensor, "pairs"]]:
    """Scalar products of neighbours: on each orbit (Eq. 11), and of one point with two of the other (Eq. 10).

    >>> names = neighbour_products(torch.tensor([[[[1.0, 0.0], [0.0, 1.0]], [[0.6, 0.8], [0.8, 0.6]]]]))
    >>> {name: round(float(value), 2) for name, value in names.items()}
    {'neighbours_a': 0.0, 'neighbours_b': 0.96, 'across_left': 0.6, 'across_right': 0.8}
    """
    (a, b), following = (points[:, s, 0] for s in (0, 1)), points[:, :, 1 % points.shape[2]]
    return {
        "neighbours_a": (a * following[:, 0]).sum(-1),
        "neighbours_b": (b * following[:, 1]).sum(-1),
        "across_left": (a * b).sum(-1),
        "across_right": (following[:, 0] * b).sum(-1),
    }


def orbit_signs(angles: int) -> Float[Tensor, "p"]:
    """The labels of a pair's points: +1 on the first orbit, -1 on the second.

    >>> orbit_signs(2).tolist()
    [1.0, 1.0, -1.0, -1.0]
    """
    return torch.tensor([1.0, -1.0], dtype=torch.float64).repeat_interleave(angles)
