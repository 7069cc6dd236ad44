"""Arrays from .npz and .npy files of anybody: nothing is executed, sizes are checked before allocation."""

from __future__ import annotations

import errno
import math
import os
import textwrap
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from symscope.errors import InputError
from symscope.numerics import byte_text, check_memory

_NPY, _NPZ = b"\x93NUMPY", b"PK\x03\x04"
_FREE = 2**28  # bytes that any file may unpack to
_RATIO = 100  # bytes unpacked for each byte beyond them; images of digits, mostly black, have 10
_ENCRYPTED = 1  # bit of a zip member's flags


def read_arrays(
    path: Path, x: str = "X", y: str = "y", labels: str | Path | None = None
) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """The two arrays as they are in the file or files.

    Args:
        path: A `.npz` with both arrays, or a `.npy` with the inputs.
        x: Key of the inputs in the `.npz`.
        y: Key of the labels in the `.npz`.
        labels: The `.npy` with the labels, where `path` is a `.npy`.

    Raises:
        InputError: A file or key is missing, or a file is damaged, holds objects or unpacks to far more than
            its size.
    """
    if _is_archive(path):
        if labels is not None:
            raise InputError(f"{path}: a .npz file holds its own labels (key {y!r}); leave `labels` out.")
        return _from_archive(path, x, y)
    if labels is None:
        raise InputError(f"{path}: a .npy file holds one array; give the labels' file too: labels='y.npy'.")
    return _from_file(path), _from_file(Path(labels))


def read_elements(path: Path) -> tuple[str, ...] | None:
    """In which transformation each sample of a `.npz` file is, in words, where the file says it.

    Args:
        path: A `.npz` with an array "angles", in degrees, or "elements", their names or numbers.

    Returns:
        None where it has neither.

    Raises:
        InputError: Both, an array that is no row, or a damaged file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/mine.npz", X=np.zeros((2, 4)), y=[0, 1], angles=[0, 90])
    ...     read_elements(Path(folder, "mine.npz"))
    ('0°', '90°')
    """
    with damage(path), zipfile.ZipFile(path) as archive:
        keys = [key for key in ("angles", "elements") if f"{key}.npy" in archive.namelist()]
        if not keys:
            return None
        if len(keys) > 1:
            raise InputError(f"{path}: expected angles or elements of the samples, got both; leave one out.")
        array = _member(archive, keys[0], path)
    if array.ndim != 1:
        raise InputError(
            f"{path} ({keys[0]}): expected a row of one for each sample, got the shape {array.shape}."
        )
    values = array.tolist()
    if keys[0] == "elements":
        return tuple(str(value) for value in values)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{path} (angles): expected numbers of degrees, got {array.dtype}.")
    return tuple(f"{value:g}°" for value in values)


def as_float64(array: NDArray[np.generic]) -> NDArray[np.float64]:
    """Numbers in double precision; what it cannot hold becomes infinite, to be refused as such."""
    with np.errstate(all="ignore"):
        return array.astype(np.float64)


def check_regular_file(path: Path, expected: str) -> None:
    """Refuses a path that is no plain file: opening a pipe would wait for ever.

    Args:
        path: The path.
        expected: The file that was expected, in words.

    Raises:
        InputError: There is nothing, a folder, a pipe, a socket or a device.
    """
    try:
        regular, folder, there = path.is_file(), path.is_dir(), path.exists()
    except OSError as error:
        raise InputError(f"{path}: expected {expected}, got: {error.strerror}.") from error
    if not regular:
        got = os.strerror(errno.EISDIR if folder else errno.ENOENT)
        got = "a pipe, socket or device" if there and not folder else got
        raise InputError(f"{path}: expected {expected}, got: {got}.")


def check_data_room(what: str, count: int) -> None:
    """Refuses so many numbers that, in double precision, this machine's memory would not hold them.

    Raises:
        InputError: They would not fit.
    """
    if hasattr(os, "sysconf"):  # not on Windows
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        check_memory(f"{what}: {count} numbers", 8 * count, "take fewer samples", memory)


