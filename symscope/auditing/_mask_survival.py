"""Do masks survive? Whether a fit to other samples predicts the masks of moved ones, position by position.

At a position a fit sees what surrounds it, finely near by and coarsely far away, and where it lies. If masks
move with the samples, `y(g x) = g y(x)`, it predicts the moved mask of a moved sample as well as that of the
sample itself. A mask that marks the left side whatever way a thing stands, or which hand it has, does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor
from torch.nn import functional

from symscope.auditing._mask_data import moved_masks
from symscope.auditing._target_survival import TargetTest, target_tests
from symscope.data import Action
from symscope.numerics import seeded

SCALES = (1, 3, 6)  # pixels between the places around a position that a fit sees, and what each averages
AROUND = 5  # places of a side
POSITIONS = 4  # positions of each sample
MOST_ASKED = 500  # samples of each half


def mask_tests(
    x: Float[Tensor, "m *s"],
    masks: Int64[Tensor, "m a b"],
    action: Action,
    target: Action,
    elements: Sequence[int],
    inside: Bool[Tensor, "h w"] | None,
    comparable: Sequence[int],
    seed: int = 0,
) -> tuple[TargetTest, ...]:
    """For each element: is a fit to other samples worse on moved samples with moved masks?

    The error is that of indicators of the classes, in their variances; positions are drawn so that all
    classes are equally frequent, and intervals are over samples, since positions of one depend on each other.

    Args:
        x: Pictures in random order; the first half is moved, the other one fitted.
        masks: Class at every position of each.
        action: Action on pictures.
        target: Action on masks.
        elements: Elements that move them.
        inside: Positions that no element cuts off; None for all.
        comparable: Elements under which pictures look like the data.
        seed: Seed for drawing positions.
    """
    shape, half = (masks.shape[1], masks.shape[2]), len(x) // 2
    chosen = [torch.arange(half)[:MOST_ASKED], torch.arange(half, len(x))[:MOST_ASKED]]
    rare = 1 / masks.flatten().bincount().clamp_min(1).double()
    frame = torch.ones(shape, dtype=torch.bool)
    if inside is not None:
        frame = functional.adaptive_avg_pool2d(inside[None].double(), shape)[0] == 1

    def rows(pictures: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
        weights = (rare[wanted] * frame).flatten(1)
        at = torch.multinomial(weights, POSITIONS, generator=seeded(seed, 47))
        classes = functional.one_hot(wanted.flatten(1).gather(1, at), len(rare)).double().flatten(0, 1)
        return surroundings(pictures, shape, inside, at), classes

    asked, fitted = ((x[at], masks[at]) for at in chosen)
    found = rows(*fitted)
    spread = _block_spread(found[0])

    def scaled(pair: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return pair[0] / spread, pair[1]

    moved = {
        g: scaled(rows(action.act(g, asked[0]), moved_masks(target, g, asked[1], len(rare))))
        for g in elements
    }
    return target_tests(scaled(found), scaled(rows(*asked)), moved, comparable, POSITIONS)


def surroundings(
    pictures: Float[Tensor, "m *s"],
    shape: tuple[int, int],
    inside: Bool[Tensor, "h w"] | None,
    at: Int64[Tensor, "m p"],
) -> Float64[Tensor, "mp d"]:
    """What surrounds positions of pictures at several scales, and the positions themselves, in -1 .. 1.

    Pictures lose their background (the median) and what lies outside `inside`, as in `comparable_features`.

    Args:
        pictures: Pictures, moved or not.
        shape: Height and width of masks; pictures are averaged to it.
        inside: Pixels of pictures that no element cuts off; None for all.
        at: Positions in each, in rows of the flattened mask.
    """
    images = pictures.float().reshape(len(pictures), -1, *pictures.shape[-2:])
    kept = torch.ones(images.shape[-2:], dtype=torch.bool) if inside is None else inside
    images = torch.where(kept, images - images[:, :, kept].median(2).values[:, :, None, None], 0.0)
    images = functional.adaptive_avg_pool2d(images, shape)
    parts = []
    for step in SCALES:
        # around each pixel the mean of step + 1 or step pixels, an odd number
        wide = step + 1 - step % 2
        smooth = functional.avg_pool2d(images, wide, 1, wide // 2)
        patches = functional.unfold(smooth, AROUND, dilation=step, padding=step * (AROUND // 2))
        parts.append(patches.gather(2, at[:, None].expand(-1, patches.shape[1], -1)).mT.flatten(0, 1))
    low, right = at // shape[1], at % shape[1]
    places = torch.stack([2 * (low + 0.5) / shape[0] - 1, 2 * (right + 0.5) / shape[1] - 1], 2)
    return torch.cat([*parts, places.flatten(0, 1)], 1).double()


def _block_spread(features: Float64[Tensor, "n d"]) -> Float64[Tensor, "d"]:
    """For each column what its block varies by, so that every scale, and the position, counts the same."""
    blocks = [*features[:, :-2].chunk(len(SCALES), 1), features[:, -2:]]
    sizes = [one.var(0).sum().sqrt().clamp_min(1e-12) for one in blocks]
    return torch.cat([size.expand(one.shape[1]) for one, size in zip(blocks, sizes, strict=True)])
