"""`symscope demo`: the main job on bundled data, with a bar to watch, a table and a page.

Digits in eight rotations, half of them upright only, asked of a fully connected network: will it
recognise new digits turned? Forecast before training, with a price list of what to do; then it is trained
and the forecast is checked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, final

import typer

from symscope.cli._terminal import check_writable, print_comparison, print_forecast, results_console
from symscope.errors import InputError

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console

    from symscope.forecasting import Forecast


@final
@dataclass(frozen=True)
class Demonstration:
    """What the demo asks; small enough for about a minute on two cores.

    Attributes:
        seen: Coverage of the training data.
        action: Group and action.
        per_class: Digits of each class.
        networks: Networks to compare, and the steps of their training.
        batch: Points per step.
        budget: Seconds for each forecast.
        seed: Seed of all randomness.
    """

    seen: str = "5,6,7,8,9: upright only"
    action: str = "C8 rotation"
    per_class: int = 100
    networks: tuple[tuple[str, int], ...] = (("mlp", 2000),)
    batch: int = 32
    budget: float = 40.0
    seed: int = 0


DEMO = Demonstration()


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the page; made if need be.")
    ] = Path("demo"),
) -> None:
    """Half of the digits were only seen upright: will a network recognise new ones turned? Forecast, checked.

    On bundled digits, for an MLP; about a minute on two cores.

    Exit status: 0 done; 2 the folder cannot be written; 130 stopped by Ctrl-C, with nothing written.

    Example: [cyan]symscope demo --out /tmp/demo[/cyan]
    """
    from rich.console import Console

    from symscope.forecasting import comparison_page, forecast_page
    from symscope.report import write_page

    report = _folder(out) / "report.html"
    bars = _Bars([name for name, _ in DEMO.networks], Console(stderr=True))
    try:
        with bars:
            result = demo_forecasts(DEMO, bars.progress)
            several = len(result) > 1
            command = "symscope demo"
            html = comparison_page(result, command) if several else forecast_page(result[0], command)
    except KeyboardInterrupt:
        print("symscope: stopped; nothing was written", file=sys.stderr)
        raise typer.Exit(130) from None
    if several:
        print_comparison(result)
    else:
        print_forecast(result[0])
    write_page(html, report)
    results_console().print(f"Report: {report}", soft_wrap=True)


def demo_forecasts(
    settings: Demonstration, progress: Callable[[str, str, int, int], object]
) -> list[Forecast]:
    """The demo's forecasts, each with its check.

    Args:
        settings: What is asked.
        progress: Called as `progress(network, words, done, total)`; the total is 0 for parts without an end
            in sight.

    Returns:
        One for each network, in the order of the settings.
    """
    from symscope.data import mnist_sample
    from symscope.forecasting import ForecastOptions, TrainingOptions, forecast

    digits = mnist_sample().per_class(settings.per_class, settings.seed)
    options = ForecastOptions(budget=settings.budget, per_class=2, seed=settings.seed)
    return [
        forecast(
            name,
            digits,
            settings.action,
            seen=settings.seen,
            train=True,
            training=TrainingOptions(steps, settings.batch),
            options=options,
            progress=partial(progress, name),
        )
        for name, steps in settings.networks
    ]


def _folder(out: Path) -> Path:
    """The folder, there and writable: better said now than after minutes of work."""
    problem = f"--out {out}: cannot write to the folder"
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{problem}: {error.strerror}") from error
    check_writable(out, problem)
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

    def progress(self, network: str, words: str, done: int, total: int) -> None:
        """A network's forecast got further; a total of 0 is a part whose length is not known."""
        if network != self._running:
            self._finish()
            self._bars.start_task(self._ids[network])
            self._running = network
        if total:
            words = f"{words}, step {done:,} of {total:,}"
        self._bars.update(self._ids[network], completed=done, total=total or None, words=words)

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
