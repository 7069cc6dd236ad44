"""MNIST from a folder of its four files, and the way to get them there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from symscope.data._download import RemoteFile, check_mirrors, download, holds_content
from symscope.data._idx import read_idx
from symscope.data._labelled import LabelledData
from symscope.errors import InputError, nearest
from symscope.numerics import Progress, checked

__all__ = ["fetch_mnist", "mnist"]

MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)

MNIST_FILES = (
    RemoteFile(
        "train-images-idx3-ubyte.gz",
        47040016,
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    RemoteFile(
        "train-labels-idx1-ubyte.gz",
        60008,
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    RemoteFile(
        "t10k-images-idx3-ubyte.gz",
        7840016,
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    RemoteFile(
        "t10k-labels-idx1-ubyte.gz", 10008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
    ),
)

_SPLITS = {"train": "train", "test": "t10k"}
_LAYOUTS = ("", "raw", "MNIST/raw")


@checked
def mnist(folder: str | Path, split: str = "train", dtype: torch.dtype = torch.float64) -> LabelledData:
    """The MNIST digits of a folder, pixels in [0, 1].

    The folder holds the IDX files, plain or `.gz`, named `train-images-idx3-ubyte` or
    `train-images.idx3-ubyte`, directly or in `raw/` or `MNIST/raw/` (torchvision's layout).

    Args:
        folder: The folder.
        split: `"train"` or `"test"`.
        dtype: Floating-point type of the pixels; the 60,000 training images take 376 MB in float64.

    Returns:
        Images [n, 28, 28] with labels 0 .. 9.

    Raises:
        InputError: A file is missing or damaged, images and labels differ in number, or the split is unknown.
    """
    if split not in _SPLITS:
        raise InputError(f"split: expected 'train' or 'test', got {split!r}; {nearest(split, _SPLITS)}")
    folder, prefix = Path(folder), _SPLITS[split]
    paths = [_required(folder, f"{prefix}-images", "idx3"), _required(folder, f"{prefix}-labels", "idx1")]
    images, labels = (read_idx(path) for path in paths)
    for path, array, axes, what in zip(paths, (images, labels), (3, 1), ("images", "labels"), strict=True):
        if array.dtype != torch.uint8 or array.ndim != axes:
            raise InputError(
                f"{path}: expected {what} as bytes with {axes} axes, "
                f"got {array.dtype} of shape {tuple(array.shape)}."
            )
    if len(images) != len(labels):
        raise InputError(
            f"{paths[0].parent}: expected one label per image, got {len(images)} images and {len(labels)} "
            "labels; the two files do not belong together."
        )
    if len(labels) and int(labels.max()) > 9:
        raise InputError(f"{paths[1]}: expected labels 0 .. 9, got {int(labels.max())}; this is not MNIST.")
    return LabelledData(images.to(dtype) / 255, labels.long(), f"MNIST {split}", str(paths[0].parent))


@checked
def fetch_mnist(
    folder: str | Path,
    mirrors: Sequence[str] = MNIST_MIRRORS,
    progress: Progress | None = None,
) -> Path:
    """Downloads what is missing of MNIST's four files into the folder, 12 MB in all.

    Files that are there with the right content, in any layout that `mnist` reads, are not fetched again.

    Args:
        folder: Folder to put them in; it is made if missing.
        mirrors: Addresses asked in turn.
        progress: Called as `progress(name, bytes so far, bytes in all)`; 0 in all if the mirror does not say.

    Returns:
        The folder, ready for `mnist`.

    Raises:
        InputError: No mirror gave a file with the right SHA-256, the folder cannot be written, or a file
            there that would be read first has other content.
    """
    folder = Path(folder)
    check_mirrors(mirrors)
    for file in MNIST_FILES:
        stem, _, kind = file.name.rpartition("-idx")
        there = _path_of(folder, stem, "idx" + kind[0])
        if there is not None and holds_content(there, file):
            continue
        if there is not None and there != folder / file.name:
            raise InputError(
                f"{there}: expected MNIST's {stem}, got other content (SHA-256 differs); remove it, "
                "then fetch again."
            )
        download(file, folder, mirrors, progress)
    return folder


def _path_of(folder: Path, stem: str, kind: str) -> Path | None:
    for layout in _LAYOUTS:
        for joint in "-.":
            for ending in ("", ".gz"):
                path = folder / layout / f"{stem}{joint}{kind}-ubyte{ending}"
                if path.is_file():
                    return path
    return None


def _required(folder: Path, stem: str, kind: str) -> Path:
    path = _path_of(folder, stem, kind)
    if path is None:
        state = "is not a folder" if not folder.is_dir() else "has no such file"
        raise InputError(
            f"{folder}: expected MNIST's {stem}-{kind}-ubyte (or .gz), there or in raw/ or MNIST/raw/, but "
            f"it {state}; fetch it with `symscope data fetch mnist`, or copy the four files into the folder."
        )
    return path
