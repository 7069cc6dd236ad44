"""The IDX file format, in which MNIST is published: a header of sizes, then big-endian numbers."""

from __future__ import annotations

import gzip
import io
import math
import zlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from symscope.data._array_files import check_regular_file, check_unpacked
from symscope.errors import InputError

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 20
_AXES = 8  # more than any published file has; a header that claims more is not one


def read_idx(path: str | Path) -> Tensor:
    """The array of an IDX file, plain or gzip-compressed, whatever its name ends in.

    Bytes 0, 0, type, number of axes; then one big-endian 32-bit size per axis; then exactly the
    entries, row-major. Anything missing or left over is an error.

    Args:
        path: The file.

    Returns:
        A tensor of the stored type and shape.

    Raises:
        InputError: The file is missing, is not IDX, is cut short, has bytes left over, or is a damaged
            gzip file or one that unpacks to far more than its size.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 5, 6, 7]))
    ...     file.flush()
    ...     read_idx(file.name)
    tensor([[5, 6, 7]], dtype=torch.uint8)
    """
    path = Path(path)
    check_regular_file(path, "a readable IDX file")
    try:
        with path.open("rb") as raw:
            compressed = raw.read(2) == _GZIP
            raw.seek(0)
            if not compressed:
                return _array(raw, path)
            with gzip.GzipFile(fileobj=raw) as unpacked:
                return _array(unpacked, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}: the gzip file is damaged or cut short ({error}); fetch it again."
        ) from error
    except OSError as error:
        raise InputError(f"{path}: expected a readable IDX file, got: {error.strerror or error}.") from error


def _array(stream: io.BufferedIOBase, path: Path) -> Tensor:
    head = _exactly(stream, 4)
    if len(head) < 4:
        raise InputError(
            f"{path}: expected an IDX file, got {len(head)} bytes, less than its four-byte magic number."
        )
    if head[:2] != b"\x00\x00" or head[2] not in _TYPES or not 1 <= head[3] <= _AXES:
        raise InputError(
            f"{path}: expected an IDX magic number (0, 0, a type of {sorted(_TYPES)}, 1 to {_AXES} axes), "
            f"got {tuple(head)}; this is not an IDX file."
        )
    sizes = _exactly(stream, 4 * head[3])
    if len(sizes) < 4 * head[3]:
        raise InputError(
            f"{path}: cut short: the header promises {head[3]} sizes, got {len(sizes)} bytes of them."
        )
    shape = tuple(int(size) for size in np.frombuffer(sizes, ">u4"))
    kind = np.dtype(_TYPES[head[2]])
    expected = math.prod(shape) * kind.itemsize
    if isinstance(stream, gzip.GzipFile):
        check_unpacked(str(path), expected, path.stat().st_size)
    body = _exactly(stream, expected + 1)
    if len(body) < expected:
        raise InputError(
            f"{path}: cut short: shape {shape} needs {expected} bytes, got {len(body)}; fetch it again."
        )
    if len(body) > expected:
        raise InputError(
            f"{path}: bytes left over after the {expected} that shape {shape} needs; fetch it again."
        )
    values = np.frombuffer(body, kind).reshape(shape)
    return torch.from_numpy(values.astype(kind.newbyteorder("=")))


def _exactly(stream: io.BufferedIOBase, count: int) -> bytearray:
    """Up to `count` bytes, block by block: a header that lies about its sizes must not allocate them."""
    got = bytearray()
    while len(got) < count and (block := stream.read(min(_BLOCK, count - len(got)))):
        got += block
    return got
