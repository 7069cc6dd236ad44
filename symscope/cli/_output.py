"""Where results go: the terminal, and the page."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscope.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console


def results_console() -> Console:
    """Standard output, where text is shown as it is: brackets in a user's names are no markup."""
    from rich.console import Console

    wide: dict[str, Any] = {} if sys.stdout.isatty() else {"width": 140}
    return Console(markup=False, emoji=False, **wide)


def check_page_path(out: Path) -> None:
    """Refuses a page that cannot be written: better said now than after minutes of work.

    Args:
        out: The file.

    Raises:
        InputError: A folder, or a file in a folder that is not there or cannot be written.
    """
    if out.is_dir():
        raise InputError(f"--out {out}: this is a folder; name the page to write")
    folder = out.absolute().parent
    if not folder.is_dir():
        raise InputError(f"--out {out}: there is no folder {folder}; make it first")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"--out {out}: cannot write to {folder}: {error.strerror}") from error


def accuracy_text(value: float) -> str:
    """Two digits, or a dash where nothing was measured.

    >>> accuracy_text(0.375), accuracy_text(float("nan"))
    ('0.38', '–')
    """
    return "–" if value != value else f"{value:.2f}"
