"""Small images of letters that turn into each other by mirrors and half turns, and of some that do not."""

from __future__ import annotations

import torch

from symscope.data._labelled import LabelledData
from symscope.errors import InputError
from symscope.numerics import check_count, checked, seeded

# strokes from (x, y) to (x, y), x to the right and y up, in a square from -1 to 1
STROKES: dict[str, tuple[tuple[float, float, float, float], ...]] = {
    "b": ((-0.4, -0.7, -0.4, 0.7), (-0.4, 0.0, 0.4, 0.0), (0.4, 0.0, 0.4, -0.7), (0.4, -0.7, -0.4, -0.7)),
    "F": ((-0.4, -0.7, -0.4, 0.7), (-0.4, 0.7, 0.5, 0.7), (-0.4, 0.1, 0.3, 0.1)),
    "J": ((0.2, 0.7, 0.2, -0.6), (0.2, -0.6, -0.4, -0.6), (-0.4, -0.6, -0.4, -0.2)),
    "x": ((-0.6, -0.6, 0.6, 0.6), (-0.6, 0.6, 0.6, -0.6)),
}
MIRRORS = {"b": (1, 1), "d": (-1, 1), "p": (1, -1), "q": (-1, -1)}  # of b, along x and y
SLANT = 0.08  # spread of the strokes' ends
SHIFT = 0.06  # spread of a letter's place
NOISE = 0.05  # of each pixel


@checked
def letters(count: int, seed: int, names: str = "bdpq", side: int = 16) -> LabelledData:
    """Images of letters drawn with shaky strokes: `count` of each, class after class.

    Mirrored, b is d and p is q; upside down, b is p and d is q; turned by half, b is q and d is p: exactly
    so in distribution. F, J and x are no mirror images of others.

    Args:
        count: Images of each letter.
        seed: Seed for the strokes' ends, places, widths and noise.
        names: Letters among b, d, p, q, F, J, x; their places are the classes.
        side: Pixels of a side.

    Raises:
        InputError: A letter that is none of these, or none at all.

    >>> letters(3, 0, "bd")
    LabelledData(letters bd: 6 items of 16 x 16, 2 classes, strokes with seed 0)
    """
    count, side = check_count("count", count), check_count("side", side, 4)
    known = sorted({*STROKES, *MIRRORS})
    if not names or any(name not in known for name in names):
        raise InputError(f"expected letters among {''.join(known)}, got {names!r}.")
    places = (2 * torch.arange(side, dtype=torch.float64) + 1) / side - 1
    x, y = places[None, :].expand(side, side), -places[:, None].expand(side, side)
    images = []
    for stream, name in enumerate(names):
        draw = seeded(seed, stream)

        def spread(*shape: int) -> torch.Tensor:
            return torch.randn(count, *shape, generator=draw, dtype=torch.float64)  # noqa: B023

        flip_x, flip_y = MIRRORS.get(name, (1, 1))
        ends = torch.tensor(STROKES["b" if name in MIRRORS else name], dtype=torch.float64)
        ends = ends * torch.tensor([flip_x, flip_y, flip_x, flip_y])
        ends = ends + SLANT * spread(len(ends), 4) + SHIFT * spread(1, 2).repeat(1, 1, 2)
        width = 0.16 + 0.03 * spread(1, 1).clamp(-2, 2)
        ink = torch.stack([_stroke(x, y, one) for one in ends.unbind(1)]).amin(0)
        images.append((-(ink / width).square()).exp() + NOISE * spread(side, side))
    labels = torch.arange(len(names)).repeat_interleave(count)
    return LabelledData(torch.cat(images), labels, f"letters {names}", f"strokes with seed {seed}")


def _stroke(x: torch.Tensor, y: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """Distance of each pixel from a stroke, for each image: [m, side, side]."""
    x0, y0, x1, y1 = (one[:, None, None] for one in ends.unbind(1))
    along = ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / ((x1 - x0) ** 2 + (y1 - y0) ** 2).clamp_min(1e-12)
    along = along.clamp(0, 1)
    return ((x - x0 - along * (x1 - x0)) ** 2 + (y - y0 - along * (y1 - y0)) ** 2).sqrt()
