"""Saved state dicts, read as data alone: no code in a file is run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from symscope.errors import InputError

LONGEST_PATH = 300  # letters of a path that a message shows, its end


def read_weights(path: Path, what: str) -> Mapping[str, Tensor]:
    """A saved state dict, read with `weights_only=True`.

    Args:
        path: The file.
        what: Name of the weights in messages.

    Raises:
        InputError: No such file, or one that holds something else.
    """
    if not os.path.isfile(path):  # unlike Path.is_file, also for names that are too long
        raise InputError(f"{what}: there is no file {str(path)[-LONGEST_PATH:]!r}.")
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling, archive and type errors alike
        raise InputError(
            f"{what}: {path} cannot be read as weights alone (weights_only=True); expected what "
            "torch.save(network.state_dict(), ...) writes, not a whole network and no other file."
        ) from error
    return check_weights(saved, f"{what}: {path}")


def check_weights(saved: object, what: str) -> Mapping[str, Tensor]:
    """The argument, if it is a state dict.

    Args:
        saved: Anything.
        what: Name of the weights in messages.

    Raises:
        InputError: It is something else than names to tensors, or complex ones, which would lose a part.

    >>> list(check_weights({"bias": torch.zeros(2)}, "params"))
    ['bias']
    """
    if isinstance(saved, Mapping) and all(isinstance(value, Tensor) for value in saved.values()):
        if several := [name for name, value in saved.items() if value.is_complex()]:
            raise InputError(
                f"{what}: expected real weights, got complex ones in {several[0]!r}; keep real and imaginary "
                "parts as two real tensors."
            )
        return saved
    held = [str(name) for name in saved] if isinstance(saved, Mapping) else []
    listed = f" with {', '.join(held[:3])}{' and more' if len(held) > 3 else ''}" if held else ""
    raise InputError(
        f"{what}: expected a state dict, names to tensors, got a {type(saved).__name__}{listed}; "
        "save network.state_dict() alone."
    )
