"""Data by name, as `--data` takes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from symscope.errors import InputError, nearest

if TYPE_CHECKING:
    from symscope.data import LabelledData

SOURCES = {
    "sample": "200 MNIST digits of each class, bundled: nothing to download (the default)",
    "mnist": "all 60,000 training digits, after `symscope data fetch mnist`",
    "FOLDER": "a folder with MNIST's IDX files, plain or .gz",
    "FILE.npz": "your own arrays: X [n, height, width] and class numbers y [n]",
}


def labelled_data(source: str) -> LabelledData:
    """The data a user names.

    Args:
        source: A name from `SOURCES`, a folder, or an .npz file.

    Raises:
        InputError: No such source; the nearest name is suggested.

    >>> len(labelled_data("sample"))
    2000
    """
    from symscope.data import default_folder, load_arrays, mnist, mnist_sample

    if source == "sample":
        return mnist_sample()
    if source == "mnist":
        folder = default_folder("mnist")
        if not folder.is_dir():
            raise InputError(f"--data mnist: not in {folder} yet; run `symscope data fetch mnist` first")
        return mnist(folder)
    path = Path(source)
    if path.is_dir():
        return mnist(path)
    if path.suffix == ".npz":
        return load_arrays(path)
    raise InputError(
        f"--data {source}: expected sample, mnist, a folder or an .npz file; "
        f"{nearest(source, ('sample', 'mnist'))}"
    )
