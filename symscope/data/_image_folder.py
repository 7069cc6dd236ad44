"""Images from a folder, one folder inside it for each class."""

from __future__ import annotations

import textwrap
import warnings
from pathlib import Path

import numpy as np
import torch

from symscope.data._array_files import check_data_room, check_regular_file
from symscope.data._labelled import LabelledData, evenly_spread
from symscope.errors import InputError

_MOST_PIXELS = 2**24  # of one image, 4096 x 4096: a network on larger ones would not fit into memory
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF")  # Pillow's names; some other formats run programs
_IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
_DEEP = ("I", "I;16", "I;16L", "I;16B", "I;16N", "F")  # Pillow's names for grey images of more than 8 bits


def image_folder(path: Path, limit: int | None = None) -> LabelledData:
    """One folder of images for each class, numbered in the order of their names, grey or colour.

    Args:
        path: Holds the classes' folders; hidden ones and hidden files are left out. All images need one size.
        limit: Images to read, of every class its share; all when not given.

    Returns:
        Images `[n, height, width]`, or `[n, 3, height, width]` if any is in colour, with values 0 to 1.

    Raises:
        InputError: No folders or no images in one, sizes that differ, files that are no images or too large,
            or pixels that are neither 8-bit, nor 16-bit, nor fractions 0 to 1.
    """
    folders = class_folders(path)
    files = [(k, file) for k, folder in enumerate(folders) for file in sorted(folder.iterdir())]
    files = [(k, file) for k, file in files if file.suffix.lower() in _IMAGES and file.name[0] != "."]
    for k, folder in enumerate(folders):
        if not any(owner == k for owner, _ in files):
            raise InputError(f"{folder}: expected images ({', '.join(_IMAGES[:4])}, ...), got none.")
    if not files:
        raise InputError(f"{path}: expected a folder of images for each class, got none.")
    places = evenly_spread(len(files), limit)
    files = [files[place] for place in places.tolist()]
    first = _pixels(files[0][1])
    check_data_room(f"{path}: {len(files)} images", len(files) * first.size)
    arrays = [first, *(_pixels(file) for _, file in files[1:])]
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


def class_folders(path: Path) -> list[Path]:
    """The classes' folders, without hidden ones such as .ipynb_checkpoints."""
    return sorted(part for part in path.iterdir() if part.is_dir() and part.name[0] != ".")


def _pixels(file: Path) -> np.ndarray:
    from PIL import Image

    check_regular_file(file, "an image that can be read")
    try:
        # a warning is no use: the pixels are read or refused
        with warnings.catch_warnings(action="ignore"), Image.open(file, formats=_FORMATS) as image:
            if image.width * image.height > _MOST_PIXELS:
                raise InputError(
                    f"{file}: expected images of at most {_MOST_PIXELS} pixels, got {image.width} x "
                    f"{image.height}; resize them."
                )
            if image.mode in _DEEP:
                return _unit_range(np.asarray(image, dtype=np.float64), image.mode, file)
            grey = image.mode in ("1", "L", "LA")
            pixels = np.asarray(image.convert("L" if grey else "RGB"), dtype=np.float64) / 255
    except InputError:
        raise
    except Exception as error:  # parsers of damaged files raise nearly everything
        words = textwrap.shorten(str(error) or type(error).__name__, 100)
        raise InputError(f"{file}: expected an image that can be read, got: {words}.") from error
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
