"""Inputs of a training: orbits kept in memory, or made on the fly from their samples.

Point `s * order + g` is element g on sample s. `stored_orbits` and `GeneratedPoints` are for data sets of
whole orbits, as the reproductions train on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.data import Action
from symscope.errors import InputError
from symscope.numerics import check_finite, checked
from symscope.training._checkpoint import content_sum

__all__ = ["GeneratedPoints", "StoredPoints", "stored_orbits"]


def centred_unit(x: Float[Tensor, "*batch shape"], sample_ndim: int) -> Float[Tensor, "*batch shape"]:
    """Each sample minus its own mean, then divided by its norm.

    >>> centred_unit(torch.tensor([[1.0, 3.0], [0.0, 8.0]]), 1)
    tensor([[-0.7071,  0.7071],
            [-0.7071,  0.7071]])
    """
    axes = tuple(range(-sample_ndim, 0))
    centred = x - x.mean(axes, keepdim=True)
    return centred / torch.linalg.vector_norm(centred, dim=axes, keepdim=True)


@checked
@final
@dataclass(frozen=True, eq=False)
class StoredPoints:
    """Points kept in memory.

    Attributes:
        points: All of them, floating point.
        order: Number of points in a row that belong to one sample; 1 if there are no orbits.

    Raises:
        InputError: No points, some not finite, or a number that is not a multiple of the order.

    >>> StoredPoints(torch.ones(6, 1, 2, 2), order=3).take(torch.tensor([5])).shape
    torch.Size([1, 1, 2, 2])
    """

    points: Float[Tensor, "n *s"]
    order: int = 1

    def __post_init__(self) -> None:
        if self.points.ndim < 2 or 0 in self.points.shape or self.order < 1 or len(self.points) % self.order:
            raise InputError(
                f"points: expected whole orbits of {self.order} points, got shape {tuple(self.points.shape)}."
            )
        for start in range(0, len(self.points), 65536):  # in pieces: a mask of all would double the memory
            check_finite(f"points from {start} on", self.points[start : start + 65536])

    def __len__(self) -> int:
        return len(self.points)

    @property
    def device(self) -> torch.device:
        """Device of the points."""
        return self.points.device

    def to(self, device: torch.device) -> StoredPoints:
        """The same points on another device."""
        return StoredPoints(self.points.to(device), self.order)

    def take(self, index: Int64[Tensor, "*k"]) -> Float[Tensor, "..."]:
        """The points at these positions."""
        return self.points[index]

    def problem(self) -> dict[str, Any]:
        """What a checkpoint remembers of them."""
        return {
            "points": list(self.points.shape),
            "stored as": str(self.points.dtype),
            "content": content_sum(self.points),
        }


@checked
@final
@dataclass(frozen=True, eq=False)
class GeneratedPoints:
    """Orbits made on the fly: only the samples are kept; each point is centred and of unit norm.

    For orbits that do not fit in memory: 60,000 images under 64 rotations are 12 GB in float32, the images
    themselves 0.2 GB. Costs one interpolation per image and step.

    Attributes:
        samples: Untransformed inputs `[m, *sample]`, without a channel axis.
        action: Action of the group on one sample.

    Raises:
        InputError: A wrong number of axes, samples that are constant or not finite.

    >>> from symscope.data import rotation
    >>> GeneratedPoints(torch.eye(2)[None] + torch.ones(2), rotation(4)).take(torch.tensor([1])).shape
    torch.Size([1, 1, 2, 2])
    """

    samples: Float[Tensor, "m *s"]
    action: Action

    def __post_init__(self) -> None:
        if self.samples.ndim != self.action.sample_ndim + 1 or 0 in self.samples.shape:
            raise InputError(
                f"samples: expected [m, ...] with {self.action.sample_ndim} axes each for the action "
                f"{self.action.name}, got shape {tuple(self.samples.shape)}."
            )
        if not self.samples.is_floating_point():
            raise InputError(f"samples: expected floating-point numbers, got {self.samples.dtype}.")
        check_finite("samples", self.samples)
        flat = self.samples.flatten(1)
        constant = (flat.amax(1) == flat.amin(1)).nonzero()[:, 0]
        if len(constant):
            raise InputError(f"samples: expected inputs that vary; sample {int(constant[0])} is constant.")

    def __len__(self) -> int:
        return len(self.samples) * self.order

    @property
    def order(self) -> int:
        """Points per sample."""
        return self.action.group.order

    @property
    def device(self) -> torch.device:
        """Device of the points."""
        return self.samples.device

    def to(self, device: torch.device) -> GeneratedPoints:
        """The same points on another device."""
        return GeneratedPoints(self.samples.to(device), self.action)

    def take(self, index: Int64[Tensor, "*k"]) -> Float[Tensor, "..."]:
        """The points at these positions, with a channel axis."""
        ndim = self.action.sample_ndim
        moved = self.action.act(index % self.order, self.samples[index // self.order])
        return centred_unit(moved, ndim).unsqueeze(-ndim - 1)

    def problem(self) -> dict[str, Any]:
        """What a checkpoint remembers of them."""
        return {
            "points": [len(self), *self.samples.shape[1:]],
            "action": f"{self.action.name} of {self.action.group.name}",
            "content": content_sum(self.samples),
        }


@checked
def stored_orbits(
    samples: Float[Tensor, "m *s"], action: Action, dtype: torch.dtype, device: torch.device
) -> StoredPoints:
    """Every sample under every element, centred and of unit norm, made in pieces and kept in memory.

    Args:
        samples: Untransformed inputs `[m, *sample]`; the arithmetic is in their dtype.
        action: Action of the group on one sample.
        dtype: Precision the points are stored in; bfloat16 halves the memory where training uses it anyway.
        device: Device on which points are made and stored.

    Returns:
        `m * order` points with a channel axis, sample after sample.

    Raises:
        InputError: The same cases as for `GeneratedPoints`.

    >>> from symscope.data import rotation
    >>> images = torch.tensor([[[0.0, 1.0], [2.0, 5.0]]])
    >>> stored_orbits(images, rotation(4), torch.float32, torch.device("cpu")).points.shape
    torch.Size([4, 1, 2, 2])
    """
    source = GeneratedPoints(samples, action)
    shape, order = samples.shape[1:], source.order
    points = torch.empty(len(source), 1, *shape, dtype=dtype, device=device)
    # about 2^25 numbers at a time: small beside the whole, large enough to keep a GPU busy
    step = max(1, 2**25 // (order * math.prod(shape)))
    for start in range(0, len(samples), step):
        piece = source.action.act_all(samples[start : start + step].to(device))
        made = centred_unit(piece, len(shape)).flatten(0, 1).unsqueeze(1)
        points[start * order : start * order + len(made)] = made.to(dtype)
    return StoredPoints(points, order)
