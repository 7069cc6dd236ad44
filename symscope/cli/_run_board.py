"""What a person watches while experiments run: a bar for each, one for all, and the claims as they come."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, final

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from symscope.cli._terminal import one_line
from symscope.runs import RunOutcome, RunRequest, Verdict

MARKS = {Verdict.HOLDS: ("✓", "green"), Verdict.CONTRADICTED: ("✗", "red"), None: ("·", "cyan")}
OPEN = ("○", "yellow")  # number differs, not testable, not checked
CHAINED = re.compile(
    r"^(?:The above exception was the direct cause of|During handling of the above exception,).*$",
    re.MULTILINE,
)


@final
class Board:
    """Bars on standard error, the claims on standard output; plain text where there is no terminal."""

    def __init__(self, requests: Sequence[RunRequest]) -> None:
        self._console = Console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
        )
        self._ids = {
            request.folder_name: self._bars.add_task(request.experiment.id, total=None)
            for request in requests
        }
        self._whole = self._bars.add_task("everything", total=None, visible=len(requests) > 1)
        self._counts: dict[str, tuple[int, int]] = {}
        self._claims = _claims_table()
        self._live = Live(Group(self._bars), console=self._console, refresh_per_second=5, transient=True)

    @property
    def done(self) -> int:
        """Cells that are finished, of all experiments."""
        return sum(done for done, _ in self._counts.values())

    @property
    def total(self) -> int:
        """Cells in all."""
        return sum(total for _, total in self._counts.values())

    def progress(self, folder: str, done: int, total: int) -> None:
        """One experiment got further; it is named by its run folder."""
        self._counts[folder] = (done, total)
        self._bars.update(self._ids[folder], completed=done, total=total)
        self._bars.update(self._whole, completed=self.done, total=self.total)

    def finished(self, request: RunRequest, outcome: RunOutcome) -> None:
        """One experiment is complete: its claims join the table."""
        for claim in outcome.claims:
            symbol, colour = MARKS.get(claim.verdict, OPEN)
            verdict = Text(f"{symbol} {claim.outcome}", style=colour)
            measured = Text(" ".join(filter(None, (claim.measured_text, claim.threshold))))
            self._claims.add_row(
                verdict, Text(claim.statement), measured, Text(f"{request.experiment.id} {claim.source}")
            )
        if outcome.failed:
            self._say(
                f"{request.experiment.id}: {outcome.failed} of {outcome.cells} cells failed; the tracebacks "
                f"are in {outcome.folder / 'cells'} and in the report; the same command tries them again"
            )
            for reason in reasons(outcome):
                self._say(f"  {reason}")
        for problem in outcome.problems:
            self._say(
                f"{request.experiment.id}: plots or claims could not be made: {raised(problem)}; the "
                "traceback is in the report"
            )
        self._live.update(Group(self._bars, self._claims))

    def warn(self, message: str) -> None:
        """Something to know before the results are believed."""
        self._say(message, style="yellow")

    def _say(self, message: str, style: str = "red") -> None:
        """One line, however long, above the bars."""
        self._console.print(one_line(message), style=style, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Board:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)
        if self._claims.row_count:
            wide: dict[str, Any] = {} if sys.stdout.isatty() else {"width": 160}
            Console(**wide).print(self._claims)


def reasons(outcome: RunOutcome) -> list[str]:
    """Why cells failed: what each different traceback raised."""
    return list(dict.fromkeys(raised(record["traceback"]) for record in outcome.failures()))


def raised(trace: str) -> str:
    """The error of a traceback in one line: its name without a module, and the first line of its message.

    >>> raised("Traceback (most recent call last):\\n  File 'a'\\nmine.Wrong: too\\nlong\\n")
    'Wrong: too (and 1 more line)'
    """
    lines = CHAINED.split(trace)[-1].strip().splitlines()
    start = next((k for k, line in enumerate(lines) if not line.startswith((" ", "Traceback "))), 0)
    more = len(lines) - start - 1
    rest = f" (and {more} more line{'s' if more > 1 else ''})" if more else ""
    return re.sub(r"^(?:\w+\.)+(?=\w+(?:: |$))", "", lines[start]) + rest


def _claims_table() -> Table:
    table = Table(
        title="Claims", title_justify="left", title_style="bold", box=None, expand=True, padding=(0, 2, 1, 0)
    )
    table.add_column("verdict", no_wrap=True)
    table.add_column("claim", ratio=3)
    table.add_column("measured", ratio=1)
    table.add_column("where", ratio=1)
    return table
