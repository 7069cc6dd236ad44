"""Data and actions a user names: bundled digits, files, folders of images, functions of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from symscope.data import (
    Action,
    LabelledData,
    MeasuredData,
    are_classes,
    labelled_pairs,
    load_arrays,
    load_measured,
    measured_pairs,
    mnist,
    mnist_sample,
    number_rows,
    read_arrays,
    read_pairs,
)
from symscope.errors import InputError, nearest
from symscope.forecasting import function_action
from symscope.groups import FiniteGroup, parse
from symscope.networks import load_user_function, user_error
from symscope.numerics import check_count

TASKS = ("auto", "classification", "regression")
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
DEEP = ("I", "I;16", "I;16L", "I;16B", "I;16N", "F")  # Pillow's names for grey images of more than 8 bits


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
        return image_folder(path, limit) if _folders(path) else _limited(mnist(path), limit)
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
    return tuple(folder.name for folder in _folders(path)) or None


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
    return LabelledData(
        torch.from_numpy(x.astype(np.float64)), torch.from_numpy(numbers), path.stem, str(path)
    )


def _limited(data: LabelledData | MeasuredData, limit: int | None) -> LabelledData | MeasuredData:
    """So many samples in the order of the data, of every class its share."""
    places = _spread(len(data), limit)
    if len(places) == len(data):
        return data
    if isinstance(data, LabelledData):
        return data.take(data.labels.argsort(stable=True)[places].sort().values)
    return replace(data.take(places), name=f"{data.name} ({len(places)} of {len(data)} samples)")


def _spread(count: int, limit: int | None) -> Int64[Tensor, "k"]:
    """Places of so many of all samples, spread evenly."""
    taken = count if limit is None else min(check_count("--limit", limit), count)
    return torch.arange(taken) * count // taken


def image_folder(path: Path, limit: int | None = None) -> LabelledData:
    """One folder of images for each class, numbered in the order of their names, grey or colour.

    Args:
        path: Holds the classes' folders; hidden ones and hidden files are left out. All images need one size.
        limit: Images to read, of every class its share; all when not given.

    Returns:
        Images `[n, height, width]`, or `[n, 3, height, width]` if any is in colour, with values 0 to 1.

    Raises:
        InputError: No folders or no images in one, sizes that differ, files that are no images, or pixels
            that are neither 8-bit, nor 16-bit, nor fractions 0 to 1.
    """
    folders = _folders(path)
    files = [(k, file) for k, folder in enumerate(folders) for file in sorted(folder.iterdir())]
    files = [(k, file) for k, file in files if file.suffix.lower() in IMAGES and file.name[0] != "."]
    for k, folder in enumerate(folders):
        if not any(owner == k for owner, _ in files):
            raise InputError(f"{folder}: expected images ({', '.join(IMAGES[:4])}, ...), got none.")
    if not files:
        raise InputError(f"{path}: expected a folder of images for each class, got none.")
    places = _spread(len(files), limit)
    files = [files[place] for place in places.tolist()]
    arrays = [_pixels(file) for _, file in files]
    if any(array.ndim == 3 for array in arrays):
        arrays = [array if array.ndim == 3 else np.repeat(array[None], 3, 0) for array in arrays]
    for (_, file), array in zip(files, arrays, strict=True):
        if array.shape != arrays[0].shape:
            raise InputError(
                f"{file}: expected images of one size, {arrays[0].shape} as in {files[0][1].name}, got "
                f"{array.shape}; resize them."
            )
    labels = torch.tensor([k for k, _ in files])
    return LabelledData(torch.from_numpy(np.stack(arrays)), labels, path.name, str(path), places)


def _folders(path: Path) -> list[Path]:
    """The classes' folders, without hidden ones such as .ipynb_checkpoints."""
    return sorted(part for part in path.iterdir() if part.is_dir() and part.name[0] != ".")


def action_from_source(name: str, group: str, shape: tuple[int, ...]) -> Action:
    """A user's MODULE:FUNCTION, `(g, x) -> g x` on batches of samples, as an action of a named group.

    Raises:
        InputError: A function that cannot be loaded, or a group that is not listed.
    """
    known = parse(group)
    if not isinstance(known, FiniteGroup):
        raise InputError(f"--group {group}: expected a listed finite group for an action of your own.")
    return function_action(known, load_user_function("--action", name), shape)


def _own_data(source: str, limit: int | None, task: str) -> LabelledData | MeasuredData:
    function = load_user_function("--data", source)
    try:
        made = function()
    except (Exception, SystemExit) as error:  # whatever a user's function raises is the user's to see
        raise user_error(f"--data {source}: it", error) from error
    if isinstance(made, MeasuredData) and task == "classification":
        raise InputError(f"--data {source}: it returned numbers to predict; leave --task classification out")
    if isinstance(made, LabelledData) and task == "regression":
        made = MeasuredData(made.x, made.labels.to(made.x.dtype), made.name, made.source)
    if isinstance(made, (LabelledData, MeasuredData)):
        return _limited(made, limit)
    try:
        x, values, name = read_pairs(made, limit, source.rpartition(":")[2], torch.float64)
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # reading samples runs the user's code too
        raise user_error(f"--data {source}: its dataset", error) from error
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


def _pixels(file: Path) -> np.ndarray:
    from PIL import Image

    try:
        with Image.open(file) as image:
            if image.mode in DEEP:
                return _unit_range(np.asarray(image, dtype=np.float64), image.mode, file)
            grey = image.mode in ("1", "L", "LA")
            pixels = np.asarray(image.convert("L" if grey else "RGB"), dtype=np.float64) / 255
    except OSError as error:
        raise InputError(f"{file}: expected an image that can be read, got: {error}.") from error
    return pixels if grey else np.moveaxis(pixels, -1, 0)


def _unit_range(pixels: np.ndarray, mode: str, file: Path) -> np.ndarray:
    """Pixels of more than 8 bits as values 0 to 1: whole numbers over 65535, fractions as they are."""
    top, kind = (1, "fractions") if mode == "F" else (65535, "whole numbers")
    if not (pixels.min() >= 0 and pixels.max() <= top):  # NaN fails
        raise InputError(
            f"{file}: expected pixels 0 to {top} in an image of {kind}, got {pixels.min():g} to "
            f"{pixels.max():g}; rescale the images, or give an .npz file with X and y."
        )
    return pixels / top
