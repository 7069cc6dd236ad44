"""Samples with a class at every position (segmentation) or without labels, and data as samples."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64, Shaped
from torch import Tensor
from torch.nn import functional

from symscope.data import Action, LabelledData, MeasuredData, as_samples, read_arrays
from symscope.errors import InputError
from symscope.numerics import check_count, check_finite
from symscope.user_code import load_user_function, user_errors

MOST_CLASSES = 1024  # of masks: larger numbers are no classes


@final
@dataclass(frozen=True, eq=False)
class MaskData:
    """Samples with a mask each, or without any labels.

    Attributes:
        x: The samples, `[n, *shape]`, floating point.
        masks: A class for every position of every sample, `[n, *positions]`; None where there are no labels.
        name: Name of the set in messages.
        source: Origin of the data.
    """

    x: Shaped[Tensor, "n *s"]
    masks: Int64[Tensor, "n *p"] | None
    name: str
    source: str

    def __len__(self) -> int:
        return len(self.x)

    def take(self, places: Int64[Tensor, "m"]) -> MaskData:
        """The samples at these positions, in this order."""
        masks = None if self.masks is None else self.masks[places]
        return replace(self, x=self.x[places], masks=masks)

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> MaskData:
        """The same data on another device, samples in another floating-point type."""
        masks = None if self.masks is None else self.masks.to(device=device)
        return replace(self, x=self.x.to(device=device, dtype=dtype), masks=masks)


AuditData = LabelledData | MeasuredData | MaskData


def audit_samples(
    data: Any, task: str = "auto", limit: int | None = None
) -> tuple[AuditData, tuple[str, ...] | None]:
    """What `data.as_samples` takes, and also masks, maps of numbers, and samples without labels.

    Args:
        data: `(X, y)` and all else that `as_samples` takes; y may be `[n, h, w]`, whole numbers for masks,
            other numbers for maps to predict. X alone, `(X, None)`, or a file without y: no labels.
        task: "auto", "classification" or "regression".
        limit: Samples to take, at most.

    Raises:
        InputError: As `as_samples`; or masks whose numbers are no classes.

    >>> audit_samples((torch.rand(4, 8, 8), torch.ones(4, 8, 8).long()))[0].masks.shape
    torch.Size([4, 8, 8])
    """
    if isinstance(data, MaskData):
        return data, None
    given, name, source = data, "data", type(data).__name__
    if isinstance(data, (str, os.PathLike)):
        path = Path(data)
        name, source = path.stem, str(data)
        if path.suffix == ".npz" and path.is_file():
            data = _opened(path)
        elif ":" in source and not path.exists():
            function = load_user_function("--data", source)
            with user_errors(f"--data {source}: it"):
                data = function()
            name = source.rpartition(":")[2]
            if isinstance(data, (str, os.PathLike)):
                raise InputError(f"--data {source}: expected samples, got the text {str(data)[:60]!r}.")
            return audit_samples(data, task, limit)
    pair = _maps_or_alone(data)
    if pair is None:
        return as_samples(given, task, limit)
    x, y = pair
    samples = _checked(x, y, task, name, source)
    count = len(samples) if limit is None else min(check_count("--limit", limit), len(samples))
    return samples.take(torch.arange(count) * len(samples) // count), None


def _opened(path: Path) -> Any:
    """Samples and labels of a file whose labels are maps or missing; anything else for other files."""
    try:
        with zipfile.ZipFile(path) as archive:
            keys = {one.removesuffix(".npy") for one in archive.namelist()}
    except (zipfile.BadZipFile, OSError):
        return None  # as_samples says what is wrong with it
    if "X" not in keys:
        return None
    if "y" not in keys:
        return read_arrays(path, "X", "X")[0]
    y = read_arrays(path, "y", "y")[0]
    return (read_arrays(path)[0], y) if y.ndim > 2 else None


def _maps_or_alone(data: Any) -> tuple[Any, Any] | None:
    """X and y where y is a map for each sample, or None where there are no labels; None for other data."""
    if isinstance(data, (Tensor, np.ndarray)):
        return data, None
    if isinstance(data, (tuple, list)) and len(data) == 2 and isinstance(data[0], (Tensor, np.ndarray)):
        if data[1] is None or np.ndim(data[1]) > 2:
            return data[0], data[1]
        return None
    if isinstance(data, (str, os.PathLike, tuple, list, LabelledData, MeasuredData)):
        return None
    if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not hasattr(data, "keys") and len(data):
        with user_errors("data: its dataset"):
            first = data[0]
            if isinstance(first, (tuple, list)) and len(first) == 2 and np.ndim(first[1]) >= 2:
                pairs = [data[k] for k in range(len(data))]
                stacked = [torch.stack([torch.as_tensor(one[k]) for one in pairs]) for k in (0, 1)]
                return stacked[0], stacked[1]
    return None


def _checked(x: Any, y: Any, task: str, name: str, source: str) -> AuditData:
    x = torch.as_tensor(x)
    if x.ndim < 2 or 0 in x.shape or x.is_complex():
        raise InputError(f"{name}: expected real inputs [n, *shape], at least one, got {tuple(x.shape)}.")
    x = x if x.is_floating_point() else x.double()
    check_finite(name, x)
    if y is None:
        return MaskData(x, None, name, source)
    y = torch.as_tensor(y)
    if len(y) != len(x):
        raise InputError(f"{name}: expected a mask for each of {len(x)} samples, got {len(y)}.")
    whole = not y.is_floating_point() or bool((y == y.round()).all())
    if task == "regression" or (task == "auto" and not whole):
        numbers = y.to(x.dtype).flatten(1)
        check_finite(f"{name}, targets", numbers)
        return MeasuredData(x, numbers, name, source)
    low, high = (float(y.min()), float(y.max())) if y.numel() else (-1.0, -1.0)
    if not whole or low < 0 or high >= MOST_CLASSES:
        raise InputError(
            f"{name}: expected masks of classes from 0 to {MOST_CLASSES - 1}, got numbers from {low:g} to "
            f"{high:g}; for numbers to predict say task='regression' (--task regression)."
        )
    masks = y.long()
    return MaskData(x, masks[:, 0] if masks.ndim > 3 and masks.shape[1] == 1 else masks, name, source)


def mask_scores(
    outputs: Float[Tensor, "m *t"], masks: Int64[Tensor, "m *p"], classes: int | None = None
) -> Float[Tensor, "m c *p"] | None:
    """A score for each class at every position; None where outputs do not fit the masks.

    A single score decides between classes 0 and 1 by its sign.

    Args:
        outputs: Outputs of a network.
        masks: The class at every position.
        classes: Number of classes, where these masks do not have all of them.
    """
    classes = classes or int(masks.max()) + 1
    if outputs.shape == masks.shape:
        outputs = outputs[:, None]
    if outputs.ndim != masks.ndim + 1 or outputs.shape[2:] != masks.shape[1:]:
        return None
    if outputs.shape[1] == 1:
        return torch.cat([torch.zeros_like(outputs), outputs], 1) if classes <= 2 else None
    return outputs if outputs.shape[1] >= classes else None


def masks_right(outputs: Float64[Tensor, "m *t"], masks: Int64[Tensor, "m *p"]) -> Float64[Tensor, "m"]:
    """The share of positions of each sample whose class is right; NaN where outputs do not fit.

    >>> out = torch.tensor([[[-1.0, 2.0], [3.0, -1.0]]], dtype=torch.float64)
    >>> masks_right(out, torch.tensor([[[0, 1], [0, 0]]])).tolist()
    [0.75]
    """
    scores = mask_scores(outputs, masks)
    if scores is None:
        return torch.full((len(outputs),), float("nan"), dtype=torch.float64)
    return (scores.argmax(1) == masks).double().flatten(1).mean(1)


def moved_masks(
    action: Action | None, g: int, masks: Int64[Tensor, "m *p"], classes: int = -1
) -> Int64[Tensor, "m *p"]:
    """The masks moved as outputs are; between positions the class with the largest part.

    Args:
        action: Action on masks; None where they stay.
        g: Element.
        masks: Class at every position.
        classes: Number of classes; those of these masks when -1.
    """
    if action is None:
        return masks
    return action.act(g, one_hot_masks(masks, classes)).argmax(1)


def one_hot_masks(masks: Int64[Tensor, "m *p"], classes: int = -1) -> Float64[Tensor, "m c *p"]:
    """A channel for each class, 1 at its positions."""
    return functional.one_hot(masks, classes).movedim(-1, 1).double()
