"""Data and actions that a user names in one word: bundled digits, files, folders, functions of their own.

Messages call the words as the command line does: `--data`, `--action`, `--limit`, `--task`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from symscope.data._action import Action, custom_action
from symscope.data._array_files import as_float64, read_arrays
from symscope.data._arrays import are_classes, load_arrays, load_measured
from symscope.data._datasets import labelled_pairs, measured_pairs, number_rows, read_pairs
from symscope.data._image_folder import class_folders, image_folder
from symscope.data._labelled import LabelledData, evenly_spread, mnist_sample
from symscope.data._measured import MeasuredData
from symscope.data.mnist_files import mnist
from symscope.errors import InputError, nearest
from symscope.groups import FiniteGroup, parse
from symscope.user_code import load_user_function, user_errors

TASKS = ("auto", "classification", "regression")


def data_from_source(
    source: str, mnist_folder: Path | None = None, limit: int | None = None, task: str = "auto"
) -> LabelledData | MeasuredData:
    """The data a user names.

    Args:
        source: "sample", "mnist", an .npz file with X and y, a folder (MNIST's files, or one folder of images
            for each class), or MODULE:FUNCTION returning a torch dataset, `LabelledData` or `MeasuredData`.
        mnist_folder: Folder that holds MNIST.
        limit: Samples to take: the first of a torch dataset, of all else some of every class; all when not
            given.
        task: "classification"; "regression", where y are numbers to predict; or "auto": whole numbers and
            words are classes, others and rows of several are numbers to predict.

    Raises:
        InputError: No such source, one that cannot be read, or one that does not suit the task.

    >>> len(data_from_source("sample"))
    2000
    """
    if task not in TASKS:
        raise InputError(f"--task {task}: expected {', '.join(TASKS)}; {nearest(task, TASKS)}")
    path = Path(source)
    if _is_npz(path):
        return _limited(_arrays(path, task), limit)
    if source not in ("sample", "mnist") and not path.is_dir() and ":" in source:
        return _own_data(source, limit, task)
    if task == "regression":
        raise InputError(
            f"--data {source}: its images have classes, not numbers to predict; --task regression takes an "
            ".npz file or MODULE:FUNCTION"
        )
    if source == "sample":
        return _limited(mnist_sample(), limit)
    if source == "mnist":
        if mnist_folder is None or not mnist_folder.is_dir():
            raise InputError("--data mnist: it is not there yet; run `symscope data fetch mnist` first")
        return _limited(mnist(mnist_folder), limit)
    if path.is_dir():
        return image_folder(path, limit) if class_folders(path) else _limited(mnist(path), limit)
    raise InputError(
        f"--data {source}: expected sample, mnist, an .npz file, a folder or MODULE:FUNCTION; "
        f"{nearest(source, ('sample', 'mnist'))}"
    )


def class_names_from_source(source: str) -> tuple[str, ...] | None:
    """What the classes 0, 1, ... of the data a user names are called; None where they are numbers.

    Folders of images are called what they are called, and so are words y of an .npz file.

    >>> class_names_from_source("sample") is None
    True
    """
    path = Path(source)
    if _is_npz(path):
        y = read_arrays(path, x="y")[1]
        return tuple(np.unique(y).tolist()) if _are_words(y) else None
    if source in ("sample", "mnist") or not path.is_dir():
        return None
    return tuple(folder.name for folder in class_folders(path)) or None


def _is_npz(path: Path) -> bool:
    return path.suffix == ".npz" and not path.is_dir()


def _are_words(y: np.ndarray) -> bool:
    return y.ndim == 1 and y.dtype.kind == "U"


def _arrays(path: Path, task: str) -> LabelledData | MeasuredData:
    classes = task == "classification"
    if task != "regression":
        y = read_arrays(path, x="y")[1]  # y alone: X may be large
        if _are_words(y):
            return _arrays_with_words(path, y)
        classes = classes or are_classes(y, f"{path} (y)")
    return load_arrays(path) if classes else load_measured(path)


def _arrays_with_words(path: Path, y: np.ndarray) -> LabelledData:
    """Classes numbered in the order of their names."""
    x = read_arrays(path)[0]
    if x.dtype.kind not in "buif":
        raise InputError(f"{path} (X): expected real numbers, got {x.dtype}.")
    numbers = np.unique(y, return_inverse=True)[1].astype(np.int64)
    return LabelledData(torch.from_numpy(as_float64(x)), torch.from_numpy(numbers), path.stem, str(path))


def _limited(data: LabelledData | MeasuredData, limit: int | None) -> LabelledData | MeasuredData:
    """So many samples in the order of the data, of every class its share."""
    places = evenly_spread(len(data), limit)
    if len(places) == len(data):
        return data
    if isinstance(data, LabelledData):
        return data.take(data.labels.argsort(stable=True)[places].sort().values)
    return replace(data.take(places), name=f"{data.name} ({len(places)} of {len(data)} samples)")


def action_from_source(name: str, group: str, shape: tuple[int, ...]) -> Action:
    """A user's MODULE:FUNCTION, `(g, x) -> g x` on batches of samples, as an action of a named group.

    Raises:
        InputError: A function that cannot be loaded, or a group that is not listed.
    """
    known = parse(group)
    if not isinstance(known, FiniteGroup):
        raise InputError(f"--group {group}: expected a listed finite group for an action of your own.")
    function = load_user_function("--action", name)
    return custom_action(known, function, len(shape), getattr(function, "__name__", "custom"))


def _own_data(source: str, limit: int | None, task: str) -> LabelledData | MeasuredData:
    function = load_user_function("--data", source)
    with user_errors(f"--data {source}: it"):
        made = function()
    if isinstance(made, MeasuredData) and task == "classification":
        raise InputError(f"--data {source}: it returned numbers to predict; leave --task classification out")
    if isinstance(made, LabelledData) and task == "regression":
        made = MeasuredData(made.x, made.labels.to(made.x.dtype), made.name, made.source)
    if isinstance(made, (LabelledData, MeasuredData)):
        return _limited(made, limit)
    with user_errors(f"--data {source}: its dataset"):  # reading samples runs the user's code too
        x, values, name = read_pairs(made, limit, source.rpartition(":")[2], torch.float64)
    classes = task == "classification"
    if task == "auto":
        rows = number_rows(values)
        classes = are_classes(rows[:, 0] if rows.shape[1] == 1 else rows, f"--data {source}")
    kind = type(made).__qualname__
    if not classes:
        return measured_pairs(x, values, name, kind)
    labelled = labelled_pairs(x, values, name, kind)
    if limit is not None and len(labelled.classes) == 1:
        raise InputError(
            f"--data {source}: its first {len(x)} samples are all of class {labelled.classes[0]}; expected "
            "two classes or more: raise --limit, or shuffle the dataset"
        )
    return labelled
