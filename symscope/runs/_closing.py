"""Closing a run: tables, figures, claims and timings from its cells, the first time or anew."""

from __future__ import annotations

import io
import traceback
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscope.errors import InputError
from symscope.runs._claims import Claim, plain_claim, without_cells
from symscope.runs._definition import Plot, RunTables
from symscope.runs._environment import environment, revision
from symscope.runs._outcome import FIGURE, RunOutcome, read_outcome
from symscope.runs._request import RunRequest
from symscope.runs._settings import canonical_json
from symscope.runs._store import DamagedRunError, RunFolder, json_bytes

if TYPE_CHECKING:
    import pandas as pd


def finished_outcome(request: RunRequest, folder: RunFolder, warn: Callable[[str], None]) -> RunOutcome:
    """The outcome of a run whose cells are all there, from what was stored if that is whole and true.

    Claims are judged again, from the cells. What is missing, damaged or judged otherwise is written anew.

    Args:
        request: The request of the run.
        folder: The run folder, locked.
        warn: Called with one line when something is written anew.

    Raises:
        InputError: A damaged cell file, or a folder that cannot be written.
    """
    if not folder.closed:
        return close(request, folder)
    try:
        stored, records = read_outcome(folder), _records(request, folder)
        judged = _judged(request, records, _attempt(lambda: _tables(records), []) or {}, [])
        if canonical_json([*map(plain_claim, judged)]) == canonical_json([*map(plain_claim, stored.claims)]):
            return stored
        damage = DamagedRunError(folder.path, ["claims.json"], "not what follows from the cells")
    except DamagedRunError as error:
        damage = error
    more = ", environment.json from this machine" if "environment.json" in damage.names else ""
    outcome = close(request, folder, damage.names)
    warn(f"{damage}; written anew from the cells{more}")
    return outcome


def close(request: RunRequest, folder: RunFolder, lost: Collection[str] = ()) -> RunOutcome:
    """Write what follows from the cells; `summary.json` comes last and says that all is there.

    Args:
        request: The request of the run.
        folder: The run folder; cells without a record count as not run.
        lost: Files whose content is not that of the run.

    Raises:
        InputError: A damaged cell file, or a folder that cannot be written.
    """
    records, problems = _records(request, folder), list[str]()
    tables = _attempt(lambda: _tables(records), problems) or {}
    encoded = _attempt(lambda: _encoded(records, tables), problems) or {}
    plots = _attempt(lambda: _plotted(request, records, tables), problems) or []
    figures = _attempt(lambda: _figures(plots), problems) or _figures([])
    claims = _judged(request, records, tables, problems)
    files = {
        "run.json": json_bytes(request.description()),
        "environment.json": json_bytes(_environment(request, folder, lost)),
        **encoded,
        **figures,
        "claims.json": json_bytes([plain_claim(claim) for claim in claims]),
    }
    summary = {
        "cells": len(request.tasks()),
        "failed": _failed(records),
        "missing": len(request.tasks()) - len(records),
        "problems": problems,
        "seconds": sum(record["seconds"] for record in records),
        "peak_memory": max((record["peak_memory"] for record in records), default=0),
        "finished": _finished(folder),
    }
    folder.close(summary, files, [record["key"] for record in records])
    return read_outcome(folder)


def redraw_run(path: Path, modules: Sequence[str] = (), *, unfinished: bool = False) -> RunOutcome:
    """Make tables, plots and claims of a run anew from its cells, by today's code.

    Args:
        path: The run folder.
        modules: Further modules where its experiment may be defined: dotted names or paths of Python files.
        unfinished: Take a run whose cells are not all there, as long as one is. What would hold on part of
            its evidence is then not checked; the run can be continued all the same.

    Raises:
        InputError: Not a run folder, one whose cells are not all there, or one of another version.
    """
    request, folder = RunRequest.from_folder(path, modules, continued=False), RunFolder(path)
    missing = [task.key for task in request.tasks() if folder.cell(task.key) is None]
    if missing and (not unfinished or len(missing) == len(request.tasks())):
        raise InputError(
            f"{path}: {len(missing)} cells are not there yet, the first is {missing[0]}; "
            f"run `symscope reproduce {path}`, or take what is there with "
            f"`symscope report {path} --redraw --unfinished`"
        )
    with folder.lock():
        try:
            if folder.closed:
                folder.check_files()
        except DamagedRunError as error:
            return close(request, folder, error.names)
        return close(request, folder)


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


def _encoded(records: Sequence[dict[str, Any]], tables: RunTables) -> dict[str, bytes]:
    """The tables, and how long every cell took and what it needed, as files."""
    import pandas as pd

    names = ("key", "status", "seconds", "peak_memory", "peak_device_memory", "worker", "seed")
    rows = [{name: record.get(name) for name in names} for record in records]
    timings = {"timings.parquet": parquet(pd.DataFrame(rows, columns=list(names)))}
    return timings | {f"tables/{name}.parquet": parquet(table) for name, table in tables.items()}


def _plotted(request: RunRequest, records: Sequence[dict[str, Any]], tables: RunTables) -> list[Plot]:
    """The plots; none where every cell failed."""
    return list(request.experiment.plot(request.config, tables)) if _failed(records) < len(records) else []


def _figures(plots: Sequence[Plot]) -> dict[str, bytes]:
    """The figures and what they show, as files."""
    from symscope.report import figure_bytes

    described = [{name: getattr(plot, name) for name in FIGURE} for plot in plots]
    drawings = {
        f"figures/{plot.name}.{format}": figure_bytes(plot.figure, format)
        for plot in plots
        for format in ("svg", "png")
    }
    return {"figures.json": json_bytes(described), **drawings}


def _judged(
    request: RunRequest, records: Sequence[dict[str, Any]], tables: RunTables, problems: list[str]
) -> list[Claim]:
    """The claims with their verdicts; none where every cell failed."""
    failed, total = _failed(records), len(request.tasks())
    judge = request.experiment.claims
    some = failed < len(records)
    claims = _attempt(lambda: list(judge(request.config, tables)), problems) if some else None
    return without_cells(claims or [], failed, total, total - len(records))


def _records(request: RunRequest, folder: RunFolder) -> list[dict[str, Any]]:
    return [record for task in request.tasks() if (record := folder.cell(task.key)) is not None]


def _failed(records: Sequence[dict[str, Any]]) -> int:
    return sum(record["status"] == "failed" for record in records)


def _finished(folder: RunFolder) -> str:
    """When the last cell finished: now, unless an earlier closing knew it."""
    try:
        return str(folder.summary()["finished"])
    except DamagedRunError:
        return datetime.now(UTC).isoformat(timespec="seconds")


def _environment(request: RunRequest, folder: RunFolder, lost: Collection[str]) -> dict[str, Any]:
    """Where the run took place, and the revision that closed it if it is another one.

    Where that is lost: this machine, with a note that says so.
    """
    try:
        if "environment.json" in lost:
            raise DamagedRunError(folder.path, ["environment.json"], "not what the run wrote")
        stored = folder.environment()
        stored.pop("closed_by", None)
        today = revision(Path(__file__).parent)
        return stored if today in (None, stored["revision"]) else {**stored, "closed_by": today}
    except DamagedRunError:
        today = datetime.now(UTC).date().isoformat()
        note = f"written again on {today}, on the machine that did so: what the run wrote was lost"
        return {**environment("cpu"), "device": request.device, "note": note}
