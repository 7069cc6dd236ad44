"""Inputs with numbers to predict."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Int64, Shaped
from torch import Tensor

from symscope.data._labelled import check_positions
from symscope.errors import InputError
from symscope.numerics import check_finite, checked


@checked
@final
@dataclass(frozen=True, eq=False)
class MeasuredData:
    """Inputs with one or several real numbers each.

    Attributes:
        x: The inputs, [n, *shape], floating point.
        targets: The numbers of each input, [n, t], floating point; [n] is taken as [n, 1], and numbers with
            positions, [n, h, w] or [n, c, h, w], are flattened.
        name: What a plot or a message calls the set.
        source: Origin of the data: a file, a package, a formula with its parameters.
        target_shape: Shape of the numbers of one input before they were flattened.
        classes: Classes of masks, whose numbers `[n, classes, h, w]` are 1 in the channel of a position's
            class and 0 in the others; 0 where targets are plain numbers.

    Raises:
        InputError: Not one row of finite numbers for each input.

    >>> x = torch.tensor([[0.0, 1.0], [2.0, 5.0], [3.0, 1.0]])
    >>> MeasuredData(x, torch.tensor([0.5, 2.5, 1.0]), "toy", "typed")
    MeasuredData(toy: 3 items of 2, 1 target, typed)
    """

    x: Shaped[Tensor, "*x"]
    targets: Shaped[Tensor, "*targets"]
    name: str
    source: str
    target_shape: tuple[int, ...] = ()
    classes: int = 0

    def __post_init__(self) -> None:
        x = self.x
        targets = self.targets[:, None] if self.targets.ndim == 1 else self.targets
        if x.ndim < 2 or 0 in x.shape:
            raise InputError(
                f"{self.name}: expected inputs [n, *shape], at least one, got shape {tuple(x.shape)}."
            )
        if targets.ndim < 2 or 0 in targets.shape:
            raise InputError(
                f"{self.name}: expected targets [n] or [n, *t], one or more numbers for each sample, got "
                f"shape {tuple(targets.shape)}."
            )
        shape = self.target_shape or tuple(targets.shape[1:])
        targets = targets.flatten(1)
        if math.prod(shape) != targets.shape[1]:
            raise InputError(
                f"{self.name}: expected targets of shape {shape}, got {targets.shape[1]} numbers for each "
                "sample."
            )
        for what, values in (("inputs", x), ("targets", targets)):
            if not values.is_floating_point():
                raise InputError(
                    f"{self.name}: expected floating-point {what}, got {values.dtype}; convert with "
                    ".double()."
                )
        if len(x) != len(targets):
            raise InputError(
                f"{self.name}: expected targets for each input, got {len(x)} inputs, {len(targets)} targets."
            )
        check_finite(self.name, x)
        check_finite(f"{self.name}, targets", targets)
        object.__setattr__(self, "targets", targets)
        object.__setattr__(self, "target_shape", shape)

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        shape = " x ".join(str(side) for side in self.x.shape[1:])
        count = self.targets.shape[1]
        kinds = f"{count} target" + ("s" if count > 1 else "")
        return f"MeasuredData({self.name}: {len(self)} items of {shape}, {kinds}, {self.source})"

    def take(self, items: Int64[Tensor, "m"]) -> MeasuredData:
        """The items at these positions, in this order.

        Raises:
            InputError: No position is given, or one is outside 0 .. n - 1.
        """
        check_positions(self.name, items, len(self))
        return replace(self, x=self.x[items], targets=self.targets[items])

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> MeasuredData:
        """The same data on another device or in another floating-point type."""
        return replace(
            self, x=self.x.to(device=device, dtype=dtype), targets=self.targets.to(device=device, dtype=dtype)
        )
