"""Textures, waves and graphs with a motif: made here, with noise that keeps networks from being perfect."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.data import LabelledData
from symscope.numerics import check_count, seeded

TEXTURES = ("stripes", "broad stripes", "checks", "dots", "bent stripes", "bricks")
SIDE = 16
TILT = math.radians(7)  # standard deviation of a texture's angle
GRAIN = 0.7  # standard deviation of the noise of pixels

SWEEPS = ("rising", "falling", "steady")  # of the frequency; the second channel is late, or early
MOMENTS = 48
CENTRE, WIDTH = 13.0, 6.0  # moments: middle and standard deviation of a wave's envelope
LATE = 2.0  # standard deviation of its middle
HISS = 0.3

MOTIFS = ("path", "hub", "clique", "ring", "two sides")
NODES, PLANTED = 10, 5
CHANCE = 0.25  # of an edge between any two nodes beside the motif
BLUR = 0.1


def textures(per_class: int, seed: int) -> LabelledData:
    """Images of 16 x 16 pixels filled with one of six textures, about upright, anywhere in its period.

    Args:
        per_class: Images of each texture.
        seed: Seed for drawing samples.

    Returns:
        Inputs `[n, 16, 16]`.

    Raises:
        InputError: No images.

    >>> textures(3, seed=0).x.shape
    torch.Size([18, 16, 16])
    """
    per_class, generator = check_count("per_class", per_class), seeded(seed, 33)
    count = per_class * len(TEXTURES)
    labels = torch.arange(len(TEXTURES)).repeat_interleave(per_class)
    angle = TILT * torch.randn(count, 1, 1, generator=generator, dtype=torch.float64)
    phase = 2 * math.pi * torch.rand(2, count, 1, 1, generator=generator, dtype=torch.float64)
    place = torch.arange(SIDE, dtype=torch.float64)
    down, right = place[:, None], place
    u = angle.cos() * right + angle.sin() * down
    v = angle.cos() * down - angle.sin() * right
    clean = torch.cat(
        [_texture(kind, *(part[labels == k] for part in (u, v, *phase))) for k, kind in enumerate(TEXTURES)]
    )
    noise = GRAIN * torch.randn(clean.shape, generator=generator, dtype=torch.float64)
    return LabelledData(clean + noise, labels, "textures", f"textures({per_class}, {seed})")


def _texture(kind: str, u: Tensor, v: Tensor, first: Tensor, second: Tensor) -> Float64[Tensor, "n h w"]:
    wave = (2 * math.pi * u / 4 + first).sin()
    across = (2 * math.pi * v / 4 + second).sin()
    if kind == "stripes":
        return wave
    if kind == "broad stripes":
        return (2 * math.pi * u / 6 + first).sin()
    if kind == "checks":
        return 1.4 * wave * across
    if kind == "dots":
        return (wave + across).clamp(min=0)
    if kind == "bent stripes":
        return (2 * math.pi * u / 4 + first + 1.2 * (2 * math.pi * v / 8 + second).sin()).sin()
    row = ((v + 2 * second / math.pi) // 4) % 2
    return torch.maximum((2 * math.pi * u / 8 + first + math.pi * row).sin(), across)


def waves(per_class: int, seed: int) -> LabelledData:
    """Series of two channels with a wave near their 13th moment of 48, in noise.

    Its frequency rises, falls or stays, and the second channel is a quarter of a period late or early: six
    classes.

    Args:
        per_class: Series of each class.
        seed: Seed for drawing samples.

    Returns:
        Inputs `[n, 2, 48]`.

    Raises:
        InputError: No series.

    >>> waves(3, seed=0).x.shape
    torch.Size([18, 2, 48])
    """
    per_class, generator = check_count("per_class", per_class), seeded(seed, 34)
    count = per_class * 2 * len(SWEEPS)
    labels = torch.arange(2 * len(SWEEPS)).repeat_interleave(per_class)
    middle = CENTRE + LATE * torch.randn(count, 1, generator=generator, dtype=torch.float64)
    phase = 2 * math.pi * torch.rand(count, 1, generator=generator, dtype=torch.float64)
    t = torch.arange(MOMENTS, dtype=torch.float64) - middle
    change = torch.tensor([1.0, -1.0, 0.0], dtype=torch.float64)[labels // 2, None]
    angle = phase + 0.9 * t + 0.03 * change * t**2
    lag = torch.where(labels % 2 == 0, 0.5, -0.5)[:, None] * math.pi
    clean = torch.stack([angle.sin(), (angle - lag).sin()], 1) * torch.exp(-((t / WIDTH) ** 2) / 2)[:, None]
    noise = HISS * torch.randn(clean.shape, generator=generator, dtype=torch.float64)
    return LabelledData(clean + noise, labels, "waves", f"waves({per_class}, {seed})")


def motif_graphs(per_class: int, seed: int) -> LabelledData:
    """Random graphs of ten nodes with a motif between the first five of them: which is the class.

    A path, a hub, a clique, a ring, or edges between two sides; every other pair has an edge with a chance
    of a quarter, and every weight has noise of 0.1.

    Args:
        per_class: Graphs of each class.
        seed: Seed for drawing samples.

    Returns:
        Adjacency matrices `[n, 10, 10]`.

    Raises:
        InputError: No graphs.

    >>> motif_graphs(3, seed=0).x.shape
    torch.Size([15, 10, 10])
    """
    per_class, generator = check_count("per_class", per_class), seeded(seed, 35)
    labels = torch.arange(len(MOTIFS)).repeat_interleave(per_class)
    size = (len(labels), NODES, NODES)
    edges = (torch.rand(size, generator=generator, dtype=torch.float64) < CHANCE).double()
    edges[:, :PLANTED, :PLANTED] = torch.stack([motif(kind) for kind in MOTIFS])[labels]
    upper = (edges + BLUR * torch.randn(size, generator=generator, dtype=torch.float64)).triu(1)
    return LabelledData(upper + upper.mT, labels, "motifs", f"motif_graphs({per_class}, {seed})")


def motif(kind: str) -> Float64[Tensor, "5 5"]:
    """The adjacency matrix of a motif.

    >>> motif("two sides").sum(1).tolist()
    [3.0, 3.0, 2.0, 2.0, 2.0]
    """
    nodes = range(PLANTED)
    edges = {
        "path": [(i, i + 1) for i in nodes[:-1]],
        "hub": [(0, i) for i in nodes[1:]],
        "clique": [(i, j) for i in nodes for j in nodes[i + 1 :]],
        "ring": [(i, (i + 1) % PLANTED) for i in nodes],
        "two sides": [(i, j) for i in (0, 1) for j in (2, 3, 4)],
    }[kind]
    matrix = torch.zeros(PLANTED, PLANTED, dtype=torch.float64)
    for i, j in edges:
        matrix[i, j] = matrix[j, i] = 1
    return matrix
