"""The run folder: what was asked, every finished cell, and the results, readable with pandas alone.

run.json           what was asked: experiment, config, seed, device, and its fingerprint
environment.json   versions, machine, revision
cells/KEY.json     one finished or failed cell each, with a checksum, written atomically
tables/*.parquet   the cells' rows, in the order of the cells
figures/*.svg|png  the plots; figures.json says what each shows
claims.json        statements, measured values, verdicts
timings.parquet    seconds and peak memory of every cell
report.html        all of it on one page
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from symscope.errors import InputError
from symscope.numerics import atomic_file, exclusive_lock
from symscope.runs._settings import canonical_json

FORMAT = 1


@final
@dataclass(frozen=True)
class RunFolder:
    """A folder of one run; everything written to it is complete or not there."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.name

    def create(self, asked: dict[str, Any], environment: dict[str, Any]) -> None:
        """Make the folder, or check that an existing one was asked the same.

        Raises:
            InputError: The folder cannot be made, or holds something else.
        """
        if (self.path / "run.json").exists():
            present = self.description()
            if present["fingerprint"] != asked["fingerprint"]:
                raise InputError(
                    f"{self.path} holds another run ({present['fingerprint']}); choose another --out"
                )
        else:
            if self.path.is_dir() and any(self.path.iterdir()):
                raise InputError(f"{self.path} is not empty and not a run folder; choose another --out")
            with _disk(self.path):
                (self.path / "cells").mkdir(parents=True, exist_ok=True)
            write_json(self.path / "environment.json", environment)
            write_json(self.path / "run.json", asked)  # last: a folder with run.json is a run folder
        self.make_parts()

    def make_parts(self) -> None:
        """Make the folders inside that are not there."""
        with _disk(self.path):
            for part in ("cells", "tables", "figures"):
                (self.path / part).mkdir(exist_ok=True)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder: two processes never work on one run. The lock ends with the process.

        Raises:
            InputError: Another process has locked it.
        """
        with contextlib.ExitStack() as stack:
            with _disk(self.path):
                busy = f"{self.path} is being run by another process; wait for it, or choose another --out"
                stack.enter_context(exclusive_lock(self.path / ".held", busy))
                for left in self.path.rglob(".unfinished-*"):  # of a process that was killed while writing
                    left.unlink()
            yield

    def reopen(self) -> None:
        """Take back the word that the run is complete: cells are about to be added."""
        with _disk(self.path):
            (self.path / "summary.json").unlink(missing_ok=True)

    def description(self) -> dict[str, Any]:
        """What was asked for: the content of run.json.

        Raises:
            InputError: Not a run folder, or one of another version of symscope.
        """
        if not (self.path / "run.json").is_file():
            raise InputError(
                f"{self.path} is not a run folder: it has no run.json. `symscope reproduce` makes them."
            )
        asked = read_json(self.path / "run.json")
        if not isinstance(asked, dict) or "format" not in asked:
            raise InputError(f"{self.path} is not a run folder of symscope: its run.json has no format")
        if asked["format"] != FORMAT:
            raise InputError(
                f"{self.path} was written in run format {asked['format']}, this version of symscope "
                f"reads {FORMAT}: "
                f"use symscope {asked.get('symscope', 'of that time')}, or run it again"
            )
        return asked

    def save_cell(self, record: dict[str, Any]) -> None:
        """Write one cell's record, with a checksum.

        Raises:
            InputError: The disk is full or the folder cannot be written.
        """
        content = {"checksum": _checksum(record), "record": record}
        write_json(self.path / "cells" / f"{record['key']}.json", content)

    def cell(self, key: str) -> dict[str, Any] | None:
        """One cell's record, None when it has not been run.

        Raises:
            InputError: The file is damaged.
        """
        path = self.path / "cells" / f"{key}.json"
        if not path.exists():
            return None
        remedy = "delete it and run again: only this cell is computed anew"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            record, checksum = content["record"], content["checksum"]
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise InputError(
                f"cell file {path} is damaged ({type(error).__name__}: {error}); {remedy}"
            ) from error
        if checksum != _checksum(record) or record.get("key") != key:
            raise InputError(f"cell file {path} is damaged (its checksum does not fit its content); {remedy}")
        result: dict[str, Any] = record
        return result


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically.

    Raises:
        InputError: The disk is full or the folder cannot be written.
    """
    write_bytes(path, (json.dumps(content, indent=1) + "\n").encode())


def read_json(path: Path) -> Any:
    """Read a JSON file of the run folder.

    Raises:
        InputError: It cannot be read.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read ({error}); the run folder is damaged, run it again"
        ) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file so that it is there as a whole or not at all, even if the machine stops in the middle.

    Args:
        path: The file; its folder exists.
        content: All of it.

    Raises:
        InputError: The disk is full or the folder cannot be written; what was there before is untouched.
    """
    with _disk(path), atomic_file(path) as file:
        file.write(content)


@contextlib.contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot write {path}: {reason}. Finished cells are kept; free disk space or choose another "
            "--out, then run the same command again."
        ) from error


def _checksum(record: dict[str, Any]) -> str:
    return hashlib.sha256(canonical_json(record).encode()).hexdigest()
