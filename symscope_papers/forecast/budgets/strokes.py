"""Figures made of straight strokes: letters as images and as points, bent wires as points in space."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.data import LabelledData
from symscope.numerics import check_count, seeded

Stroke = tuple[tuple[float, ...], tuple[float, ...]]

BAR: Stroke = ((-0.6, 1.0), (-0.6, -1.0))
TOP: Stroke = ((-0.6, 1.0), (0.6, 1.0))
LETTERS: Mapping[str, tuple[Stroke, ...]] = {
    "E": (BAR, TOP, ((-0.6, 0.0), (0.4, 0.0)), ((-0.6, -1.0), (0.6, -1.0))),
    "F": (BAR, TOP, ((-0.6, 0.0), (0.4, 0.0))),
    "H": (BAR, ((0.6, 1.0), (0.6, -1.0)), ((-0.6, 0.0), (0.6, 0.0))),
    "K": (BAR, ((-0.6, 0.0), (0.6, 1.0)), ((-0.6, 0.0), (0.6, -1.0))),
    "L": (BAR, ((-0.6, -1.0), (0.6, -1.0))),
    "S": (
        TOP,
        ((-0.6, 1.0), (-0.6, 0.0)),
        ((-0.6, 0.0), (0.6, 0.0)),
        ((0.6, 0.0), (0.6, -1.0)),
        ((0.6, -1.0), (-0.6, -1.0)),
    ),
    "T": (((-0.8, 1.0), (0.8, 1.0)), ((0.0, 1.0), (0.0, -1.0))),
    "Y": (((-0.7, 1.0), (0.0, 0.0)), ((0.7, 1.0), (0.0, 0.0)), ((0.0, 0.0), (0.0, -1.0))),
}
LEG: Stroke = ((-0.8, -0.4, 0.0), (0.2, -0.4, 0.0))
RISE: Stroke = ((0.2, -0.4, 0.0), (0.2, 0.6, 0.0))
WIRES: Mapping[str, tuple[Stroke, ...]] = {
    "angle": (((-1.2, -0.3, 0.0), (0.8, -0.3, 0.0)), ((0.8, -0.3, 0.0), (0.8, 0.7, 0.0))),
    "tee": (((-1.0, -0.3, 0.0), (1.0, -0.3, 0.0)), ((0.0, -0.3, 0.0), (0.0, 0.7, 0.0))),
    "step": (LEG, RISE, ((0.2, 0.6, 0.0), (1.2, 0.6, 0.0))),
    "right screw": (LEG, RISE, ((0.2, 0.6, 0.0), (0.2, 0.6, 1.0))),
    "left screw": (LEG, RISE, ((0.2, 0.6, 0.0), (0.2, 0.6, -1.0))),
    "corner": tuple(((-0.3,) * 3, tuple(0.7 if k == axis else -0.3 for k in range(3))) for axis in range(3)),
}
SIDE = 16  # pixels of an image
LETTER_POINTS, WIRE_POINTS = 24, 18
WOBBLE = 0.12  # standard deviation of the ends of strokes
TILT = math.radians(8)  # the same of the angle of a figure
INK = 0.2  # width of a stroke
GRAIN, JITTER = 0.2, 0.06  # noise of pixels, and of points


def letter_images(per_class: int, seed: int) -> LabelledData:
    """Eight letters of wobbly strokes, about upright: images of 16 x 16 pixels.

    Args:
        per_class: Images of each letter.
        seed: Seed for drawing samples.

    Returns:
        Inputs `[n, 16, 16]`.

    Raises:
        InputError: No images.

    >>> letter_images(3, seed=0).x.shape
    torch.Size([24, 16, 16])
    """
    generator = seeded(seed, 30)
    strokes, labels = _wobbly(LETTERS, check_count("per_class", per_class), generator)
    x = torch.linspace(-1.45, 1.45, SIDE, dtype=torch.float64)
    pixels = torch.stack([x.expand(SIDE, SIDE), -x[:, None].expand(SIDE, SIDE)], 2).reshape(-1, 2)
    start, way = strokes[:, :, None, 0], (strokes[:, :, 1] - strokes[:, :, 0])[:, :, None]
    along = ((pixels - start) * way).sum(3) / way.square().sum(3).clamp(min=1e-9)
    distance = (pixels - start - along.clamp(0, 1)[..., None] * way).norm(dim=3).amin(1)
    clean = torch.exp(-((distance / INK) ** 2)).reshape(-1, SIDE, SIDE)
    noise = GRAIN * torch.randn(clean.shape, generator=generator, dtype=torch.float64)
    return LabelledData(clean + noise, labels, "letters", f"letter_images({per_class}, {seed})")


def letter_points(per_class: int, seed: int) -> LabelledData:
    """The same letters as 24 points on their strokes, in any order.

    Args:
        per_class: Sets of each letter.
        seed: Seed for drawing samples.

    Returns:
        Inputs `[n, 24, 2]`.

    Raises:
        InputError: No sets.

    >>> letter_points(3, seed=0).x.shape
    torch.Size([24, 24, 2])
    """
    return _points(LETTERS, LETTER_POINTS, per_class, seeded(seed, 31), f"letter_points({per_class}, {seed})")


def wires(per_class: int, seed: int) -> LabelledData:
    """Six bent wires as 18 points in space, in any order; two are mirror images of each other.

    Args:
        per_class: Sets of each wire.
        seed: Seed for drawing samples.

    Returns:
        Inputs `[n, 18, 3]`.

    Raises:
        InputError: No sets.

    >>> wires(3, seed=0).x.shape
    torch.Size([18, 18, 3])
    """
    return _points(WIRES, WIRE_POINTS, per_class, seeded(seed, 32), f"wires({per_class}, {seed})")


def _points(
    figures: Mapping[str, tuple[Stroke, ...]],
    points: int,
    per_class: int,
    generator: torch.Generator,
    source: str,
) -> LabelledData:
    """Points at random places of the strokes, each stroke as often as it is long."""
    strokes, labels = _wobbly(figures, check_count("per_class", per_class), generator)
    lengths = (strokes[:, :, 1] - strokes[:, :, 0]).norm(dim=2)
    lengths = torch.where(_repeated(figures)[labels], 0.0, lengths)
    chosen = torch.multinomial(lengths, points, replacement=True, generator=generator)
    ends = strokes.gather(1, chosen[:, :, None, None].expand(-1, -1, *strokes.shape[2:]))
    place = torch.rand(len(labels), points, 1, generator=generator, dtype=torch.float64)
    clean = ends[:, :, 0] + place * (ends[:, :, 1] - ends[:, :, 0])
    noise = JITTER * torch.randn(clean.shape, generator=generator, dtype=torch.float64)
    return LabelledData(clean + noise, labels, source.partition("(")[0], source)


def _wobbly(
    figures: Mapping[str, tuple[Stroke, ...]], per_class: int, generator: torch.Generator
) -> tuple[Float64[Tensor, "n strokes 2 d"], Tensor]:
    """Strokes of samples: ends moved at random, then turned a little; and classes.

    Figures of fewer strokes have their first one again and again.
    """
    most = max(map(len, figures.values()))
    filled = [strokes + strokes[:1] * (most - len(strokes)) for strokes in figures.values()]
    clean = torch.tensor(filled, dtype=torch.float64).repeat_interleave(per_class, 0)
    moved = clean + WOBBLE * torch.randn(clean.shape, generator=generator, dtype=torch.float64)
    dimension = clean.shape[3]
    skew = torch.randn(len(clean), dimension, dimension, generator=generator, dtype=torch.float64).triu(1)
    turn = torch.linalg.matrix_exp(TILT * (skew - skew.mT))
    return moved @ turn[:, None], torch.arange(len(figures)).repeat_interleave(per_class)


def _repeated(figures: Mapping[str, tuple[Stroke, ...]]) -> Tensor:
    """Which strokes of a figure are its first one again."""
    most = max(map(len, figures.values()))
    return torch.tensor([[k >= len(strokes) for k in range(most)] for strokes in figures.values()])
