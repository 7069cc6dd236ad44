"""Closing a run: tables, figures, claims and timings from its cells; and reading them back."""

from __future__ import annotations

import io
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from symscope.errors import InputError
from symscope.runs._claims import Claim, Verdict, without_cells
from symscope.runs._definition import Plot
from symscope.runs._request import Request, request_of
from symscope.runs._store import RunFolder, read_json, write_bytes, write_json

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes:
        folder: The run folder.
        claims: With their verdicts.
        cells: How many there are.
        failed: How many of them failed.
        problems: Tracebacks of plots or claims that could not be made.
        seconds: Spent in cells, all workers together.
        peak_memory: The largest of any cell, in bytes.
    """

    folder: Path
    claims: tuple[Claim, ...]
    cells: int
    failed: int
    problems: tuple[str, ...]
    seconds: float
    peak_memory: int

    @property
    def status(self) -> int:
        """Exit status: 0 when every checked claim was reproduced and nothing failed, otherwise 1."""
        missed = any(claim.verdict is Verdict.NOT_REPRODUCED for claim in self.claims)
        return 1 if missed or self.failed or self.problems else 0


def close(request: Request, folder: RunFolder, finished: str | None = None) -> Outcome:
    """Write what follows from the cells; `summary.json` comes last and says that all is there.

    Args:
        request: What was run.
        folder: Its folder, with a record of every cell.
        finished: When its last cell was; now if not given.

    Raises:
        InputError: A damaged cell file, or a folder that cannot be written.
    """
    keys = [task.key for task in request.tasks()]
    records = [record for record in map(folder.cell, keys) if record is not None]
    failures = [record for record in records if record["status"] == "failed"]
    problems: list[str] = []
    tables = _attempt(lambda: _tables(records), problems) or {}
    encoded = _attempt(lambda: {name: parquet(table) for name, table in tables.items()}, problems) or {}
    for name, content in encoded.items():
        write_bytes(folder.path / "tables" / f"{name}.parquet", content)
    _write_timings(folder, records)

    experiment, config = request.experiment, request.config
    measured = len(failures) < len(keys)  # where every cell failed there is nothing to plot, nothing to claim
    plots = _attempt(lambda: list(experiment.plot(config, tables)), problems) or [] if measured else []
    _write_figures(folder, plots)
    claims = _attempt(lambda: list(experiment.claims(config, tables)), problems) or [] if measured else []
    claims = without_cells(claims, len(failures), len(keys))
    write_json(folder.path / "claims.json", [asdict(claim) for claim in claims])
    summary = {
        "cells": len(keys),
        "failed": len(failures),
        "problems": problems,
        "seconds": sum(record["seconds"] for record in records),
        "peak_memory": max((record["peak_memory"] for record in records), default=0),
        "finished": finished or datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_json(folder.path / "summary.json", summary)
    made = outcome(folder)
    assert made is not None
    return made


def redraw(path: Path) -> Outcome:
    """Make tables, plots and claims of a finished run anew from its cells, by today's code.

    Args:
        path: The run folder.

    Raises:
        InputError: Not a run folder, one whose cells are not all there, or one of another version.
    """
    request, folder = request_of(path, continued=False), RunFolder(path)
    missing = [task.key for task in request.tasks() if folder.cell(task.key) is None]
    if missing:
        raise InputError(
            f"{path}: {len(missing)} cells are not there yet, the first is {missing[0]}; "
            f"run `symscope reproduce {path}`"
        )
    with folder.held():
        finished = read_json(folder.path / "summary.json")["finished"] if outcome(folder) else None
        folder.make_parts()
        return close(request, folder, finished)


def outcome(folder: RunFolder) -> Outcome | None:
    """The outcome of a closed run; None of one that is not closed, or whose closing files are damaged.

    They follow from the cells: the next `reproduce` writes them anew.
    """
    if not (folder.path / "summary.json").exists():
        return None
    try:
        summary = read_json(folder.path / "summary.json")
        figures = [str(figure["name"]) for figure in read_json(folder.path / "figures.json")]
        if not all((folder.path / "figures" / f"{name}.svg").is_file() for name in figures):
            return None
        return Outcome(
            folder.path,
            tuple(claims_of(folder)),
            summary["cells"],
            summary["failed"],
            tuple(summary["problems"]),
            summary["seconds"],
            summary["peak_memory"],
        )
    except (InputError, KeyError, TypeError, ValueError):
        return None


def claims_of(folder: RunFolder) -> list[Claim]:
    """The claims of a closed run."""
    stored = read_json(folder.path / "claims.json")
    return [Claim(**{**claim, "verdict": Verdict(claim["verdict"])}) for claim in stored]


def tables_of(folder: RunFolder) -> dict[str, pd.DataFrame]:
    """The tables of a closed run by name."""
    import pandas as pd

    return {path.stem: pd.read_parquet(path) for path in sorted((folder.path / "tables").glob("*.parquet"))}


def failures_of(folder: RunFolder) -> list[dict[str, Any]]:
    """The records of the cells that failed."""
    keys = sorted(path.stem for path in (folder.path / "cells").glob("*.json"))
    records = [folder.cell(key) for key in keys]
    return [record for record in records if record is not None and record["status"] == "failed"]


def parquet(table: pd.DataFrame) -> bytes:
    """A table as the bytes of a Parquet file, the same bytes for the same table."""
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    return buffer.getvalue()


def _attempt(make: Callable[[], Any], problems: list[str]) -> Any:
    """What `make` gives; an exception is a problem of the experiment's own code, kept beside the results."""
    try:
        return make()
    except Exception:
        problems.append(traceback.format_exc())
        return None


def _tables(records: list[dict[str, Any]]) -> dict[str, pd.DataFrame]:
    import pandas as pd

    gathered: dict[str, dict[str, list[Any]]] = {}
    for record in records:
        for name, table in record.get("tables", {}).items():
            known = gathered.setdefault(name, {column: [] for column in table})
            if list(known) != list(table):
                raise InputError(
                    f"table {name!r}: every cell must give the same columns; {list(known)} and "
                    f"{list(table)} differ"
                )
            for column, values in table.items():
                known[column] += values
    return {name: pd.DataFrame(table) for name, table in gathered.items()}


def _write_timings(folder: RunFolder, records: list[dict[str, Any]]) -> None:
    import pandas as pd

    names = ("key", "status", "seconds", "peak_memory", "peak_device_memory", "worker", "seed")
    table = pd.DataFrame(
        [{name: record.get(name) for name in names} for record in records], columns=list(names)
    )
    write_bytes(folder.path / "timings.parquet", parquet(table))


def _write_figures(folder: RunFolder, plots: list[Plot]) -> None:
    from symscope.report import figure_bytes

    described: list[Mapping[str, str]] = []
    for plot in plots:
        for format in ("svg", "png"):
            write_bytes(folder.path / "figures" / f"{plot.name}.{format}", figure_bytes(plot.figure, format))
        described.append(
            {name: getattr(plot, name) for name in ("name", "title", "source", "alt", "caption")}
        )
    write_json(folder.path / "figures.json", described)
