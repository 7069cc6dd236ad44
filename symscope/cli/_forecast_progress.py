"""How far a forecast is, on standard error: one line that changes, or a line now and then in a file."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

EVERY = 10.0  # seconds from line to line where standard error is no terminal


class ForecastProgress:
    """Shows what is done now: what, how much of it in per cent, and the time that is left.

    In a terminal one line that changes. Elsewhere a line every ten seconds, from the first ten on: also
    while a long step, a kernel, say, calls nobody.

    Args:
        every: Seconds between lines where standard error is no terminal.
    """

    def __init__(self, every: float = EVERY) -> None:
        from rich.console import Console

        self.stream, self.every = sys.stderr, every
        self.words, self.since = "", (0, 0.0)
        self.status = Console(file=self.stream).status("reading") if self.stream.isatty() else None
        self.ended = threading.Event()
        self.lines = threading.Thread(target=self._write_lines, daemon=True)

    def __call__(self, name: str, what: str, done: int, total: int) -> None:
        """Take note of how far one network's forecast is; a total of 0 begins a part."""
        now = time.monotonic()
        if total != self.since[0]:
            self.since = (total, now)
        self.words = f"{name}: {what}{remaining_text(done, total, now - self.since[1])}"
        if self.status is not None:
            from rich.text import Text

            self.status.update(Text(self.words))

    def __enter__(self) -> ForecastProgress:
        if self.status is None:
            self.lines.start()
        else:
            self.status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        if self.status is None:
            self.lines.join()
        else:
            self.status.stop()

    def _write_lines(self) -> None:
        while not self.ended.wait(self.every):
            print(self.words, file=self.stream, flush=True)


def remaining_text(done: int, total: int, elapsed: float) -> str:
    """Per cent of what is counted, and the time left if it goes on as before.

    >>> remaining_text(30, 100, 6.0), remaining_text(50, 100, 200.0), remaining_text(0, 0, 1.0)
    (', 30 %, 14 s left', ', 50 %, 3 min 20 s left', '')
    >>> remaining_text(1, 100, 0.0)
    ', 1 %'
    """
    if not total:
        return ""
    if not done or not elapsed:  # the first call of a part tells nothing of its speed
        return f", {100 * done // total} %"
    left = round(elapsed * (total - done) / done)
    minutes = f"{left // 60} min " if left >= 60 else ""
    return f", {100 * done // total} %, {minutes}{left % 60} s left"
