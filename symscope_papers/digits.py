"""The digits an experiment is run on: the set that was asked for, never another one."""

from __future__ import annotations

from pathlib import Path

from symscope.data import LabelledData, data_folder, mnist_sample
from symscope.data.mnist_files import mnist
from symscope.errors import InputError


def digits(source: str, split: str = "train") -> LabelledData:
    """Bundled digits, or MNIST.

    Args:
        source: "sample" for the 2,000 bundled digits, "fetched" for MNIST where `symscope data fetch mnist`
            puts it, or a folder with MNIST's files.
        split: "train" or "test" of MNIST; the bundled digits have no test set and are the same for both.

    Raises:
        InputError: The files are not there. Never another set instead of the one that was asked for.

    >>> len(digits("sample"))
    2000
    """
    if source == "sample":
        return mnist_sample()
    folder = data_folder("mnist") if source == "fetched" else Path(source)
    try:
        return mnist(folder, split)
    except InputError as error:
        raise InputError(
            f"mnist={source}: this needs all of MNIST, which is not in {folder}. Run `symscope data fetch "
            "mnist`, or name a folder with its files by `--set mnist=FOLDER`; `--set mnist=sample` takes the "
            f"2,000 bundled digits instead. ({error})"
        ) from error
