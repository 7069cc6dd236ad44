"""What every source of data returns: inputs, one class each, and their origin; and the bundled sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import final

import numpy as np
import torch
from jaxtyping import Int64, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import check_count, check_finite, checked, seeded


def check_positions(name: str, items: Int64[Tensor, "m"], count: int) -> None:
    """Refuses no positions at all, and those outside 0 .. count - 1.

    >>> check_positions("x", torch.tensor([2, 0]), 3)
    """
    if len(items) == 0:
        raise InputError(f"{name}: expected at least one position, got none.")
    low, high = int(items.min()), int(items.max())
    if low < 0 or high >= count:
        raise InputError(f"{name}: expected positions 0 .. {count - 1}, got {low} .. {high}.")


def evenly_spread(count: int, limit: int | None) -> Int64[Tensor, "k"]:
    """Positions of so many of all samples, spread evenly; all of them where there is no limit.

    Raises:
        InputError: A limit that is not a positive whole number.

    >>> evenly_spread(6, 3).tolist()
    [0, 2, 4]
    """
    taken = count if limit is None else min(check_count("--limit", limit), count)
    return torch.arange(taken) * count // taken


@checked
@final
@dataclass(frozen=True, eq=False)
class LabelledData:
    """Inputs with one class each.

    Attributes:
        x: The inputs, [n, *shape], floating point (float64 unless the source was asked for another).
        labels: The class of each input, [n].
        name: What a plot or a message calls the set.
        source: Origin of the data: a file, a package, a formula with its parameters.
        indices: The position of each item in the source, [n]; 0 .. n - 1 when not given.

    >>> x, labels = torch.tensor([[0.0, 1.0], [2.0, 5.0], [3.0, 1.0]]), torch.tensor([7, 4, 7])
    >>> data = LabelledData(x, labels, "toy", "typed")
    >>> data.classes
    (4, 7)
    >>> data.of_classes(7).indices.tolist()
    [0, 2]
    """

    x: Shaped[Tensor, "*x"]
    labels: Shaped[Tensor, "*labels"]
    name: str
    source: str
    indices: Shaped[Tensor, "*indices"] | None = None

    def __post_init__(self) -> None:
        x, labels = self.x, self.labels
        if x.ndim < 2 or 0 in x.shape:
            raise InputError(
                f"{self.name}: expected inputs [n, *shape], at least one, got shape {tuple(x.shape)}."
            )
        if not x.is_floating_point():
            raise InputError(
                f"{self.name}: expected floating-point inputs, got {x.dtype}; convert with .double()."
            )
        if labels.dtype != torch.int64 or labels.ndim != 1:
            raise InputError(
                f"{self.name}: expected labels [n] of type int64 (one class number per item), "
                f"got shape {tuple(labels.shape)} of {labels.dtype}."
            )
        if len(x) != len(labels):
            raise InputError(
                f"{self.name}: expected one label per input, got {len(x)} inputs, {len(labels)} labels."
            )
        indices = torch.arange(len(x)) if self.indices is None else self.indices
        if indices.dtype != torch.int64 or indices.shape != labels.shape:
            raise InputError(
                f"{self.name}: expected {len(x)} indices of type int64, "
                f"got shape {tuple(indices.shape)} of {indices.dtype}."
            )
        check_finite(self.name, x)
        object.__setattr__(self, "indices", indices)

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        shape = " x ".join(str(side) for side in self.x.shape[1:])
        kinds = f"{len(self.classes)} classes"
        return f"LabelledData({self.name}: {len(self)} items of {shape}, {kinds}, {self.source})"

    @property
    def classes(self) -> tuple[int, ...]:
        """The classes that occur, ascending."""
        return tuple(int(label) for label in self.labels.unique())

    def take(self, items: Int64[Tensor, "m"]) -> LabelledData:
        """The items at these positions, in this order.

        Raises:
            InputError: No position is given, or one is outside 0 .. n - 1.
        """
        check_positions(self.name, items, len(self))
        assert self.indices is not None
        return replace(self, x=self.x[items], labels=self.labels[items], indices=self.indices[items])

    def of_classes(self, *classes: int) -> LabelledData:
        """The items of these classes alone, in their order in the set; labels keep their values.

        Raises:
            InputError: No class is named, or one has no item.
        """
        if not classes:
            raise InputError(f"{self.name}: expected at least one class, got none.")
        for label in classes:
            self._members(label)
        return self.take(
            torch.isin(self.labels, torch.tensor(classes, device=self.labels.device)).nonzero()[:, 0]
        )

    def per_class(self, count: int, seed: int, classes: Sequence[int] | None = None) -> LabelledData:
        """The same number of items from each class, drawn without replacement.

        A class's draw depends on the seed, the class and its own items alone, and a smaller count gives the
        first items of a larger one.

        Args:
            count: Items per class.
            seed: Random seed, a non-negative integer.
            classes: Which classes, in which order; all that occur, ascending, when not given.

        Returns:
            `count * len(classes)` items, class after class.

        Raises:
            InputError: A class is empty or has too few items.
        """
        count = check_count("count", count)
        drawn = []
        for label in self.classes if classes is None else classes:
            members = self._members(label)
            if len(members) < count:
                raise InputError(
                    f"{self.name}: class {label} has {len(members)} items, not {count}; ask for fewer."
                )
            order = torch.randperm(len(members), generator=seeded(seed, label))[:count]
            drawn.append(members[order.to(members.device)])
        if not drawn:
            raise InputError(f"{self.name}: expected at least one class, got none.")
        return self.take(torch.cat(drawn))

    def standardised(self) -> LabelledData:
        """Each input minus its own mean, then divided by its norm, as the spectral experiments take images.

        Raises:
            InputError: An input is constant, so that nothing is left after its mean is gone.
        """
        flat = self.x.flatten(1)
        centred = flat - flat.mean(1, keepdim=True)
        norm = centred.norm(dim=1)
        # what rounding leaves of a constant input is below this
        floor = 4 * math.sqrt(flat.shape[1]) * torch.finfo(flat.dtype).eps * flat.abs().amax(1)
        constant = (norm <= floor).nonzero()[:, 0]
        if len(constant):
            raise InputError(
                f"{self.name}: expected inputs that vary, got {len(constant)} constant ones, the first at "
                f"index {int(constant[0])}; remove them before standardising."
            )
        return replace(self, x=(centred / norm[:, None]).reshape(self.x.shape))

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> LabelledData:
        """The same data on another device or in another floating-point type."""
        assert self.indices is not None
        return replace(
            self,
            x=self.x.to(device=device, dtype=dtype),
            labels=self.labels.to(device=device),
            indices=self.indices.to(device=device),
        )

    def _members(self, label: int) -> Int64[Tensor, "m"]:
        members = (self.labels == label).nonzero()[:, 0]
        if len(members) == 0:
            raise InputError(f"{self.name}: class {label} is empty; the set has classes {self.classes}.")
        return members


@checked
def mnist_sample(dtype: torch.dtype = torch.float64) -> LabelledData:
    """The first 200 training images of each MNIST class, pixels in [0, 1].

    Origin and licence (CC BY-SA 3.0) are in `symscope/data/bundled/MNIST.txt`.

    Args:
        dtype: Floating-point type of the pixels.

    Returns:
        2,000 images [2000, 28, 28], class after class; `indices` are positions in MNIST's training file.

    >>> mnist_sample().per_class(3, seed=0).x.shape
    torch.Size([30, 28, 28])
    """
    file = resources.files("symscope.data.bundled") / "mnist_sample.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        images, labels, indices = (torch.from_numpy(arrays[key]) for key in ("images", "labels", "indices"))
    return LabelledData(
        images.to(dtype) / 255, labels.long(), "MNIST sample", "bundled with symscope", indices.long()
    )
