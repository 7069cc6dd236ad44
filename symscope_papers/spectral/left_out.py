"""Data whose symmetry is seen only in part: one class is never shown untransformed (Fig. 1A)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from symscope.data import Action, LabelledData
from symscope.errors import InputError
from symscope.groups import cyclic
from symscope.numerics import seeded
from symscope.training.points import GeneratedPoints, StoredPoints, stored_orbits


@final
@dataclass(frozen=True, eq=False)
class LeftOutData:
    """Every sample under every element, and for each left-out class who sees what.

    Attributes:
        points: The inputs; point `s * order + g` is element g on sample s.
        labels: The class of each point.
        left_out: The left-out class of each row of the masks.
        train: What is trained on: 90 % of all points but the left-out ones.
        in_test: The other 10 %: held out, in orientations that were seen.
        out_test: The untransformed samples of the left-out class, never seen.
    """

    points: StoredPoints | GeneratedPoints
    labels: Int64[Tensor, "n"]
    left_out: tuple[int, ...]
    train: Bool[Tensor, "classes n"]
    in_test: Bool[Tensor, "classes n"]
    out_test: Bool[Tensor, "classes n"]

    @property
    def tests(self) -> dict[str, Bool[Tensor, "classes n"]]:
        """The three sets by the paper's names, ready for `train_networks`."""
        return {"train": self.train, "in-test": self.in_test, "out-test": self.out_test}


def left_out_data(
    data: LabelledData,
    action: Action,
    left_out: Sequence[int],
    seed: int,
    *,
    held_out: float = 0.1,
    split: str = "points",
    stored: bool = True,
    prepared: str = "centred",
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> LeftOutData:
    """The data of Fig. 1: all samples in all orientations, less one class in its upright one.

    The split does not depend on the left-out class, so that rows of the masks differ in that class alone.

    Args:
        data: Labelled samples; images without a channel axis.
        action: `symscope.data.rotation(n)` in the paper.
        left_out: Classes to leave out, one row of masks each.
        seed: Seed for drawing the split.
        held_out: Share of points held out for the in-test set.
        split: "points" draws points one by one, as the paper does: other orientations of an in-test image
            are trained on. "samples" holds out samples with all their orientations.
        stored: Keep all points in memory; False makes them on the fly: `GeneratedPoints`, samples in `dtype`.
        prepared: "centred" subtracts each point's mean and divides by its norm; "unit" divides upright images
            by their norms, as the authors' script does; "pixels" leaves images as they are.
        dtype: Precision of the points; bfloat16 halves their memory.
        device: Device holding the points.

    Raises:
        InputError: No class, one that is not there, a share outside (0, 1), an unknown split, a group of one
            element, or inputs the action cannot take.

    >>> from symscope.data import mnist_sample, rotation
    >>> few = mnist_sample().per_class(5, seed=0)
    >>> fig1 = left_out_data(few, rotation(4), left_out=[3, 8], seed=0)
    >>> len(fig1.points), fig1.out_test.sum(1).tolist(), fig1.in_test.sum(1).tolist()
    (200, [5, 5], [19, 20])
    """
    order = action.group.order
    check_request(data, action, left_out, held_out, split)
    where = torch.device(device)
    points: StoredPoints | GeneratedPoints
    if prepared != "centred":
        points = _plain_orbits(data.x.to(where), action, prepared, dtype)
    elif stored:
        points = stored_orbits(data.x, action, dtype, where)
    else:
        points = GeneratedPoints(data.x.to(where, dtype), action)
    labels = data.labels.to(where).repeat_interleave(order)
    upright = torch.arange(len(labels), device=where) % order == action.group.identity
    draws = len(data) * (order if split == "points" else 1)
    chosen = torch.zeros(draws, dtype=torch.bool)
    chosen[torch.randperm(draws, generator=seeded(seed))[: max(1, round(held_out * draws))]] = True
    held = (chosen if split == "points" else chosen.repeat_interleave(order)).to(where)
    out = torch.stack([upright & (labels == label) for label in left_out])
    return LeftOutData(points, labels, tuple(left_out), ~held & ~out, held & ~out, out)


def _plain_orbits(
    x: Float[Tensor, "m h w"], action: Action, prepared: str, dtype: torch.dtype
) -> StoredPoints:
    """Every sample under every element, without centring; in pieces, as `stored_orbits` does."""
    if prepared not in ("unit", "pixels"):
        raise InputError(f"prepared: expected 'centred', 'unit' or 'pixels', got {prepared!r}.")
    if prepared == "unit":
        x = x / x.flatten(1).norm(dim=1)[:, None, None]
    step = max(1, 2**25 // (action.group.order * x[0].numel()))
    pieces = [action.act_all(part).to(dtype) for part in x.split(step)]
    return StoredPoints(torch.cat(pieces).flatten(0, 1).unsqueeze(1), action.group.order)


def nearest_rotation(n: int) -> Action:
    """C_n turning square images, each pixel taken from the nearest one, as torchvision's `rotate` does.

    >>> nearest_rotation(4).act(1, torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[2.0, 4.0], [1.0, 3.0]]
    """
    return Action("rotation, nearest pixel", cyclic(n), NearestRotation(n), 2)


@final
@dataclass(frozen=True)
class NearestRotation:
    """The transform of `nearest_rotation`: element k rotates by 360 k / n degrees, counter-clockwise."""

    n: int

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        side = x.shape[-1]
        place = torch.arange(side, dtype=torch.float64, device=x.device) - (side - 1) / 2
        angle = 2 * math.pi / self.n * g.to(x.device)[..., None, None]
        down, right = place[:, None], place[None, :]
        row = angle.cos() * down + angle.sin() * right
        column = angle.cos() * right - angle.sin() * down
        # half pixels are rounded the same way on every machine, whatever the last bit of a cosine
        rows, columns = ((one + (side - 1) / 2).round(decimals=9).round().long() for one in (row, column))
        inside = (rows >= 0) & (rows < side) & (columns >= 0) & (columns < side)
        flat = (rows.clamp(0, side - 1) * side + columns.clamp(0, side - 1)).flatten(-2)
        shape = torch.broadcast_shapes(flat.shape[:-1], x.shape[:-2])
        images, places = x.flatten(-2).expand(*shape, -1), flat.expand(*shape, -1)
        return images.gather(-1, places).unflatten(-1, (side, side)) * inside.to(x.dtype)


def check_request(
    data: LabelledData, action: Action, left_out: Sequence[int], held_out: float, split: str
) -> None:
    """Refuses classes that are not there, and splits that leave nothing on one side."""
    if len(left_out) == 0:
        raise InputError("left_out: expected at least one class, got none.")
    absent = [label for label in left_out if label not in data.classes]
    if absent:
        raise InputError(f"left_out: class {absent[0]} is not in {data.name}; it has {data.classes}.")
    if not 0 < held_out < 1:
        raise InputError(f"held_out: expected a share between 0 and 1, got {held_out}.")
    if split not in ("points", "samples"):
        raise InputError(f"split: expected 'points' or 'samples', got {split!r}.")
    if action.group.order < 2:
        raise InputError(
            "action: expected two orientations or more; with one, the left-out class would never be seen."
        )
