"""`symscope demo`: the main job on bundled data, with a bar to watch, a table and a page.

The digits 0 to 4 in eight rotations each, asked of a fully connected network and of one that averages over
positions: forecast before training, then both are trained and the forecast is checked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, final

import typer

from symscope.cli._terminal import check_writable, print_comparison, results_console
from symscope.errors import InputError

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console

    from symscope.forecasting import Forecast


@final
@dataclass(frozen=True)
class DemoNetwork:
    """How one network of the demo is trained.

    Attributes:
        name: Name of the network.
        epochs: Passes over the points.
        batch: Points per step.
        adam_rates: Learning rates of the two trainings, both by Adam; None leaves the optimisers to the
            forecast. Networks that average over positions learn slowly: their rates are as high as still
            converges.
        kernel_classes: Left-out classes whose kernel after training is computed.
    """

    name: str
    epochs: int
    batch: int = 32
    adam_rates: tuple[float, float] | None = None
    kernel_classes: int = 3


@final
@dataclass(frozen=True)
class Demonstration:
    """What the demo asks; small enough for a minute and a half on two cores.

    Attributes:
        classes: Digits to take.
        action: Group and action.
        per_class: Samples of each class in one resample.
        resamples: Draws of samples, for the interval.
        checked_classes: Left-out classes that networks are trained for.
        networks: Networks to compare.
        seed: Seed of all randomness.
    """

    classes: tuple[int, ...] = (0, 1, 2, 3, 4)
    action: str = "C8 rotation"
    per_class: int = 4
    resamples: int = 3
    checked_classes: int = 5
    networks: tuple[DemoNetwork, ...] = (
        DemoNetwork("mlp", epochs=25),
        DemoNetwork("conv-gap", epochs=100, batch=16, adam_rates=(5e-3, 1e-2)),
    )
    seed: int = 0


DEMO = Demonstration()


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the page; made if need be.")
    ] = Path("demo"),
) -> None:
    """Which network will recognise a digit in a rotation it has not seen? Forecast, then checked by training.

    On bundled digits, for an MLP and a convolutional network; a minute and a half on two cores.

    Exit status: 0 done; 2 the folder cannot be written; 130 stopped by Ctrl-C, with nothing written.

    Example: [cyan]symscope demo --out /tmp/demo[/cyan]
    """
    from rich.console import Console

    from symscope.forecasting import comparison_page
    from symscope.report import write_page

    report = _folder(out) / "report.html"
    bars = _Bars([one.name for one in DEMO.networks], Console(stderr=True))
    try:
        with bars:
            result = demo_forecasts(DEMO, bars.progress)
            html = comparison_page(result, "symscope demo")
    except KeyboardInterrupt:
        print("symscope: stopped; nothing was written", file=sys.stderr)
        raise typer.Exit(130) from None
    print_comparison(result)
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
    from symscope.forecasting import CheckOptions, ForecastOptions, forecast
    from symscope.training import Optimiser

    digits = mnist_sample().of_classes(*settings.classes)
    options = ForecastOptions(per_class=settings.per_class, resamples=settings.resamples, seed=settings.seed)

    def forecast_of(one: DemoNetwork) -> Forecast:
        first, second = (
            (None, None) if one.adam_rates is None else (Optimiser("adam", rate) for rate in one.adam_rates)
        )
        check = CheckOptions(
            one.epochs, one.batch, first, second, settings.checked_classes, one.kernel_classes
        )
        return forecast(
            one.name,
            digits,
            settings.action,
            train=check,
            options=options,
            progress=lambda words, done, total: progress(one.name, words, done, total),
        )

    return [forecast_of(one) for one in settings.networks]


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
            words = f"{words}, epoch {done} of {total} in two trainings"
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
