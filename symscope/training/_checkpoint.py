"""The state of a long training in one file: killed at any moment, it resumes from the last state."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from jaxtyping import Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import atomic_file, check_count, checked, remove_unfinished

FORMAT = 1


@checked
@final
@dataclass(frozen=True)
class Checkpoint:
    """Keep the state of a training in a file, and go on from it if it is there.

    Attributes:
        path: The file; its folder is made if missing.
        every: Epochs between two states.

    Raises:
        InputError: Less than one epoch.
    """

    path: str | Path
    every: int = 1

    def __post_init__(self) -> None:
        check_count("every", self.every)

    def prepare(self) -> None:
        """Refuse a folder that cannot be written now, not after hours; sweep what a killed process left.

        Raises:
            InputError: It cannot.
        """
        folder = Path(self.path).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
            remove_unfinished(Path(self.path))
        except OSError as error:
            raise InputError(
                f"checkpoint {self.path}: its folder cannot be written ({error.strerror or error}); choose "
                "another one."
            ) from error

    def save(self, problem: dict[str, Any], state: dict[str, Any]) -> None:
        """Write the state so that the file holds all of it or what it held before.

        Args:
            problem: What is being trained, as plain data; only the same problem may go on from it.
            state: Tensors and plain data.

        Raises:
            InputError: The disk is full or the folder cannot be written.
        """
        path = Path(self.path)
        try:
            with atomic_file(path) as file:
                torch.save({"format": FORMAT, "problem": problem, "state": state}, file)
        except (OSError, RuntimeError) as error:  # torch reports a full disk as a RuntimeError
            raise InputError(
                f"checkpoint {path}: cannot be written ({error}); the state before is kept; free disk "
                "space and run again."
            ) from error

    def load(self, problem: dict[str, Any], device: torch.device) -> dict[str, Any] | None:
        """The state to go on from, None if there is no file.

        Args:
            problem: What is being trained.
            device: Device for the tensors.

        Raises:
            InputError: The file is damaged, of another version, or of another problem.
        """
        path = Path(self.path)
        if not path.exists():
            return None
        remedy = "delete it to train from the beginning, or choose another file"
        try:
            content = torch.load(path, map_location=device, weights_only=True)
        except Exception as error:  # bytes that are no checkpoint make the reader fail in any way
            reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
            raise InputError(
                f"checkpoint {path}: damaged or not a checkpoint ({reason}); {remedy}."
            ) from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(f"checkpoint {path}: not a training of this version of symscope; {remedy}.")
        stored = content["problem"]
        differing = [key for key in problem if stored.get(key) != problem[key]]
        if differing:
            key = differing[0]
            raise InputError(
                f"checkpoint {path}: it belongs to another training; {key} is {stored.get(key)} there, "
                f"{problem[key]} here; {remedy}."
            )
        state: dict[str, Any] = content["state"]
        return state


def saved_state(
    checkpoint: Checkpoint | None, problem: Callable[[], dict[str, Any]], device: torch.device
) -> dict[str, Any] | None:
    """The state to go on from, None to begin; the file is looked at, and its folder, before anything runs.

    Args:
        checkpoint: File of the state, or None for no file.
        problem: Gives what is being trained; not called without a checkpoint.
        device: Device for the tensors.

    Raises:
        InputError: A folder that cannot be written or a file that cannot be used.

    >>> saved_state(None, dict, torch.device("cpu")) is None
    True
    """
    if checkpoint is None:
        return None
    checkpoint.prepare()
    return checkpoint.load(problem(), device)


def content_sum(x: Shaped[Tensor, "*shape"]) -> int:
    """A number that changes when any entry does: the entries' bits times odd weights, summed modulo 2^64.

    Whole-number arithmetic: the same on every device and in any order of summation.

    >>> a, b = content_sum(torch.tensor([1.0, 2.0])), content_sum(torch.tensor([2.0, 1.0]))
    >>> a == b
    False
    """
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    flat = x.detach().contiguous().reshape(-1)
    bits = flat.view(kinds[flat.element_size()])
    total = torch.zeros((), dtype=torch.int64, device=x.device)
    for start in range(0, len(bits), 2**24):
        piece = bits[start : start + 2**24].to(torch.int64)
        place = torch.arange(start, start + len(piece), device=x.device)
        total += ((piece + 1) * (2 * 0x9E3779B97F4A7C1 * place + 1)).sum()
    return int(total)
