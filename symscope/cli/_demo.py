"""`symscope demo`: the main job on bundled data, with a bar to watch, a table and a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, final

import typer

from symscope.cli._output import results_console
from symscope.errors import InputError

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the page; made if need be.")] = Path(
        "demo"
    ),
) -> None:
    """Which network will read a digit in a rotation it has not seen? Forecast, then checked by training.

    On bundled digits, for an MLP and a convolutional network; a minute and a half on two cores.

    Exit status: 0 done; 2 the folder cannot be written; 130 stopped by Ctrl-C, with nothing written.

    Example: [cyan]symscope demo --out /tmp/demo[/cyan]
    """
    from rich.console import Console

    from symscope.cli._demo_forecasts import DEMO, demo_forecasts
    from symscope.cli._forecast_table import print_comparison
    from symscope.forecasting import comparison_page
    from symscope.report import write_page

    report = _folder(out) / "report.html"
    bars = _Bars([name for name, _ in DEMO.networks], Console(stderr=True))
    try:
        with bars:
            found = demo_forecasts(DEMO, stage=bars.stage, progress=bars.progress)
            html = comparison_page(found, "symscope demo")
    except KeyboardInterrupt:
        print("symscope: stopped; nothing was written", file=sys.stderr)
        raise typer.Exit(130) from None
    print_comparison(found)
    write_page(html, report)
    results_console().print(f"Report: {report}", soft_wrap=True)


def _folder(out: Path) -> Path:
    """The folder, there and writable: better said now than after minutes of work."""
    import tempfile

    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise InputError(
            f"cannot write to the folder {out}: {error.strerror}; choose another with --out"
        ) from error
    return out


@final
class _Bars:
    """A bar for each network on standard error, with what is going on; it pulses where no end is known."""

    def __init__(self, networks: list[str], console: Console) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._bars = Progress(
            TextColumn("{task.description}", style="cyan"),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[words]}"),
            console=console,
        )
        self._ids = {
            name: self._bars.add_task(name, start=False, total=None, words="waiting") for name in networks
        }
        self._running = ""

    def stage(self, network: str, words: str) -> None:
        """A new part begins, whose length is not known."""
        if network != self._running:
            self._finish()
            self._bars.start_task(self._ids[network])
            self._running = network
        self._bars.update(self._ids[network], total=None, words=words)

    def progress(self, words: str, done: int, total: int) -> None:
        """The running network's two trainings got further."""
        words = f"{words}, epoch {done} of {total} in two trainings"
        self._bars.update(self._ids[self._running], completed=done, total=total, words=words)

    def _finish(self) -> None:
        if self._running:
            task = self._ids[self._running]
            self._bars.update(task, completed=1, total=1, words="done")
            self._bars.stop_task(task)

    def __enter__(self) -> _Bars:
        self._bars.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._finish()
        self._bars.__exit__(kind, error, trace)
