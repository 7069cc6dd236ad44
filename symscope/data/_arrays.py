"""A user's own arrays from .npz and .npy files; nothing in them is ever executed."""

from __future__ import annotations

import zipfile
import zlib
from io import BufferedIOBase
from pathlib import Path
from typing import IO

import numpy as np
import torch
from jaxtyping import Int64, Shaped
from numpy.typing import NDArray
from torch import Tensor

from symscope.data._labelled import LabelledData
from symscope.data._measured import MeasuredData
from symscope.errors import InputError, nearest

_NPY, _NPZ = b"\x93NUMPY", b"PK\x03\x04"
_UNREADABLE = (
    ValueError,
    EOFError,
    OSError,
    KeyError,
    SyntaxError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)


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
        _inputs(inputs, f"{path} ({x})", dtype),
        _labels(classes, f"{labels or path} ({y})"),
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
    if numbers.dtype.kind not in "buif":
        raise InputError(f"{targets or path} ({y}): expected real numbers to predict, got {numbers.dtype}.")
    return MeasuredData(
        _inputs(inputs, f"{path} ({x})", dtype),
        torch.from_numpy(numbers.astype(np.float64)).to(dtype),
        path.stem,
        str(path),
    )


def read_arrays(
    path: Path, x: str = "X", y: str = "y", labels: str | Path | None = None
) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """The two arrays as they are in the file or files.

    Raises:
        InputError: A file or key is missing, or a file is damaged or holds objects.
    """
    if _is_archive(path):
        if labels is not None:
            raise InputError(f"{path}: a .npz file holds its own labels (key {y!r}); leave `labels` out.")
        return _from_archive(path, x, y)
    if labels is None:
        raise InputError(f"{path}: a .npy file holds one array; give the labels' file too: labels='y.npy'.")
    return _from_file(path), _from_file(Path(labels))


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
    numbers = values.astype(np.float64)
    if numbers.ndim > 1:
        if numbers.ndim == 2 and bool(
            ((numbers == 0) | (numbers == 1)).all() and (numbers.sum(1) == 1).all()
        ):
            raise InputError(
                f"{where}: these rows look like one-hot classes; use y.argmax(1), or say that they are "
                "numbers to predict (task 'regression')."
            )
        return False
    finite = np.isfinite(numbers)
    return bool((numbers[finite] == np.round(numbers[finite])).all())


def _is_archive(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            head = stream.read(6)
    except OSError as error:
        raise InputError(
            f"{path}: expected a readable .npz or .npy file, got: {error.strerror or error}."
        ) from error
    if head[:4] != _NPZ and head != _NPY:
        raise InputError(f"{path}: expected a .npz or .npy file, got one that starts with {head!r}.")
    return head[:4] == _NPZ


def _from_archive(path: Path, x: str, y: str) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    try:
        with zipfile.ZipFile(path) as archive:
            keys = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            for key in (x, y):
                if key not in keys:
                    raise InputError(
                        f"{path}: expected an array {key!r}, but there is none; {nearest(key, keys)}"
                    )
            with archive.open(f"{x}.npy") as first, archive.open(f"{y}.npy") as second:
                return _array(first, path), _array(second, path)
    except InputError:
        raise
    except _UNREADABLE as error:
        raise InputError(f"{path}: the file is damaged ({error}); save it again.") from error


def _from_file(path: Path) -> NDArray[np.generic]:
    if _is_archive(path):
        raise InputError(f"{path}: expected a .npy file, got a .npz archive.")
    try:
        with path.open("rb") as stream:
            return _array(stream, path)
    except InputError:
        raise
    except _UNREADABLE as error:
        raise InputError(f"{path}: the file is damaged ({error}); save it again.") from error


def _array(stream: IO[bytes] | BufferedIOBase, path: Path) -> NDArray[np.generic]:
    """One array of the .npy format; one of objects, which would be pickled, is refused by its header."""
    version = np.lib.format.read_magic(stream)
    # versions 2 and 3 differ only in how the names of fields are encoded
    read_header = (
        np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    )
    if read_header(stream)[2].hasobject:
        raise InputError(
            f"{path}: expected arrays of numbers, got an object array; save plain numeric arrays."
        )
    stream.seek(0)
    array: NDArray[np.generic] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _inputs(array: NDArray[np.generic], where: str, dtype: torch.dtype) -> Shaped[Tensor, "..."]:
    if array.dtype.kind not in "buif":
        raise InputError(f"{where}: expected real numbers, got {array.dtype}.")
    if array.ndim < 2:
        raise InputError(
            f"{where}: expected inputs [n, *shape] with two axes or more, got shape {array.shape}; "
            "for scalar inputs use x[:, None]."
        )
    return torch.from_numpy(array.astype(np.float64)).to(dtype)


def _labels(array: NDArray[np.generic], where: str) -> Int64[Tensor, "n"]:
    if array.ndim != 1:
        hint = "; for one-hot rows use y.argmax(1)" if array.ndim == 2 else ""
        raise InputError(f"{where}: expected one class number per item, got shape {array.shape}{hint}.")
    if array.dtype.kind not in "buif":
        raise InputError(
            f"{where}: expected whole numbers as classes, got {array.dtype}; number the classes."
        )
    # checked in floating point: casting NaN or 1e30 to integers is undefined
    values = array.astype(np.float64)
    bad = np.flatnonzero(~((values == np.round(values)) & (np.abs(values) < 2**53)))
    if len(bad):
        raise InputError(
            f"{where}: expected whole numbers as classes, got {values[bad[0]]} at index {bad[0]}."
        )
    return torch.from_numpy(values.astype(np.int64))
