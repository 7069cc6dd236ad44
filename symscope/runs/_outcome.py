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
from symscope.runs._claims import Claim, ClaimKind, Verdict, tally, without_cells
from symscope.runs._definition import Plot
from symscope.runs._request import RunRequest
from symscope.runs._store import RunFolder, read_json, write_bytes, write_json

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True)
class RunOutcome:
    """The result of a finished run; tables and the rest are read from its folder when asked for.

    Attributes:
        folder: The run folder.
        claims: The claims with their verdicts.
        cells: Number of cells.
        failed: Number of cells that failed.
        problems: Tracebacks of plots or claims that could not be made.
        seconds: Time spent in cells, all workers together.
        peak_memory: The largest peak memory of any cell, in bytes.
        finished: When the last cell finished, in ISO format.
    """

    folder: Path
    claims: tuple[Claim, ...]
    cells: int
    failed: int
    problems: tuple[str, ...]
    seconds: float
    peak_memory: int
    finished: str

    @staticmethod
    def from_folder(path: Path) -> RunOutcome:
        """The outcome of a finished run.

        Args:
            path: The run folder.

        Raises:
            InputError: Not a run folder, or a run that is not finished.
        """
        RunFolder(path).description()
        result = read_outcome(RunFolder(path))
        if result is None:
            raise InputError(f"{path} is not finished: continue it with `symscope reproduce {path}`")
        return result

    @property
    def status(self) -> int:
        """Exit status: 0 when the run finished, 1 when cells failed or plots or claims could not be made."""
        return 1 if self.failed or self.problems else 0

    @property
    def strict_status(self) -> int:
        """Exit status that is also 1 when a statement of the paper does not hold, or its number differs."""
        missed = (Verdict.CONTRADICTED, Verdict.NUMBER_DIFFERS)
        return 1 if any(claim.verdict in missed for claim in self.claims) else self.status

    @property
    def tally(self) -> str:
        """How many claims had which verdict, as a sentence."""
        return tally(self.claims)

    def description(self) -> dict[str, Any]:
        """What was asked for: experiment, preset, config, seed, device (run.json)."""
        return RunFolder(self.folder).description()

    def environment(self) -> dict[str, Any]:
        """Versions and machine of the run (environment.json)."""
        environment: dict[str, Any] = read_json(self.folder / "environment.json")
        return environment

    def figures(self) -> list[dict[str, str]]:
        """Name, title, source, alt text and caption of each figure (figures.json)."""
        figures: list[dict[str, str]] = read_json(self.folder / "figures.json")
        return figures

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables by name."""
        import pandas as pd

        paths = sorted((self.folder / "tables").glob("*.parquet"))
        return {path.stem: pd.read_parquet(path) for path in paths}

    def failures(self) -> list[dict[str, Any]]:
        """The records of the cells that failed."""
        keys = sorted(path.stem for path in (self.folder / "cells").glob("*.json"))
        records = [RunFolder(self.folder).cell(key) for key in keys]
        return [record for record in records if record is not None and record["status"] == "failed"]


def close(request: RunRequest, folder: RunFolder, finished: str | None = None) -> RunOutcome:
    """Write what follows from the cells; `summary.json` comes last and says that all is there.

    Args:
        request: The request of the run.
        folder: The run folder, with a record of every cell.
        finished: When the last cell finished, in ISO format; now if not given.

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
    made = read_outcome(folder)
    assert made is not None
    return made


def redraw_run(path: Path) -> RunOutcome:
    """Make tables, plots and claims of a finished run anew from its cells, by today's code.

    Args:
        path: The run folder.

    Raises:
        InputError: Not a run folder, one whose cells are not all there, or one of another version.
    """
    request, folder = RunRequest.from_folder(path, continued=False), RunFolder(path)
    missing = [task.key for task in request.tasks() if folder.cell(task.key) is None]
    if missing:
        raise InputError(
            f"{path}: {len(missing)} cells are not there yet, the first is {missing[0]}; "
            f"run `symscope reproduce {path}`"
        )
    with folder.lock():
        before = read_outcome(folder)
        folder.make_parts()
        return close(request, folder, before.finished if before else None)


def read_outcome(folder: RunFolder) -> RunOutcome | None:
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
        claims = read_json(folder.path / "claims.json")
        return RunOutcome(
            folder.path,
            tuple(_claim(claim) for claim in claims),
            summary["cells"],
            summary["failed"],
            tuple(summary["problems"]),
            summary["seconds"],
            summary["peak_memory"],
            summary["finished"],
        )
    except (InputError, KeyError, TypeError, ValueError):
        return None


def _claim(stored: Mapping[str, Any]) -> Claim:
    verdict = stored["verdict"]
    kinds = {"kind": ClaimKind(stored["kind"]), "verdict": None if verdict is None else Verdict(verdict)}
    return Claim(**{**stored, **kinds})


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
