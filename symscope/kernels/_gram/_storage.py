"""A Gram matrix on disk: memory-mapped, checksummed tile by tile, and resumable after a kill at any moment.

A store is a folder of three files, readable without symscope:

- `gram.npy`: the matrix, an ordinary NumPy file, allocated in full before anything is computed;
- `header.json`: what it is the Gram of (kernel, checksums of the inputs, dtype, tiles), written last;
- `journal.txt`: a line per finished tile, `index crc32 crc32-of-the-line`, written after its numbers.

The journal is a commit log (Gray and Reuter 1993): numbers first, then the line that declares them. A tile
counts as finished only when its line is whole and its numbers match the checksum, whatever order the disk
wrote them in. Nothing is ever undone: a tile is a function of its inputs, so what is in doubt is computed
again.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import mmap
import os
import shutil
import sys
import warnings
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.kernels._gram._tiles import Arithmetic, Grid, Tile, place, tile_values
from symscope.kernels._kernel import Kernel
from symscope.numerics import atomic_file, byte_text, exclusive_lock

_FORMAT = "symscope gram 1"
_FILES = {"gram.npy", "header.json", "journal.txt"}
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
# How far the kernel's value at a few points may be from the one in the header: devices round differently.
_PROBE_TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "tf32": 2e-2}


@final
class GramStore:
    """An open store: which tiles are missing, and a way to write one."""

    def __init__(
        self, folder: Path, grid: Grid, matrix: Tensor, journal: BinaryIO, finished: dict[int, int]
    ) -> None:
        self._folder, self._grid, self._matrix, self._journal = folder, grid, matrix, journal
        self._index = {tile: index for index, tile in enumerate(grid.tiles)}
        self.missing = tuple(tile for index, tile in enumerate(grid.tiles) if index not in finished)

    def write(self, tile: Tile, values: Float[Tensor, "r c"]) -> None:
        """Write a tile, then its line in the journal: after a kill in between it is computed again."""
        values = values.to("cpu", self._matrix.dtype)
        place(self._matrix, tile, values, self._grid.symmetric)
        with _disk_errors(self._folder, 0):
            self._journal.write(_line(self._index[tile], _checksum(values)))
            self._journal.flush()


@contextmanager
def open_store(
    folder: str | Path, kernel: Kernel, x1: Tensor, x2: Tensor | None, grid: Grid, arithmetic: Arithmetic
) -> Iterator[GramStore]:
    """Open a store for this Gram, making it where there is none, and keep other writers out.

    Args:
        folder: Folder of the store, made if it does not exist.
        kernel: The kernel; its name and its values at a few points are compared with the store's.
        x1: Points of the rows; their checksum is compared.
        x2: Points of the columns, or None.
        grid: The tiles.
        arithmetic: Device and dtype of the computation.

    Yields:
        The store; on leaving, everything written is on disk.

    Raises:
        InputError: The folder cannot be written, the disk is too full, another process writes to it, or it
            holds another Gram.
    """
    folder = Path(folder)
    header = _header(kernel, x1, x2, grid, arithmetic)
    if not (folder / "header.json").exists():
        _make(folder, header)
    _check_same(folder, _read_header(folder), header)
    with ExitStack() as stack:
        with _disk_errors(folder, 0):
            busy = f"store {folder}: another process is writing to it; wait for it or use another."
            journal = stack.enter_context(exclusive_lock(folder / "journal.txt", busy))
        finished = _read_journal(journal)
        with _disk_errors(folder, 0):
            array = np.load(folder / "gram.npy", mmap_mode="r+", allow_pickle=False)
        broken = _broken(array, grid, finished)
        if broken:
            warnings.warn(
                f"store {folder}: {len(broken)} of {len(grid.tiles)} tiles do not match their checksum; "
                "they are computed again.",
                stacklevel=4,
            )
        good = {index: crc for index, crc in finished.items() if index not in broken}
        yield GramStore(folder, grid, torch.from_numpy(array), journal, good)
        with _disk_errors(folder, 0):
            array.flush()
            os.fsync(journal.fileno())


def open_gram(folder: str | Path, *, verify: bool = True) -> Float[Tensor, "n1 n2"]:
    """The matrix in a finished store, mapped into memory: nothing is read before it is used.

    Args:
        folder: The store.
        verify: Compare every tile with its checksum, which reads the whole file once.

    Returns:
        The matrix. The file is opened for reading: changing the tensor changes this process's view alone.

    Raises:
        InputError: It is no store, not finished, or damaged; says which tiles.

    >>> import tempfile
    >>> from symscope.kernels._gram._gram import gram
    >>> products = lambda a, b: a @ (a if b is None else b).mT
    >>> linear = Kernel("linear", products, lambda a: (a * a).sum(1), lambda s, t: 8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     K = gram(linear, torch.tensor([[1.0, 2.0], [0.0, 3.0]]), store=folder + "/K")
    ...     print(open_gram(folder + "/K"))
    tensor([[5., 6.],
            [6., 9.]], dtype=torch.float64)
    """
    folder = Path(folder)
    header = _read_header(folder)
    grid = _grid(header)
    with _disk_errors(folder, 0), open(folder / "journal.txt", "rb") as journal:
        finished = _read_journal(journal)
    missing = len(grid.tiles) - len(finished)
    if missing:
        raise InputError(
            f"store {folder}: {missing} of {len(grid.tiles)} tiles are missing; finish it with "
            f"gram(kernel, x1, x2, store=...) and the kernel {header['kernel']!r}."
        )
    with _disk_errors(folder, 0):
        array = np.load(folder / "gram.npy", mmap_mode="r", allow_pickle=False)
    broken = _broken(array, grid, finished) if verify else []
    if broken:
        tiles = ", ".join(str(tuple(grid.tiles[index])) for index in broken[:5])
        raise InputError(
            f"store {folder}: {len(broken)} tiles do not match their checksum (top, bottom, left, right: "
            f"{tiles}); compute them again with gram(kernel, x1, x2, store=...)."
        )
    return _mapped(folder / "gram.npy", array)


def stored_tile(folder: str | Path) -> tuple[int, int] | None:
    """The sides of the tiles a store was begun with, None where there is no store yet."""
    folder = Path(folder)
    if not (folder / "header.json").exists():
        return None
    return _grid(_read_header(folder)).sides


def _mapped(path: Path, array: np.memmap) -> Tensor:
    # Copy-on-write: a read-only mapping would end the process when a tensor on it is written to.
    # Without reserve: a file larger than the memory must still map.
    with open(path, "rb") as file:
        memory = mmap.mmap(
            file.fileno(), 0, flags=mmap.MAP_PRIVATE | _NORESERVE, prot=mmap.PROT_READ | mmap.PROT_WRITE
        )
    flat = np.frombuffer(memory, dtype=array.dtype, offset=array.offset)
    return torch.from_numpy(flat.reshape(array.shape))


def _make(folder: Path, header: dict[str, Any]) -> None:
    rows, columns = header["shape"]
    preface = io.BytesIO()
    dtype = np.dtype(header["dtype"] if header["dtype"] != "tf32" else "float32")
    description = {"descr": dtype.str, "fortran_order": False, "shape": (rows, columns)}
    np.lib.format.write_array_header_1_0(preface, description)
    total = len(preface.getvalue()) + rows * columns * dtype.itemsize
    with _disk_errors(folder, total):
        folder.mkdir(parents=True, exist_ok=True)
        names = {entry.name for entry in folder.iterdir()}
        others = sorted(name for name in names - _FILES if not name.startswith(".unfinished-"))
        if others:
            raise InputError(f"store {folder}: expected a new or empty folder, it holds {others[0]!r}.")
        try:
            with open(folder / "gram.npy", "wb") as file:
                file.write(preface.getvalue())
                file.flush()
                _allocate(file, total)
        except OSError:
            (folder / "gram.npy").unlink(missing_ok=True)  # give a full disk its space back
            raise
        (folder / "journal.txt").write_bytes(b"")
        with atomic_file(folder / "header.json") as file:
            file.write((json.dumps(header, indent=1) + "\n").encode())


def _allocate(file: BinaryIO, total: int) -> None:
    # Every block now: a write through a memory map to a full disk would end the process, not raise.
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, total)
        return
    zeros = bytes(1 << 20)
    for start in range(file.tell(), total, len(zeros)):
        file.write(zeros[: total - start])


def _header(
    kernel: Kernel, x1: Tensor, x2: Tensor | None, grid: Grid, arithmetic: Arithmetic
) -> dict[str, Any]:
    others = x1 if x2 is None else x2
    places = ((0, -1), (len(x1) // 2, 0), (-1, len(others) // 2))
    pairs = [(x1[i][None], others[j][None]) for i, j in places]
    return {
        "format": _FORMAT,
        "kernel": kernel.name,
        "shape": list(grid.shape),
        "tile": list(grid.sides),
        "symmetric": grid.symmetric,
        "dtype": "tf32" if arithmetic.tf32 else str(arithmetic.dtype).removeprefix("torch."),
        "x1": _fingerprint(x1, arithmetic.dtype),
        "x2": None if x2 is None else _fingerprint(x2, arithmetic.dtype),
        "probe": [float(tile_values(kernel, a, b, arithmetic)) for a, b in pairs],
    }


def _fingerprint(x: Tensor, dtype: torch.dtype) -> str:
    digest = hashlib.sha256(repr(tuple(x.shape)).encode())
    for part in x.detach().split(1024):
        digest.update(part.to("cpu", dtype).contiguous().numpy().data)
    return digest.hexdigest()


def _read_header(folder: Path) -> dict[str, Any]:
    try:
        header = json.loads((folder / "header.json").read_text())
        known = header["format"] == _FORMAT and {"kernel", "shape", "tile", "dtype", "probe"} <= set(header)
    except FileNotFoundError as error:
        raise InputError(
            f"store {folder}: expected a folder made by gram(..., store=...), found none."
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"store {folder}: header.json cannot be read ({error}); delete the folder."
        ) from error
    if not known:
        raise InputError(
            f"store {folder}: expected format {_FORMAT!r}, got {header['format']!r}; delete the folder."
        )
    return header


def _check_same(folder: Path, stored: dict[str, Any], wanted: dict[str, Any]) -> None:
    differing = [key for key in wanted if key != "probe" and stored.get(key) != wanted[key]]
    tolerance = _PROBE_TOLERANCE.get(stored["dtype"], 0.0)
    if not differing and not np.allclose(
        stored["probe"], wanted["probe"], rtol=tolerance, atol=0.0, equal_nan=True
    ):
        differing = ["probe"]
    if differing:
        what = "; ".join(f"{key}: {stored.get(key)} there, {wanted[key]} here" for key in differing)
        raise InputError(
            f"store {folder}: it holds another Gram ({what}); use another folder or delete this one."
        )


def _grid(header: dict[str, Any]) -> Grid:
    (n1, n2), (rows, columns) = header["shape"], header["tile"]
    return Grid((n1, n2), (rows, columns), header["symmetric"])


def _line(index: int, checksum: int) -> bytes:
    text = f"{index} {checksum:08x}"
    return f"{text} {zlib.crc32(text.encode()):08x}\n".encode()


def _read_journal(journal: BinaryIO) -> dict[int, int]:
    """Index and checksum of every finished tile; lines a kill cut short do not count."""
    journal.seek(0)
    text = journal.read()
    finished = {}
    for line in text.split(b"\n"):
        words = line.split()
        if len(words) == 3 and words[0].isdigit():
            try:
                index, checksum = int(words[0]), int(words[1], 16)
            except ValueError:
                continue
            if _line(index, checksum) == line + b"\n":
                finished[index] = checksum
    if text and not text.endswith(b"\n") and journal.writable():
        journal.write(b"\n")
    return finished


def _checksum(values: Tensor) -> int:
    return zlib.crc32(values.contiguous().numpy().data)


def _broken(array: np.memmap, grid: Grid, finished: dict[int, int]) -> list[int]:
    """Tiles whose numbers, or whose mirror image's, do not match their checksum."""
    bad = []
    for index, checksum in finished.items():
        tile = grid.tiles[index]
        copies = [array[tile.rows, tile.columns]]
        if grid.symmetric and tile.rows != tile.columns:
            copies.append(array[tile.columns, tile.rows].T)
        if any(zlib.crc32(np.ascontiguousarray(copy).data) != checksum for copy in copies):
            bad.append(index)
    return bad


@contextmanager
def _disk_errors(folder: Path, needed: int) -> Iterator[None]:
    """Turn what the disk refuses into an InputError that says why."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
            free = byte_text(shutil.disk_usage(there).free)
            size = f"it needs {byte_text(needed)}" if needed else "it cannot grow"
            reason = f"no space: {size}, {free} are free ({os.strerror(error.errno)})"
        else:
            reason = f"cannot be used ({error})"
        raise InputError(f"store {folder}: {reason}; free some space or use another folder.") from error