def check_unpacked(what: str, unpacked: int, packed: int) -> None:
    """Refuses compressed content that unpacks to so much more than its size that it may be a bomb.

    Args:
        what: Name of the content in messages.
        unpacked: Bytes it says it has.
        packed: Bytes in the file.

    Raises:
        InputError: It would take too much memory.

    >>> check_unpacked("X", 10**9, 10**8)
    """
    if unpacked > _FREE + _RATIO * packed:
        size = byte_text(unpacked)
        raise InputError(
            f"{what}: expected content that unpacks to at most {_RATIO} times its size, got "
            f"{byte_text(packed)} that unpack to {size}; save it without compression, or in parts."
        )


@contextmanager
def damage(path: Path) -> Iterator[None]:
    """Whatever reading a damaged file raises, as a damaged file: parsers raise nearly everything."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of odd headers: the file is read or refused
            yield
    except InputError:
        raise
    except Exception as error:
        words = textwrap.shorten(str(error) or type(error).__name__, 100)
        raise InputError(f"{path}: the file is damaged ({words}); save it again.") from error


def _is_archive(path: Path) -> bool:
    check_regular_file(path, "a readable .npz or .npy file")
    try:
        with path.open("rb") as stream:
            head = stream.read(6)
    except OSError as error:
        raise InputError(f"{path}: expected a readable .npz or .npy file, got: {error.strerror}.") from error
    if head[:4] != _NPZ and head != _NPY:
        raise InputError(f"{path}: expected a .npz or .npy file, got one that starts with {head!r}.")
    return head[:4] == _NPZ


def _from_archive(path: Path, x: str, y: str) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    with damage(path), zipfile.ZipFile(path) as archive:
        keys = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        if not {x, y} <= set(keys):
            found = textwrap.shorten(", ".join(repr(key) for key in keys) or "none", 200)
            raise InputError(
                f"{path}: expected arrays {x!r} and {y!r}, got {found}; save them under these names, "
                f"numpy.savez(path, {x}=..., {y}=...), or in Python: load_arrays(path, x=..., y=...)."
            )
        return _member(archive, x, path), _member(archive, y, path)


def _member(archive: zipfile.ZipFile, key: str, path: Path) -> NDArray[np.generic]:
    member, where = archive.getinfo(f"{key}.npy"), f"{path} ({key})"
    known = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if member.flag_bits & _ENCRYPTED or member.compress_type not in known:
        raise InputError(
            f"{where}: expected an array as numpy.savez writes it, got one that is encrypted or compressed "
            "in another way; save it with numpy.savez."
        )
    check_unpacked(where, member.file_size, min(member.compress_size, path.stat().st_size))
    with archive.open(member) as stream:
        return _array(stream, member.file_size, path)


def _from_file(path: Path) -> NDArray[np.generic]:
    if _is_archive(path):
        raise InputError(f"{path}: expected a .npy file, got a .npz archive.")
    with damage(path), path.open("rb") as stream:
        return _array(stream, path.stat().st_size, path)


def _array(stream: IO[bytes] | BufferedIOBase, size: int, path: Path) -> NDArray[np.generic]:
    """The one array of so many bytes in the .npy format.

    Objects, which would be pickled, are refused by the header, and so are shapes that the bytes do not fill.
    """
    version = npy.read_magic(stream)
    # versions 2 and 3 differ only in how the names of fields are encoded
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = header(stream)
    if dtype.hasobject:
        raise InputError(
            f"{path}: expected arrays of numbers, got an object array; save plain numeric arrays, clouds "
            "and graphs padded to one size."
        )
    left = size - stream.tell()
    if math.prod(shape) * max(dtype.itemsize, 1) != left:
        said = textwrap.shorten(f"{dtype} of shape {shape}", 100)
        raise InputError(
            f"{path}: the file is damaged (header: {said}; there are {left} bytes); save it again."
        )
    check_data_room(str(path), math.prod(shape))
    stream.seek(0)
    array: NDArray[np.generic] = npy.read_array(stream, allow_pickle=False)
    return array
