"""A user's own arrays from .npz and .npy files; nothing in them is ever executed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float64, Int64, Shaped
from numpy.typing import NDArray
from torch import Tensor

from symscope.data._array_files import as_float64, read_arrays
from symscope.data._labelled import LabelledData
from symscope.data._measured import MeasuredData
from symscope.errors import InputError
from symscope.numerics import check_memory

MOST_MASK_CLASSES = 1024  # larger numbers are no classes


def load_arrays(
    path: str | Path,
    x: str = "X",
    y: str = "y",
    labels: str | Path | None = None,
    dtype: torch.dtype = torch.float64,
) -> LabelledData:
    """Inputs and labels from a `.npz` file, or from two `.npy` files.

    Numbers are taken as they are: bytes 0 .. 255 stay 0 .. 255. Pickled objects are refused.

    Args:
        path: A `.npz` with both arrays, or a `.npy` with the inputs.
        x: Key of the inputs [n, *shape] in the `.npz`.
        y: Key of the class numbers [n] in the `.npz`.
        labels: The `.npy` with the class numbers, where `path` is a `.npy`.
        dtype: Floating-point type of the inputs.

    Returns:
        The data, named after the file.

    Raises:
        InputError: A file or key is missing, a file is damaged or holds objects, shapes do not fit, labels
            are not whole numbers, or inputs are not finite.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/mine.npz", X=[[0.0, 1.0], [2.0, 3.0]], y=[0, 1])
    ...     load_arrays(folder + "/mine.npz").labels
    tensor([0, 1])
    """
    path = Path(path)
    inputs, classes = read_arrays(path, x, y, labels)
    return LabelledData(
        float_inputs(inputs, f"{path} ({x})", dtype),
        class_numbers(classes, f"{labels or path} ({y})"),
        path.stem,
        str(path),
    )


def load_measured(
    path: str | Path,
    x: str = "X",
    y: str = "y",
    targets: str | Path | None = None,
    dtype: torch.dtype = torch.float64,
) -> MeasuredData:
    """Inputs and numbers to predict from a `.npz` file, or from two `.npy` files.

    Args:
        path: A `.npz` with both arrays, or a `.npy` with the inputs.
        x: Key of the inputs [n, *shape] in the `.npz`.
        y: Key of the numbers [n] or [n, t] in the `.npz`.
        targets: The `.npy` with the numbers, where `path` is a `.npy`.
        dtype: Floating-point type of both.

    Returns:
        The data, named after the file.

    Raises:
        InputError: A file or key is missing, a file is damaged or holds objects, shapes do not fit, or
            numbers are not finite.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/mine.npz", X=[[0.0, 1.0], [2.0, 3.0]], y=[0.25, 1.5])
    ...     load_measured(folder + "/mine.npz").targets[:, 0].tolist()
    [0.25, 1.5]
    """
    path = Path(path)
    inputs, numbers = read_arrays(path, x, y, targets)
    return MeasuredData(
        float_inputs(inputs, f"{path} ({x})", dtype),
        float_targets(numbers, f"{targets or path} ({y})", dtype),
        path.stem,
        str(path),
    )


def are_classes(values: NDArray[np.generic], where: str) -> bool:
    """Whether values look like class numbers, one whole number each, rather than numbers to predict.

    Args:
        values: [n] or [n, t].
        where: What to call them in a message.

    Raises:
        InputError: Rows of zeros with a single one: it could be either.

    >>> are_classes(np.array([1.0, 3.0]), "y"), are_classes(np.array([1.0, 2.5]), "y")
    (True, False)
    """
    if values.dtype.kind not in "buif":
        return True  # refused as classes, with what to do about it
    numbers = as_float64(values)
    if numbers.ndim > 1:
        rows = numbers if numbers.ndim == 2 else numbers[:0]
        if len(rows) and bool(((rows == 0) | (rows == 1)).all() and (rows.sum(1) == 1).all()):
            raise InputError(
                f"{where}: these rows look like one-hot classes; use y.argmax(1), or say that they are "
                "numbers to predict (task 'regression')."
            )
        return False
    finite = numbers[np.isfinite(numbers)]
    return values.dtype.kind in "bui" or bool(_are_whole(finite).all())


def _are_whole(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values are whole numbers; beyond 2^53 every floating-point number would be one."""
    return (values == np.round(values)) & (np.abs(values) < 2**53)


