"""Progress of a Gram matrix: the caller's function, or a bar with the rate and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from symscope.numerics import Progress


@contextmanager
def progress_steps(
    progress: Progress | bool | None, total: int, title: str
) -> Iterator[Callable[[int], None]]:
    """Give a function to call with the number of entries just finished; it tells `progress` how far it is.

    Args:
        progress: None or False for silence, True for a bar on standard error with the rate and the time left,
            or a function called as `progress(title, done, total)`.
        total: Entries in all.
        title: What is being computed.

    Yields:
        A function of the entries just finished.

    >>> with progress_steps(lambda what, done, total: print(what, done, "of", total), 6, "NTK") as step:
    ...     step(4)
    ...     step(2)
    NTK 4 of 6
    NTK 6 of 6
    """
    done = 0

    def silent_or_called(entries: int) -> None:
        nonlocal done
        done += entries
        if callable(progress):
            progress(title, done, total)

    if progress is not True:
        yield silent_or_called
        return
    with _bar(total, title) as step:
        yield step


@contextmanager
def _bar(total: int, title: str) -> Iterator[Callable[[int], None]]:
    # rich takes longer to import than a small Gram to compute: only who wants a bar pays
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text("" if not task.speed else f"{task.speed:.3g} entries/s")

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f}%"))
    with Bar(
        *columns, Rate(), TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)
    ) as bar:
        task = bar.add_task(title, total=total)
        yield lambda entries: bar.advance(task, entries)
