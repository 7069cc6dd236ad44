"""MNIST and Fashion-MNIST, each from a folder of its four files, and the way to get them there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch

from symscope.data._download import RemoteFile, check_mirrors, download, holds_content
from symscope.data._idx import read_idx
from symscope.data._labelled import LabelledData
from symscope.errors import InputError, nearest
from symscope.numerics import Progress, checked

__all__ = ["IDX_SETS", "IdxSet", "fetch_data", "mnist"]


@final
@dataclass(frozen=True)
class IdxSet:
    """A data set of 60,000 training and 10,000 test images of 28 x 28 pixels, in MNIST's four files.

    Attributes:
        title: Its name in tables and messages.
        mirrors: Addresses that have the files.
        files: The files with the size and the SHA-256 of what they hold.
        classes: Names of its classes; None where they are the numbers 0 to 9.
    """

    title: str
    mirrors: tuple[str, ...]
    files: tuple[RemoteFile, ...]
    classes: tuple[str, ...] | None = None


def _files(*sha256: str) -> tuple[RemoteFile, ...]:
    """The four files, in the order train images, train labels, test images, test labels."""
    names = [f"{split}-{kind}" for split in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]
    sizes = [offset + count * pixels for count in (60000, 10000) for offset, pixels in ((16, 784), (8, 1))]
    return tuple(
        RemoteFile(f"{name}-ubyte.gz", size, digest)
        for name, size, digest in zip(names, sizes, sha256, strict=True)
    )


IDX_SETS = {
    "mnist": IdxSet(
        "MNIST",
        (
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
        _files(
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
    "fashion-mnist": IdxSet(
        "Fashion-MNIST",
        (
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
        ),
        _files(
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
        (
            "T-shirt",
            "trouser",
            "pullover",
            "dress",
            "coat",
            "sandal",
            "shirt",
            "sneaker",
            "bag",
            "ankle boot",
        ),
    ),
}

_SPLITS = {"train": "train", "test": "t10k"}
_LAYOUTS = ("", "raw", "MNIST/raw")


@checked
def mnist(
    folder: str | Path, split: str = "train", dtype: torch.dtype = torch.float64, name: str = "mnist"
) -> LabelledData:
    """The MNIST digits of a folder, or another set in its format, pixels in [0, 1].

    The folder holds the IDX files, plain or `.gz`, named `train-images-idx3-ubyte` or
    `train-images.idx3-ubyte`, directly or in `raw/` or `MNIST/raw/` (torchvision's layout).

    Args:
        folder: The folder.
        split: `"train"` or `"test"`.
        dtype: Floating-point type of the pixels; the 60,000 training images take 376 MB in float64.
        name: Which of `IDX_SETS` the folder holds.

    Returns:
        Images [n, 28, 28] with labels 0 .. 9.

    Raises:
        InputError: A file is missing or damaged, images and labels differ in number, or the split is unknown.
    """
    if split not in _SPLITS:
        raise InputError(f"split: expected 'train' or 'test', got {split!r}; {nearest(split, _SPLITS)}")
    title = _named(name).title
    folder, prefix = Path(folder), _SPLITS[split]
    paths = [
        _required(folder, f"{prefix}-images", "idx3", name),
        _required(folder, f"{prefix}-labels", "idx1", name),
    ]
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
        raise InputError(f"{paths[1]}: expected labels 0 .. 9, got {int(labels.max())}; this is not {title}.")
    return LabelledData(images.to(dtype) / 255, labels.long(), f"{title} {split}", str(paths[0].parent))


@checked
def fetch_data(
    name: str,
    folder: str | Path,
    mirrors: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Downloads what is missing of the four files of MNIST (12 MB) or Fashion-MNIST (31 MB) into the folder.

    Files that are there with the right content, in any layout that `mnist` reads, are not fetched again.

    Args:
        name: One of `IDX_SETS`: "mnist" or "fashion-mnist".
        folder: Folder to put them in; it is made if missing.
        mirrors: Addresses asked in turn; public ones when not given.
        progress: Called as `progress(name, bytes so far, bytes in all)`; 0 in all if the mirror does not say.

    Returns:
        The folder, ready for `mnist`.

    Raises:
        InputError: An unknown set, no mirror gave a file with the right SHA-256, the folder cannot be
            written, or a file there that would be read first has other content.
    """
    folder, wanted = Path(folder), _named(name)
    mirrors = wanted.mirrors if mirrors is None else mirrors
    check_mirrors(mirrors)
    for file in wanted.files:
        stem, _, kind = file.name.rpartition("-idx")
        there = _path_of(folder, stem, "idx" + kind[0])
        if there is not None and holds_content(there, file):
            continue
        if there is not None and there != folder / file.name:
            raise InputError(
                f"{there}: expected the {stem} of {wanted.title}, got other content (SHA-256 differs); "
                "remove it, then fetch again."
            )
        download(file, folder, mirrors, progress)
    return folder


def _named(name: str) -> IdxSet:
    if name not in IDX_SETS:
        raise InputError(
            f"symscope can fetch {' and '.join(IDX_SETS)}, got {name!r}; {nearest(name, list(IDX_SETS))}"
        )
    return IDX_SETS[name]


def _path_of(folder: Path, stem: str, kind: str) -> Path | None:
    for layout in _LAYOUTS:
        for joint in "-.":
            for ending in ("", ".gz"):
                path = folder / layout / f"{stem}{joint}{kind}-ubyte{ending}"
                if path.is_file():
                    return path
    return None


def _required(folder: Path, stem: str, kind: str, name: str) -> Path:
    path = _path_of(folder, stem, kind)
    if path is None:
        state = "is not a folder" if not folder.is_dir() else "has no such file"
        raise InputError(
            f"{folder}: expected {stem}-{kind}-ubyte (or .gz) of {IDX_SETS[name].title}, there or in raw/ or "
            f"MNIST/raw/, but it {state}; fetch it with `symscope data fetch {name}`, or copy the four files "
            "into the folder."
        )
    return path
