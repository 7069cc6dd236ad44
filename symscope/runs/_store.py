"""The run folder: what was asked, every finished cell, and the results, readable with pandas alone.

run.json           what was asked: experiment, config, seed, device, and its fingerprint
environment.json   versions, machine, revision
cells/KEY.json     one finished or failed cell each, with a checksum, written atomically
tables/*.parquet   the cells' rows, in the order of the cells
figures/*.svg|png  the plots; figures.json says what each shows
claims.json        statements, measured values, verdicts
timings.parquet    seconds and peak memory of every cell
summary.json       written last: counts, and the checksum of every file above
report.html        all of it on one page

Or cells alone: cells.json, which says of what kind they are, and cells/KEY.json.

A folder may be damaged, or somebody else's. Everything is read through `RunFolder`, which returns what has
the expected form or raises `DamagedRunError`; nothing it reads is unpickled or imported.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from symscope.errors import InputError
from symscope.numerics import atomic_file, exclusive_lock
from symscope.runs._settings import canonical_json
from symscope.runs._stored_json import NUMBER, check_fields, parsed_json

FORMAT = 1
ANOTHER = "choose another folder"
FILE = re.compile(r"(?:(?:cells|tables|figures)/)?[^/]+")

RUN: dict[str, Any] = {
    **dict.fromkeys(("fingerprint", "experiment", "symscope", "device", "preset"), str),
    **dict.fromkeys(("paper", "figure", "shows"), str),
    **{"version": int, "seed": int, "config": dict, "changes": dict},
    **dict.fromkeys(("modules", "differences"), list[str]),
}
ENVIRONMENT: dict[str, Any] = {
    **dict.fromkeys(("symscope", "python", "processor", "device"), str),
    **{"packages": dict, "revision": str | None},
}
CELL: dict[str, Any] = {
    **dict.fromkeys(("key", "status", "worker"), str),
    **{"parameters": dict, "seed": int, "seconds": NUMBER, "peak_memory": int},
}
SUMMARY: dict[str, Any] = {
    **dict.fromkeys(("cells", "failed", "peak_memory"), int),
    **{"seconds": NUMBER, "finished": str, "problems": list[str], "files": dict},
}


@final
class DamagedRunError(InputError):
    """Files of a run folder are missing, or are not what the run wrote.

    Attributes:
        names: The files, relative to the folder.
    """

    def __init__(self, folder: Path, names: Sequence[str], reason: str) -> None:
        more = f" and {len(names) - 1} more files" if len(names) > 1 else ""
        super().__init__(f"{folder / names[0]}{more}: {reason}")
        self.names = tuple(names)


@final
@dataclass(frozen=True)
class RunFolder:
    """A folder of one run; everything written to it is complete or not there."""

    path: Path

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.name

    @property
    def closed(self) -> bool:
        """Whether the run says that it is complete."""
        return os.path.lexists(self.path / "summary.json")

    def create(self, asked: dict[str, Any], environment: dict[str, Any]) -> None:
        """Make the folder, or check that an existing one was asked the same.

        Raises:
            InputError: The folder cannot be made, or holds something else.
        """
        if (self.path / "run.json").exists():
            present = self.description()
            if present["fingerprint"] != asked["fingerprint"]:
                raise InputError(f"{self.path} holds another run ({present['fingerprint']}); {ANOTHER}")
        else:
            if self.path.is_dir() and any(self.path.iterdir()):
                raise InputError(f"{self.path} is not empty and not a run folder; {ANOTHER}")
            with _disk(self.path):
                (self.path / "cells").mkdir(parents=True, exist_ok=True)
            self.write_json("environment.json", environment)
            self.write_json("run.json", asked)  # last: a folder with run.json is a run folder
        self.make_parts()

    def open_cells(self, kind: str) -> None:
        """Make the folder for cells alone, such as the trainings of forecasts, or check that it is one.

        Raises:
            InputError: The folder cannot be made, or holds something else.
        """
        if (self.path / "cells.json").exists():
            present = self.fields("cells.json", {"format": int, "kind": str})
            if (present["format"], present["kind"]) != (FORMAT, kind):
                raise InputError(f"{self.path} holds other cells ({present['kind']!r:.40}); {ANOTHER}")
        elif self.path.is_dir() and any(self.path.iterdir()):
            raise InputError(f"{self.path} is not empty and holds no {kind}; {ANOTHER}")
        with _disk(self.path):
            check_own(self.path / "cells")
            (self.path / "cells").mkdir(parents=True, exist_ok=True)
        self.write_json("cells.json", {"format": FORMAT, "kind": kind})

    def make_parts(self) -> None:
        """Make the folders inside that are not there."""
        with _disk(self.path):
            for part in ("cells", "tables", "figures"):
                check_own(self.path / part)
                (self.path / part).mkdir(exist_ok=True)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder: two processes never work on one run. The lock ends with the process.

        Raises:
            InputError: Another process has locked it.
        """
        with contextlib.ExitStack() as stack:
            with _disk(self.path):
                busy = f"{self.path} is being run by another process; wait for it, or {ANOTHER}"
                stack.enter_context(exclusive_lock(self.path / ".held", busy))
                for left in self.path.rglob(".unfinished-*"):  # of a process that was killed while writing
                    left.unlink()
            yield

    def reopen(self) -> None:
        """Take back the word that the run is complete: cells are about to be added."""
        with _disk(self.path):
            (self.path / "summary.json").unlink(missing_ok=True)

    def close(self, summary: Mapping[str, Any], contents: Mapping[str, bytes], cells: Sequence[str]) -> None:
        """Write the files that follow from the cells, and last the summary with the checksum of every file.

        Args:
            summary: Counts and times.
            contents: The files by name.
            cells: Keys of the cells.

        Raises:
            InputError: The disk is full or the folder cannot be written.
        """
        self.reopen()
        self.make_parts()
        files = {f"cells/{key}.json": self.read(f"cells/{key}.json") for key in cells} | dict(contents)
        for name, content in contents.items():
            self.write(name, content)
        self._write_sealed(
            "summary.json", {**summary, "files": {name: _digest(content) for name, content in files.items()}}
        )

    def summary(self) -> dict[str, Any]:
        """What `close` was given, with the checksums as `files`.

        Raises:
            DamagedRunError: The summary is damaged.
        """
        summary = self._sealed("summary.json", SUMMARY)
        if not all(FILE.fullmatch(name) for name in summary["files"]):
            raise DamagedRunError(self.path, ["summary.json"], "it names a file outside the folder")
        return summary

    def check_files(self) -> None:
        """Compare every file of a complete run with its checksum.

        Raises:
            DamagedRunError: The summary is damaged, or files are missing or were changed.
        """
        wrong = []
        for name, checksum in self.summary()["files"].items():
            try:
                same = _digest(self.read(name)) == checksum
            except DamagedRunError:
                same = False
            if not same:
                wrong.append(name)
        if wrong:
            raise DamagedRunError(self.path, wrong, "missing, or not what the run wrote")

    def description(self) -> dict[str, Any]:
        """What was asked for: the content of run.json.

        Raises:
            InputError: Not a run folder, or one of another version of symscope.
            DamagedRunError: It was one, and run.json is damaged.
        """
        if not (self.path / "run.json").is_file():
            raise InputError(
                f"{self.path} is not a run folder: it has no run.json. `symscope reproduce` makes them."
            )
        asked = self.fields("run.json", {"format": int})
        if asked["format"] != FORMAT:
            raise InputError(
                f"{self.path} was written in run format {asked['format']}, this version of symscope "
                f"reads {FORMAT}: use symscope {asked.get('symscope', 'of that time')!s:.20}, or run it again"
            )
        return self.fields("run.json", RUN)

    def environment(self) -> dict[str, Any]:
        """Versions and machine: the content of environment.json.

        Raises:
            DamagedRunError: It is missing or damaged.
        """
        return self.fields("environment.json", ENVIRONMENT)

    def save_cell(self, record: dict[str, Any]) -> None:
        """Write one cell's record, with a checksum.

        Raises:
            InputError: The disk is full or the folder cannot be written.
        """
        self._write_sealed(f"cells/{record['key']}.json", record)

    def cell(self, key: str) -> dict[str, Any] | None:
        """One cell's record, None when it has not been run.

        Raises:
            InputError: The file is damaged.
        """
        name = f"cells/{key}.json"
        if not os.path.lexists(self.path / name):
            return None
        try:
            record = self._sealed(name, CELL)
            with self._expecting(name):
                check_fields(record, {"traceback": str} if record["status"] == "failed" else {"tables": dict})
                if record["key"] != key:
                    raise InputError(f"expected the cell of this name, got {record['key']!r:.80}")
        except DamagedRunError as error:
            raise InputError(
                f"{error}; this cell is damaged, delete the file and run again: no other is computed anew"
            ) from error
        return record

    def read(self, name: str) -> bytes:
        """The bytes of one file.

        Raises:
            DamagedRunError: It is missing, is not a file, or cannot be read.
        """
        try:
            if not (self.path / name).is_file():  # a pipe, say, would wait for ever
                raise DamagedRunError(self.path, [name], "there is no such file")
            return (self.path / name).read_bytes()
        except OSError as error:
            reason = f"cannot be read ({error.strerror})"
            raise DamagedRunError(self.path, [name], reason) from error

    def rows(self, name: str, kinds: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The entries of a JSON file that holds a list of them.

        Args:
            name: The file.
            kinds: The type of each field of an entry.

        Raises:
            DamagedRunError: It cannot be read, or is something else.
        """
        content = self.read(name)
        with self._expecting(name):
            plain = parsed_json(content)
            if not isinstance(plain, list):
                raise InputError(f"expected a list, got {plain!r:.40}")
            return [check_fields(row, kinds) for row in plain]

    def fields(self, name: str, kinds: Mapping[str, Any]) -> dict[str, Any]:
        """The content of a JSON file that holds fields.

        Raises:
            DamagedRunError: It cannot be read, or is something else.
        """
        content = self.read(name)
        with self._expecting(name):
            return check_fields(parsed_json(content), kinds)

    def write(self, name: str, content: bytes) -> None:
        """Write a file so that it is there as a whole or not at all, even if the machine stops in the middle.

        Raises:
            InputError: The disk is full or the folder cannot be written; what was there before is untouched.
        """
        if not FILE.fullmatch(name):
            raise InputError(f"expected a file inside the run folder {self.path}, got {name!r:.80}")
        check_own(self.path / name)
        with _disk(self.path / name), atomic_file(self.path / name) as file:
            file.write(content)

    def write_json(self, name: str, plain: Any) -> None:
        """Write JSON as `write` does."""
        self.write(name, json_bytes(plain))

    def _write_sealed(self, name: str, record: dict[str, Any]) -> None:
        self.write_json(name, {"checksum": _digest(canonical_json(record).encode()), "record": record})

    def _sealed(self, name: str, kinds: Mapping[str, Any]) -> dict[str, Any]:
        content = self.fields(name, {"checksum": str, "record": dict})
        with self._expecting(name):
            if content["checksum"] != _digest(canonical_json(content["record"]).encode()):
                raise InputError("its checksum does not fit its content")
            return check_fields(content["record"], kinds)

    @contextlib.contextmanager
    def _expecting(self, name: str) -> Iterator[None]:
        """What is wrong inside the block is wrong with this file."""
        try:
            yield
        except InputError as error:
            raise DamagedRunError(self.path, [name], str(error)) from error


def json_bytes(plain: Any) -> bytes:
    """Plain data as the bytes of a JSON file for people to read."""
    return (json.dumps(plain, indent=1) + "\n").encode()


def check_own(path: Path) -> None:
    """Refuses a place inside a run folder that leads out of it, to a file of ours that would be overwritten.

    Raises:
        InputError: A link, a pipe or a device.
    """
    if path.is_symlink() or (path.exists() and not path.is_file() and not path.is_dir()):
        raise InputError(f"{path} is a link, a pipe or a device, so it is not written to; remove it")


@contextlib.contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if isinstance(error, NotADirectoryError):
            raise InputError(
                f"cannot write {path}: a part of it is a file, not a folder; {ANOTHER}"
            ) from error
        raise InputError(
            f"cannot write {path}: {reason}. Finished cells are kept; free disk space or {ANOTHER}, then run "
            "the same command again."
        ) from error


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
