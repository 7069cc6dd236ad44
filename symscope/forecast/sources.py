"""Data and actions a user names: bundled digits, files, folders of images, functions of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from symscope.data import Action, LabelledData, from_dataset, load_arrays, mnist, mnist_sample
from symscope.errors import InputError, nearest
from symscope.forecast.problem import own_action
from symscope.groups import FiniteGroup, parse
from symscope.user_code import named_function, user_error

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")


def named_data(source: str, mnist_folder: Path | None = None, limit: int | None = None) -> LabelledData:
    """The data a user names.

    Args:
        source: "sample", "mnist", an .npz file with X and y, a folder (MNIST's files, or one folder of images
            for each class), or MODULE:FUNCTION returning a torch dataset or `LabelledData`.
        mnist_folder: Where "mnist" is.
        limit: Items to read of a dataset or folder, spread over its length; all when not given.

    Raises:
        InputError: No such source, or one that cannot be read.

    >>> len(named_data("sample"))
    2000
    """
    if source == "sample":
        return mnist_sample()
    if source == "mnist":
        if mnist_folder is None or not mnist_folder.is_dir():
            raise InputError("--data mnist: it is not there yet; run `symscope data fetch mnist` first")
        return mnist(mnist_folder)
    path = Path(source)
    if path.is_dir():
        return image_folder(path) if any(part.is_dir() for part in path.iterdir()) else mnist(path)
    if path.suffix == ".npz":
        return load_arrays(path)
    if ":" in source:
        return _own_data(source, limit)
    raise InputError(
        f"--data {source}: expected sample, mnist, an .npz file, a folder or MODULE:FUNCTION; "
        f"{nearest(source, ('sample', 'mnist'))}"
    )


def image_folder(path: Path) -> LabelledData:
    """One folder of images for each class, numbered in the order of their names, grey or colour.

    Args:
        path: Holds the classes' folders. All images need one size.

    Returns:
        Images `[n, height, width]`, or `[n, 3, height, width]` if any is in colour, with values 0 to 1.

    Raises:
        InputError: No folders or no images in one, sizes that differ, or files that are no images.
    """
    folders = sorted(part for part in path.iterdir() if part.is_dir())
    files = [(k, file) for k, folder in enumerate(folders) for file in sorted(folder.iterdir())]
    files = [(k, file) for k, file in files if file.suffix.lower() in IMAGES]
    for k, folder in enumerate(folders):
        if not any(owner == k for owner, _ in files):
            raise InputError(f"{folder}: expected images ({', '.join(IMAGES[:4])}, ...), got none.")
    if not files:
        raise InputError(f"{path}: expected a folder of images for each class, got none.")
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
    return LabelledData(torch.from_numpy(np.stack(arrays)), labels, path.name, str(path))


def named_own_action(name: str, group: str, shape: tuple[int, ...]) -> Action:
    """A user's MODULE:FUNCTION, `(g, x) -> g x` on batches of samples, as an action of a named group.

    Raises:
        InputError: As `named_function`, or a group that is not listed.
    """
    known = parse(group)
    if not isinstance(known, FiniteGroup):
        raise InputError(f"--group {group}: expected a listed finite group for an action of your own.")
    return own_action(known, named_function("--action", name), shape)


def _own_data(source: str, limit: int | None) -> LabelledData:
    function = named_function("--data", source)
    try:
        made = function()
    except Exception as error:  # whatever a user's function raises is the user's to see
        raise user_error(f"--data {source}: it", error) from error
    if isinstance(made, LabelledData):
        return made
    try:
        return from_dataset(made, limit=limit, name=source.rpartition(":")[2])
    except InputError:
        raise
    except Exception as error:  # reading items runs the user's code too
        raise user_error(f"--data {source}: its dataset", error) from error


def _pixels(file: Path) -> np.ndarray:
    from PIL import Image

    try:
        with Image.open(file) as image:
            grey = image.mode in ("1", "L", "LA", "I", "F", "I;16")
            pixels = np.asarray(image.convert("L" if grey else "RGB"), dtype=np.float64) / 255
    except OSError as error:
        raise InputError(f"{file}: expected an image that can be read, got: {error}.") from error
    return pixels if grey else np.moveaxis(pixels, -1, 0)
