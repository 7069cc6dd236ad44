"""Data in whatever form a user has them, as samples with classes or with numbers to predict.

Messages about what a user names in one word call it as the command line does: `--data`, `--limit`, `--task`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from symscope.data._array_files import read_arrays
from symscope.data._arrays import are_classes, class_numbers, float_inputs, float_targets, mask_targets
from symscope.data._datasets import read_pairs
from symscope.data._download import data_folder
from symscope.data._image_folder import class_folders, image_folder
from symscope.data._labelled import LabelledData, evenly_spread, mnist_sample
from symscope.data._measured import MeasuredData
from symscope.data.mnist_files import IDX_SETS, mnist
from symscope.errors import InputError, nearest
from symscope.user_code import load_user_function, user_errors

TASKS = ("auto", "classification", "regression")

Samples = tuple[LabelledData | MeasuredData, tuple[str, ...] | None]


def as_samples(data: Any, task: str = "auto", limit: int | None = None) -> Samples:
    """Data in any form as samples, and the names of classes 0, 1, ... where classes are words.

    Args:
        data: `(X, y)` of arrays, tensors or lists; a map-style torch dataset, or a list, of pairs `(x, y)`;
            `LabelledData` or `MeasuredData`; or what `--data` takes: "sample", "mnist", an .npz file with X
            and y, a folder (MNIST's files, or one folder of images for each class), or MODULE:FUNCTION
            returning any of these.
        task: "classification"; "regression", where y are numbers to predict; or "auto": whole numbers and
            words are classes, integers at every position, `[n, h, w]`, masks of classes, others and rows of
            several are numbers to predict.
        limit: Samples to take: the first of a torch dataset, else some of every class; all when not given.

    Raises:
        InputError: Something else, no samples, another number of labels than of samples, labels of a wrong
            shape, a source that cannot be read, or one that does not suit the task.

    >>> samples, names = as_samples(([[0.0, 1.0], [2.0, 3.0], [1.0, 1.0]], ["cat", "dog", "cat"]))
    >>> samples.labels.tolist(), names
    ([0, 1, 0], ('cat', 'dog'))
    >>> len(as_samples("sample")[0])
    2000
    """
    if task not in TASKS:
        raise InputError(f"task {task}: expected {', '.join(TASKS)}; {nearest(task, TASKS)}")
    if not isinstance(data, (str, os.PathLike)):
        return _given(data, task, limit, "data", None)
    source, path = str(data), Path(data)
    if path.suffix == ".npz" and not path.is_dir():
        x, y = read_arrays(path)
        inputs = float_inputs(x, f"{path} (X)")
        return _limited(*_paired(inputs, y, task, f"{path} (y)", path.stem, str(path)), limit)
    if source not in ("sample", *IDX_SETS) and not path.is_dir() and ":" in source:
        function = load_user_function("--data", source)
        with user_errors(f"--data {source}: it"):
            made = function()
        return _given(made, task, limit, f"--data {source}", source.rpartition(":")[2])
    if task == "regression":
        raise InputError(
            f"--data {source}: its images have classes, not numbers to predict; --task regression takes an "
            ".npz file or MODULE:FUNCTION"
        )
    return _images(source, path, limit)


def _images(source: str, path: Path, limit: int | None) -> Samples:
    """The bundled images, MNIST or Fashion-MNIST, or a folder of images."""
    if source == "sample":
        return _limited(mnist_sample(), None, limit)
    if source in IDX_SETS:
        folder = data_folder(source)
        if not folder.is_dir():
            raise InputError(
                f"--data {source}: it is not there yet; run `symscope data fetch {source}` first"
            )
        return _limited(mnist(folder, name=source), IDX_SETS[source].classes, limit)
    if not path.is_dir():
        raise InputError(
            f"--data {source}: expected sample, {', '.join(IDX_SETS)}, an .npz file, a folder or "
            f"MODULE:FUNCTION; {nearest(source, ('sample', *IDX_SETS))}"
        )
    if names := tuple(folder.name for folder in class_folders(path)):
        return image_folder(path, limit), names
    return _limited(mnist(path), None, limit)


def _given(data: Any, task: str, limit: int | None, where: str, name: str | None) -> Samples:
    """Samples from a value, which the messages call `where`, and the samples `name`."""
    if isinstance(data, MeasuredData) and task == "classification":
        raise InputError(f"{where}: these are numbers to predict; leave the task classification out")
    if isinstance(data, LabelledData) and task == "regression":
        data = MeasuredData(data.x, data.labels.to(data.x.dtype), data.name, data.source)
    if isinstance(data, (LabelledData, MeasuredData)):
        return _limited(data, None, limit)
    _check_kind(data, limit, where)
    if isinstance(data, tuple) or (
        isinstance(data, list) and len(data) == 2 and isinstance(data[0], (Tensor, np.ndarray))
    ):
        prefix = "" if where == "data" else f"{where}: "
        x, y = _array(data[0], f"{prefix}X"), _array(data[1], f"{prefix}y")
        if x.ndim == 1 and y.ndim > 1:
            raise InputError(
                f"{where}: expected (X, y), got X of shape {x.shape} and y of {y.shape}: swap them."
            )
        inputs = float_inputs(x, f"{prefix}X")
        return _limited(
            *_paired(inputs, y, task, f"{prefix}y", name or "data", type(data[0]).__name__), limit
        )
    return _from_dataset(data, task, limit, where, name or type(data).__name__)


def _check_kind(data: Any, limit: int | None, where: str) -> None:
    """Refuses what is neither a pair of arrays nor a dataset, with what to pass instead."""
    kind = type(data).__name__
    if isinstance(data, DataLoader):
        raise InputError(f"{where}: got a DataLoader, which gives batches; pass its dataset, loader.dataset.")
    if isinstance(data, IterableDataset) and limit is None:
        raise InputError(
            f"{where}: got an iterable dataset ({kind}), which may have no end; pass the samples to take, "
            "list(itertools.islice(dataset, 1000)), or on the command line --limit 1000."
        )
    if isinstance(data, (Tensor, np.ndarray)):
        raise InputError(
            f"{where}: got an array of shape {tuple(data.shape)} without labels; pass (X, y), one label for "
            "each sample."
        )
    if isinstance(data, tuple) and len(data) != 2:
        raise InputError(f"{where}: expected (X, y), two arrays, got a tuple of {len(data)}.")
    reads = hasattr(data, "__getitem__") and hasattr(data, "__len__") and not hasattr(data, "keys")
    if not reads and not isinstance(data, IterableDataset):
        raise InputError(
            f"{where}: expected (X, y), a torch Dataset with __len__ and __getitem__, LabelledData, "
            f"MeasuredData or the name of a source, got {kind}."
        )


def _from_dataset(data: Any, task: str, limit: int | None, where: str, name: str) -> Samples:
    with user_errors(f"{where}: its dataset"):  # reading samples runs the user's code too
        x, values = read_pairs(data, limit, name)
    kind = type(data).__qualname__
    samples, names = _paired(x, _array(values, f"{where} (y)"), task, f"{where} (y)", name, kind)
    if limit is not None and isinstance(samples, LabelledData) and len(samples.classes) == 1:
        raise InputError(
            f"{where}: its first {len(x)} samples are all of class {samples.classes[0]}; expected two "
            "classes or more: raise --limit, or shuffle the dataset"
        )
    return samples, names


def _array(values: Any, where: str) -> NDArray[np.generic]:
    """Numbers or words of any container as one array."""
    if isinstance(values, Tensor):
        if values.is_complex():
            raise InputError(f"{where}: expected real numbers, got {values.dtype}.")
        values = values.detach().cpu()
        short = values.dtype in (torch.float16, torch.bfloat16)  # the second is none of numpy's
        return (values.float() if short else values).numpy()
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"{where}: expected a rectangular array, got rows that differ: {error}.") from error
    if array.dtype.kind == "O" and all(isinstance(one, str) for one in array.flat):
        return array.astype(str)
    return array


def _paired(
    x: Float[Tensor, "n *shape"], y: NDArray[np.generic], task: str, where: str, name: str, source: str
) -> Samples:
    """Inputs with classes, words included, or with numbers to predict."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim == 0 or len(y) != len(x):
        got = f"{len(y)}" if y.ndim else "a single value"
        raise InputError(f"{where}: expected one label for each of {len(x)} samples, got {got}.")
    if y.dtype.kind == "c":
        raise InputError(f"{where}: expected real numbers, got {y.dtype}; give real and imaginary parts.")
    if y.ndim == 1 and y.dtype.kind == "U" and task != "regression":
        words, numbers = np.unique(y, return_inverse=True)
        labels = torch.from_numpy(numbers.astype(np.int64))
        return LabelledData(x, labels, name, source), tuple(words.tolist())
    if y.ndim > 2 and (task == "classification" or (task == "auto" and y.dtype.kind in "bui")):
        masks = mask_targets(y, where)
        return MeasuredData(x, masks, name, source, classes=masks.shape[1]), None
    if task == "classification" or (task == "auto" and are_classes(y, where)):
        return LabelledData(x, class_numbers(y, where), name, source), None
    return MeasuredData(x, float_targets(y, where), name, source), None


def _limited(data: LabelledData | MeasuredData, names: tuple[str, ...] | None, limit: int | None) -> Samples:
    """So many samples in the order of the data, of every class its share."""
    places = evenly_spread(len(data), limit)
    if len(places) == len(data):
        return data, names
    if isinstance(data, LabelledData):
        return data.take(data.labels.argsort(stable=True)[places].sort().values), names
    return replace(data.take(places), name=f"{data.name} ({len(places)} of {len(data)} samples)"), names
