"""IDX files for tests, written from the format's description and not with the reader's tables."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

CODES = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}


def idx_bytes(array: np.ndarray) -> bytes:
    head = struct.pack(">BBBB", 0, 0, CODES[array.dtype.name], array.ndim)
    sizes = b"".join(struct.pack(">I", side) for side in array.shape)
    return head + sizes + array.astype(array.dtype.newbyteorder(">")).tobytes()


def digits(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random images and labels, every class present when the count allows it."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
    return images, rng.permutation(np.arange(count) % 10).astype(np.uint8)


def write_split(folder: Path, images: np.ndarray, labels: np.ndarray, prefix: str = "train") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{prefix}-images-idx3-ubyte").write_bytes(idx_bytes(images))
    (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(idx_bytes(labels))
