"""Torch datasets of pairs, read into memory once."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset

from symscope.data._array_files import as_float64
from symscope.data.graphs import adjacency_matrix, is_graph
from symscope.errors import InputError
from symscope.numerics import check_count, shortened

_PIL_WHITE = {"1": 1, "L": 255, "RGB": 255, "RGBA": 255}


def read_pairs(
    dataset: Dataset[Any] | Iterable[Any], limit: int | None, name: str
) -> tuple[Float[Tensor, "n *shape"], list[Any]]:
    """The inputs of a dataset of pairs, stacked, and the label of each.

    Tensors, arrays and numbers are taken as they are. Graphs that hold their edges and y, as those of
    torch_geometric do, become adjacency matrices. PIL images become [height, width] (grey) or
    [channels, height, width] (colour) with values in [0, 1].

    Args:
        dataset: Gives pairs of an input and a word, or one or several numbers; or graphs.
        limit: Samples to read; all when not given.
        name: Name of the dataset in messages.

    Raises:
        InputError: No samples, samples that are not pairs, or inputs or labels of different shapes.

    >>> from torch.utils.data import TensorDataset
    >>> pairs = TensorDataset(torch.arange(6.0).reshape(3, 2), torch.tensor([2, 0, 2]))
    >>> read_pairs(pairs, 2, "pairs")[1]
    [array(2), array(0)]
    """
    if limit is not None:
        limit = check_count("limit", limit)
    inputs: list[Tensor] = []
    labels: list[Any] = []
    for index, sample in enumerate(_items(dataset, limit)):
        if is_graph(sample):
            y = getattr(sample, "y", None)
            if isinstance(y, Tensor) and y.ndim == 2 and len(y) == 1:  # [1, k]: graphs are batched along it
                y = y[0]
            sample = (adjacency_matrix(sample, index), y)
        if not isinstance(sample, (tuple, list)) or len(sample) != 2:
            raise InputError(f"sample {index}: expected a pair (input, label), got {_described(sample)}.")
        value, label = _input(sample[0], index), _label(sample[1], index)
        if inputs and value.shape != inputs[0].shape:
            raise InputError(
                f"sample {index}: expected inputs of one shape, {tuple(inputs[0].shape)} as in sample 0, "
                f"got {tuple(value.shape)}; resize, crop or pad them (graphs: symscope.data.graphs)."
            )
        if labels and label.shape != labels[0].shape:
            raise InputError(
                f"sample {index}: expected a label of shape {labels[0].shape} as in sample 0, got "
                f"{label.shape}."
            )
        inputs.append(value)
        labels.append(label)
    if not inputs:
        raise InputError(f"{name}: expected a dataset with samples, got an empty one.")
    x = torch.stack(inputs)
    return (x if x.ndim > 1 else x[:, None]), labels


def _items(dataset: Any, limit: int | None) -> Iterator[Any]:
    if isinstance(dataset, IterableDataset):
        return itertools.islice(iter(dataset), limit)
    count = len(dataset) if limit is None else min(limit, len(dataset))
    return (dataset[index] for index in range(count))


def _input(value: Any, index: int) -> Float[Tensor, "..."]:
    if isinstance(value, Tensor):
        if value.is_complex():
            raise InputError(f"sample {index}: expected real numbers, got {value.dtype}.")
        return value.detach().to("cpu", torch.float64)
    # a PIL image can only be here if PIL has been imported: it need not be installed otherwise
    pil = sys.modules.get("PIL.Image")
    if pil is not None and isinstance(value, pil.Image):
        if value.mode not in _PIL_WHITE:
            raise InputError(
                f"sample {index}: expected a PIL image of mode {', '.join(_PIL_WHITE)}, got {value.mode}; "
                "convert it with image.convert('L') or image.convert('RGB')."
            )
        pixels = torch.from_numpy(np.array(value, dtype=np.uint8)).double() / _PIL_WHITE[value.mode]
        return pixels if pixels.ndim == 2 else pixels.movedim(-1, 0).contiguous()
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"sample {index}: expected a rectangular array, got: {error}.") from error
    if array.dtype.kind not in "buif":
        raise InputError(f"sample {index}: expected numbers, a tensor or an image, got {_described(value)}.")
    return torch.from_numpy(as_float64(array))


def _label(value: Any, index: int) -> np.ndarray:
    """A word, or one or several numbers; a single one without an axis."""
    try:
        array = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
    except ValueError as error:
        raise InputError(f"sample {index}: expected numbers to predict in a row, got: {error}.") from error
    if array.dtype.kind not in "buifU" or array.ndim > 1:
        raise InputError(
            f"sample {index}: expected as label a word, or one or several numbers, got {shortened(value)}."
        )
    return array.reshape(()) if array.size == 1 else array


def _described(value: object) -> str:
    return f"a {type(value).__name__}" + (
        f" of length {len(value)}" if isinstance(value, (tuple, list)) else ""
    )
