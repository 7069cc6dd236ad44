"""The outcome of a finished run: claims, counts, tables and figures, read from its folder."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from symscope.errors import InputError
from symscope.runs._claims import Claim, ClaimKind, Verdict, cells_left_out, tally
from symscope.runs._store import DamagedRunError, RunFolder

if TYPE_CHECKING:
    import pandas as pd

CLAIM: dict[str, Any] = {
    **dict.fromkeys(("kind", "statement", "source", "threshold"), str),
    **dict.fromkeys(("quote", "reading", "uncertainty", "why"), str),
    "verdict": str | None,
}
FIGURE = dict.fromkeys(("name", "title", "source", "alt", "caption"), str)


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
        missing: Number of cells that were not run; 0 unless the run was closed before its end.
    """

    folder: Path
    claims: tuple[Claim, ...]
    cells: int
    failed: int
    problems: tuple[str, ...]
    seconds: float
    peak_memory: int
    finished: str
    missing: int = 0

    @property
    def incomplete(self) -> str:
        """How many cells give no evidence, in words; empty where all do."""
        return cells_left_out(self.failed, self.missing, self.cells) if self.failed or self.missing else ""

    @staticmethod
    def from_folder(path: Path) -> RunOutcome:
        """The outcome of a finished run; every file of the run is compared with its checksum.

        Args:
            path: The run folder.

        Raises:
            InputError: Not a run folder, a run that is not finished, or a damaged one.
        """
        folder = RunFolder(path)
        folder.description()
        if not folder.closed:
            raise InputError(f"{path} is not finished: continue it with `symscope reproduce {path}`")
        try:
            return read_outcome(folder)
        except DamagedRunError as error:
            raise InputError(
                f"{error}; `symscope report {path} --redraw` writes anew what follows from the cells"
            ) from error

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
        return RunFolder(self.folder).environment()

    def figures(self) -> list[dict[str, str]]:
        """Name, title, source, alt text and caption of each figure (figures.json)."""
        return RunFolder(self.folder).rows("figures.json", FIGURE)

    def drawing(self, name: str, format: str) -> bytes:
        """The file of one of `figures`; the format is "svg" or "png"."""
        return self._file(f"figures/{name}.{format}")

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables by name."""
        names = sorted(
            name for name in RunFolder(self.folder).summary()["files"] if name.startswith("tables/")
        )
        return {Path(name).stem: self._table(name) for name in names}

    def failures(self) -> list[dict[str, Any]]:
        """The records of the cells that failed."""
        keys = sorted(path.stem for path in (self.folder / "cells").glob("*.json"))
        records = [RunFolder(self.folder).cell(key) for key in keys]
        return [record for record in records if record is not None and record["status"] == "failed"]

    def _file(self, name: str) -> bytes:
        folder = RunFolder(self.folder)
        if name not in folder.summary()["files"]:
            raise DamagedRunError(self.folder, [name], "not a file of this run")
        return folder.read(name)

    def _table(self, name: str) -> pd.DataFrame:
        import pandas as pd

        try:
            return pd.read_parquet(io.BytesIO(self._file(name)))
        except Exception as error:  # whatever a reader of Parquet makes of bytes that are not
            reason = f"not a Parquet file ({type(error).__name__})"
            raise DamagedRunError(self.folder, [name], reason) from error


def read_outcome(folder: RunFolder) -> RunOutcome:
    """The outcome of a closed run, after a check of all its files.

    Raises:
        DamagedRunError: A file is missing or is not what the run wrote.
    """
    folder.check_files()
    summary, rows = folder.summary(), folder.rows("claims.json", CLAIM)
    try:
        claims = tuple(_claim(row) for row in rows)
        _ = [claim.measured_text for claim in claims]
    except (TypeError, ValueError, OverflowError) as error:
        raise DamagedRunError(folder.path, ["claims.json"], f"not claims ({error})") from error
    return RunOutcome(
        folder.path,
        claims,
        summary["cells"],
        summary["failed"],
        tuple(summary["problems"]),
        summary["seconds"],
        summary["peak_memory"],
        summary["finished"],
        summary["missing"] if isinstance(summary.get("missing"), int) else 0,
    )


def _claim(stored: Mapping[str, Any]) -> Claim:
    verdict = stored["verdict"]
    kinds = {"kind": ClaimKind(stored["kind"]), "verdict": None if verdict is None else Verdict(verdict)}
    return Claim(**{**stored, **kinds})
