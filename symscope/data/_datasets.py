"""Any torch Dataset of (input, class) pairs, read into tensors once."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset

from symscope.data._array_files import as_float64
from symscope.data._labelled import LabelledData
from symscope.data._measured import MeasuredData
from symscope.errors import InputError
from symscope.numerics import check_count

_PIL_WHITE = {"1": 1, "L": 255, "RGB": 255, "RGBA": 255}


def from_dataset(
    dataset: Dataset[Any] | Iterable[Any],
    limit: int | None = None,
    name: str | None = None,
    dtype: torch.dtype = torch.float64,
) -> LabelledData:
    """The first items of a dataset, map-style or iterable, that gives `(x, y)` pairs.

    Tensors, arrays and numbers are taken as they are. PIL images become [height, width] (grey) or
    [channels, height, width] (colour) with values in [0, 1].

    Args:
        dataset: Gives pairs of an input and a class number.
        limit: Items to read; all when not given.
        name: What plots call it; the dataset's class name when not given.
        dtype: Floating-point type of the inputs.

    Returns:
        The items, stacked.

    Raises:
        InputError: No items, items that are not pairs, inputs of different shapes, or labels that are not
            whole numbers.

    >>> from torch.utils.data import TensorDataset
    >>> pairs = TensorDataset(torch.arange(6.0).reshape(3, 2), torch.tensor([2, 0, 2]))
    >>> from_dataset(pairs, limit=2).labels
    tensor([2, 0])
    """
    x, values, title = read_pairs(dataset, limit, name, dtype)
    return labelled_pairs(x, values, title, type(dataset).__qualname__)


def measured_dataset(
    dataset: Dataset[Any] | Iterable[Any],
    limit: int | None = None,
    name: str | None = None,
    dtype: torch.dtype = torch.float64,
) -> MeasuredData:
    """The first items of a dataset that gives pairs of an input and one or several numbers to predict.

    Args:
        dataset: Gives pairs; inputs are read as in `from_dataset`.
        limit: Items to read; all when not given.
        name: What plots call it; the dataset's class name when not given.
        dtype: Floating-point type of inputs and numbers.

    Raises:
        InputError: No items, items that are not pairs, or inputs or numbers of different shapes.

    >>> from torch.utils.data import TensorDataset
    >>> pairs = TensorDataset(torch.arange(6.0).reshape(3, 2), torch.tensor([0.5, 2.0, 1.0]))
    >>> measured_dataset(pairs, limit=2).targets.tolist()
    [[0.5], [2.0]]
    """
    x, values, title = read_pairs(dataset, limit, name, dtype)
    return measured_pairs(x, values, title, type(dataset).__qualname__, dtype)


def read_pairs(
    dataset: Dataset[Any] | Iterable[Any], limit: int | None, name: str | None, dtype: torch.dtype
) -> tuple[Tensor, list[Any], str]:
    """The inputs of a dataset, stacked, what stands beside each, and a name.

    Raises:
        InputError: No items, items that are not pairs, or inputs of different shapes.
    """
    if limit is not None:
        limit = check_count("limit", limit)
    inputs: list[Tensor] = []
    values: list[Any] = []
    for index, item in enumerate(_items(dataset, limit)):
        if not isinstance(item, (tuple, list)) or len(item) != 2:
            raise InputError(f"item {index}: expected a pair (input, class), got {_described(item)}.")
        value = _input(item[0], index, dtype)
        if inputs and value.shape != inputs[0].shape:
            raise InputError(
                f"item {index}: expected inputs of one shape, {tuple(inputs[0].shape)} as in item 0, "
                f"got {tuple(value.shape)}; resize or crop them in the dataset."
            )
        inputs.append(value)
        values.append(item[1])
    title = name or type(dataset).__name__
    if not inputs:
        raise InputError(f"{title}: expected a dataset with items, got an empty one.")
    x = torch.stack(inputs)
    return (x if x.ndim > 1 else x[:, None]), values, title


def labelled_pairs(x: Tensor, values: list[Any], name: str, source: str) -> LabelledData:
    """Inputs with class numbers.

    Raises:
        InputError: A value that is not a whole number.
    """
    labels = [_label(value, index) for index, value in enumerate(values)]
    return LabelledData(x, torch.tensor(labels), name, source)


def measured_pairs(
    x: Tensor, values: list[Any], name: str, source: str, dtype: torch.dtype = torch.float64
) -> MeasuredData:
    """Inputs with numbers to predict.

    Raises:
        InputError: Values that are no numbers, or of different shapes.
    """
    return MeasuredData(x, torch.from_numpy(number_rows(values)).to(dtype), name, source)


def number_rows(values: list[Any]) -> np.ndarray:
    """What stands beside inputs as one array, a row for each.

    Raises:
        InputError: Values that are no numbers, or of different shapes.
    """
    rows: list[np.ndarray] = []
    for index, value in enumerate(values):
        try:
            row = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
        except ValueError as error:
            raise InputError(f"item {index}: expected numbers to predict in a row, got: {error}.") from error
        if row.dtype.kind not in "buif" or row.ndim > 1:
            raise InputError(f"item {index}: expected one or several numbers to predict, got {value!r}.")
        row = as_float64(row).reshape(-1)
        if rows and row.shape != rows[0].shape:
            raise InputError(f"item {index}: expected {len(rows[0])} numbers as in item 0, got {len(row)}.")
        rows.append(row)
    return np.stack(rows)


def _items(dataset: Any, limit: int | None) -> Iterator[Any]:
    if (
        not isinstance(dataset, IterableDataset)
        and hasattr(dataset, "__getitem__")
        and hasattr(dataset, "__len__")
    ):
        count = len(dataset) if limit is None else min(limit, len(dataset))
        return (dataset[index] for index in range(count))
    if not hasattr(dataset, "__iter__"):
        raise InputError(
            f"dataset: expected __getitem__ and __len__, or __iter__, got {type(dataset).__name__}."
        )
    return itertools.islice(iter(dataset), limit)


def _input(value: Any, index: int, dtype: torch.dtype) -> Tensor:
    if isinstance(value, Tensor):
        if value.is_complex():
            raise InputError(f"item {index}: expected real numbers, got {value.dtype}.")
        return value.detach().to("cpu", dtype)
    # a PIL image can only be here if PIL has been imported: it need not be installed otherwise
    pil = sys.modules.get("PIL.Image")
    if pil is not None and isinstance(value, pil.Image):
        if value.mode not in _PIL_WHITE:
            raise InputError(
                f"item {index}: expected a PIL image of mode {', '.join(_PIL_WHITE)}, got {value.mode}; "
                "convert it with image.convert('L') or image.convert('RGB')."
            )
        pixels = torch.from_numpy(np.array(value, dtype=np.uint8)).to(dtype) / _PIL_WHITE[value.mode]
        return pixels if pixels.ndim == 2 else pixels.movedim(-1, 0).contiguous()
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"item {index}: expected a rectangular array, got: {error}.") from error
    if array.dtype.kind not in "buif":
        raise InputError(f"item {index}: expected numbers, a tensor or an image, got {_described(value)}.")
    return torch.from_numpy(as_float64(array)).to(dtype)


def _label(value: Any, index: int) -> int:
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        if math.prod(value.shape) != 1:
            raise InputError(f"item {index}: expected one class number, got shape {tuple(value.shape)}.")
        value = value.item()
    # NaN fails the second
    if not isinstance(value, (bool, int, float)) or not abs(value) < 2**63 or value != int(value):
        raise InputError(f"item {index}: expected a whole number as class, got {value!r}.")
    return int(value)


def _described(value: object) -> str:
    return f"a {type(value).__name__}" + (
        f" of length {len(value)}" if isinstance(value, (tuple, list)) else ""
    )
