"""What one input led to: it ran, it was refused, or the program has a fault."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import io
import re
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from symscope.cli import main
from symscope.errors import InputError

ROOT = Path(__file__).parents[2]


class Kind(enum.StrEnum):
    """Kinds of outcome; the first three are fine."""

    ACCEPTED = "accepted"
    REFUSED = "clean errors"
    WRONG_TYPE = "type errors"
    TRACEBACK = "tracebacks"
    HANG = "hangs"
    MEMORY = "over memory"
    NOT_FINITE = "non-finite"

    @property
    def fault(self) -> bool:
        """Whether the program, not its user, is to blame."""
        return self not in (Kind.ACCEPTED, Kind.REFUSED, Kind.WRONG_TYPE)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What happened, and where: faults with the same place are the same fault."""

    kind: Kind
    place: str = ""
    detail: str = ""


def of_error(error: BaseException) -> Outcome:
    """An exception that escaped."""
    detail = "".join(traceback.format_exception(error))
    place = f"{type(error).__name__} in {innermost(error)}"
    if is_memory(error):
        return Outcome(Kind.MEMORY, place, detail)
    return Outcome(Kind.REFUSED if isinstance(error, InputError) else Kind.TRACEBACK, place, detail)


def is_memory(error: BaseException) -> bool:
    """Whether an allocation failed: Python, NumPy and PyTorch say it differently."""
    return isinstance(error, MemoryError) or bool(re.search(r"allocate memory|not enough memory", str(error)))


def of_caller(error: BaseException) -> bool:
    """Whether the caller's own function failed: its exception passes through as it is."""
    plain = [
        frame.filename
        for frame in traceback.extract_tb(error.__traceback__)
        if "site-packages" not in frame.filename and not frame.filename.startswith("<frozen")
    ]
    return plain[-1].startswith("<doctest")


def innermost(error: BaseException) -> str:
    """The innermost function of the library that the error went through, and its line."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(ROOT / "symscope")
    ]
    if not frames:
        return "no function of symscope"
    last = frames[-1]
    return f"{Path(last.filename).relative_to(ROOT)}:{last.lineno} {last.name}"


def of_command(arguments: Iterable[str]) -> Outcome:
    """What `symscope ARGUMENTS` leads to, in this process.

    A user's mistake must end with status 2 and one line on standard error.
    """
    arguments = list(arguments)
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(arguments)
        status: Any = 0
    except SystemExit as error:
        status = error.code
    except BaseException as error:
        return of_error(error)
    printed, said = text_of(out), text_of(err)
    if status in (0, 1):
        for name in [
            *arguments,
            *(one.encode("utf-8", "replace").decode() for one in arguments),
        ]:  # of folders
            printed = printed.replace(name, "") if re.search(r"(?i)nan|inf", name) else printed
        bad = re.search(r"(?i)^.*(?<![\w.-])[-+]?(nan|inf)\b.*$", printed, re.MULTILINE)
        return (
            Outcome(Kind.NOT_FINITE, f"standard output of {' '.join(arguments[:2])}", bad[0])
            if bad
            else Outcome(Kind.ACCEPTED, detail=printed)
        )
    if status == 130 or (
        status == 2 and "Usage: symscope" in printed + said
    ):  # stopped; no command: its help
        return Outcome(Kind.REFUSED, detail=said)
    last = said.rstrip("\n").splitlines()[-1:] or [""]
    if status != 2 or not last[0].startswith("symscope: "):
        return Outcome(
            Kind.TRACEBACK, f"status {status} without one line of error in {' '.join(arguments[:1])}", said
        )
    return Outcome(Kind.REFUSED, detail=said)


def text_of(stream: Any) -> str:
    """All that was written."""
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")


def of_call(call: Callable[[], Any], *, wrong_type: bool, finite: bool) -> Outcome:
    """What a call of the Python interface leads to.

    Args:
        call: The call.
        wrong_type: Whether an argument has a wrong Python type, where TypeError and AttributeError will do.
        finite: Whether the result must be finite.
    """
    try:
        result = call()
    except (TypeError, AttributeError) as error:
        fine = wrong_type or of_caller(error)
        return Outcome(Kind.WRONG_TYPE, detail=str(error)) if fine else of_error(error)
    except Exception as error:
        return Outcome(Kind.ACCEPTED) if of_caller(error) else of_error(error)
    if finite and (bad := not_finite(result)):
        return Outcome(Kind.NOT_FINITE, "", bad)
    return Outcome(Kind.ACCEPTED)


def not_finite(value: Any, depth: int = 4) -> str:
    """Where NaN or infinite numbers stand in a result; empty where there are none."""
    if isinstance(value, float | complex):
        return "" if np.isfinite(value) else f"{value}"
    if isinstance(value, torch.Tensor):
        shown = value.detach()
        numbers = shown.is_floating_point() or shown.is_complex()
        return f"{tuple(value.shape)}" if numbers and not bool(torch.isfinite(shown).all()) else ""
    if isinstance(value, np.ndarray):
        return f"{value.shape}" if value.dtype.kind in "fc" and not np.isfinite(value).all() else ""
    if not depth:
        return ""
    parts: Iterable[tuple[Any, Any]] = ()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    elif isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list | tuple):
        parts = enumerate(value[:50])
    return next((f"{name}: {bad}" for name, part in parts if (bad := not_finite(part, depth - 1))), "")