def float_targets(
    array: NDArray[np.generic], where: str, dtype: torch.dtype = torch.float64
) -> Shaped[Tensor, "..."]:
    """Numbers to predict, refused where they are none."""
    if array.dtype.kind not in "buif":
        raise InputError(f"{where}: expected real numbers to predict, got {array.dtype}.")
    return torch.from_numpy(as_float64(array)).to(dtype)


def float_inputs(
    array: NDArray[np.generic], where: str, dtype: torch.dtype = torch.float64
) -> Shaped[Tensor, "..."]:
    """Inputs `[n, *shape]`, refused where they are no numbers or have no axis of samples."""
    if array.dtype.kind not in "buif":
        raise InputError(f"{where}: expected real numbers, got {array.dtype}.")
    if array.ndim < 2:
        raise InputError(
            f"{where}: expected inputs [n, *shape] with two axes or more, got shape {array.shape}; "
            "for scalar inputs use x[:, None]."
        )
    return torch.from_numpy(as_float64(array)).to(dtype)


def mask_targets(array: NDArray[np.generic], where: str) -> Float64[Tensor, "n classes *positions"]:
    """A class at every position, `[n, *positions]` or `[n, 1, *positions]`, as a channel for each class.

    Args:
        array: Whole numbers from 0 on.
        where: Name of the array in messages.

    Raises:
        InputError: Numbers that are no classes, one class alone, or more than fits into memory.

    >>> mask_targets(np.array([[[0, 1]], [[1, 1]]]), "y").tolist()
    [[[[1.0, 0.0]], [[0.0, 1.0]]], [[[0.0, 0.0]], [[1.0, 1.0]]]]
    """
    flat = class_numbers(array.reshape(-1), where)
    low, high = int(flat.min()), int(flat.max())
    if low < 0 or high >= MOST_MASK_CLASSES or high == 0:
        raise InputError(
            f"{where}: expected masks of two classes or more, numbered from 0 to at most "
            f"{MOST_MASK_CLASSES - 1}, got numbers from {low} to {high}; for numbers to predict say "
            "task='regression' (--task regression)."
        )
    masks = flat.reshape(array.shape)
    if masks.ndim > 3 and masks.shape[1] == 1:
        masks = masks[:, 0]
    check_memory("masks with a channel for each class", 8 * masks.numel() * (high + 1), "take fewer samples")
    return torch.nn.functional.one_hot(masks, high + 1).movedim(-1, 1).double()


def class_numbers(array: NDArray[np.generic], where: str) -> Int64[Tensor, "n"]:
    """One whole number for each sample, refused where it is none."""
    if array.ndim != 1:
        hint = "; for one-hot rows use y.argmax(1)" if array.ndim == 2 else ""
        raise InputError(
            f"{where}: expected one class number for each sample, got shape {array.shape}{hint}."
        )
    if array.dtype.kind not in "buif":
        raise InputError(
            f"{where}: expected whole numbers as classes, got {array.dtype}; number the classes."
        )
    # casting NaN, 1e30 or 2^63 to int64 is undefined
    if array.dtype.kind == "f":
        good = _are_whole(as_float64(array))
    else:
        good = (array.astype(np.int64) >= 0) | (array.dtype.kind == "i")
    bad = np.flatnonzero(~good)
    if len(bad):
        at = int(bad[0])
        raise InputError(f"{where}: expected whole numbers as classes, got {array[at]} at index {at}.")
    return torch.from_numpy(array.astype(np.int64))
