"""The run folder: whole or not there, whatever happens to the disk."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from symscope import InputError
from symscope.runs._store import DamagedRunError, RunFolder

ASKED = {
    **{"format": 1, "fingerprint": "abc", "symscope": "0", "experiment": "a/b", "version": 1},
    **{"device": "cpu", "preset": "quick", "config": {}, "changes": {}, "modules": [], "seed": 0},
    **{"differences": []},
    **{"paper": "A paper", "figure": "Fig. 1", "shows": "It shows."},
}


@pytest.fixture
def folder(tmp_path):
    made = RunFolder(tmp_path / "run")
    made.create(ASKED, {"python": "3"})
    return made


@pytest.fixture
def small_files(monkeypatch):
    """Files that cannot grow beyond 1000 bytes: a write really fails in the middle."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python keeps half a file of it, and fails later
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def unwritable(tmp_path: Path) -> Path:
    """A folder in which nothing can be made; root may write anywhere but in the kernel's own file system."""
    if os.geteuid() == 0:
        return Path("/proc/self")
    tmp_path.chmod(0o555)
    return tmp_path


def record(key: str, **more: object) -> dict[str, object]:
    results = {"tables": {}, "value": 0.1 + 0.2, "nothing": float("nan")}
    costs = {"worker": "here", "parameters": {}, "seed": 0, "seconds": 0.5, "peak_memory": 1}
    return {"key": key, "status": "done", **results, **costs, **more}


def test_cells_come_back_as_they_went(folder):
    folder.save_cell(record("a=1-00"))
    result = folder.cell("a=1-00")
    assert result["value"] == 0.1 + 0.2
    assert result["nothing"] != result["nothing"]
    assert folder.cell("a=2-00") is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: text.replace("0.30000000000000004", "0.3"),
        lambda text: "[]",
        lambda text: "\x00" * len(text),
        lambda text: "[" * 50_000,
        lambda text: text.replace('"tables": {}', '"tables": ' + '{"a": ' * 900 + "{}" + "}" * 900),
        lambda text: text.replace('"seed": 0', '"seed": ' + "9" * 5000),
        lambda text: text.replace('"here"', '"\\ud800"'),
    ],
)
def test_damaged_cells_are_found(folder, damage):
    folder.save_cell(record("a=1-00"))
    path = folder.path / "cells" / "a=1-00.json"
    path.write_text(damage(path.read_text()))
    with pytest.raises(InputError, match=r"a=1-00.json: .*damaged, delete the file and run again"):
        folder.cell("a=1-00")


def test_a_cell_under_another_name_is_found(folder):
    folder.save_cell(record("a=1-00"))
    (folder.path / "cells" / "a=1-00.json").rename(folder.path / "cells" / "a=2-00.json")
    with pytest.raises(InputError, match="damaged"):
        folder.cell("a=2-00")


def test_a_write_that_fails_in_the_middle_leaves_what_was_there(folder, small_files):
    folder.save_cell(record("a=1-00"))
    before = (folder.path / "cells" / "a=1-00.json").read_bytes()
    with pytest.raises(InputError, match=r"cannot write .*File too large.*Finished cells are kept"):
        folder.save_cell(record("a=1-00", long="x" * 5000))
    assert (folder.path / "cells" / "a=1-00.json").read_bytes() == before
    assert [path.name for path in (folder.path / "cells").iterdir()] == ["a=1-00.json"]


def test_a_folder_below_a_file_is_no_matter_of_disk_space(tmp_path):
    (tmp_path / "data.npz").write_bytes(b"x")
    with pytest.raises(InputError, match=r"a part of it is a file, not a folder; choose another folder$"):
        RunFolder(tmp_path / "data.npz" / "run").create(ASKED, {})


def test_a_read_only_folder_is_reported(tmp_path):
    place = unwritable(tmp_path)
    with pytest.raises(InputError, match="cannot write"):
        RunFolder(place / "run").create(ASKED, {})
    with pytest.raises(InputError, match="cannot write"):
        RunFolder(place).write("file.json", b"x")
    tmp_path.chmod(0o755)


def test_what_a_killed_process_left_is_swept_away(folder):
    left = folder.path / "cells" / ".unfinished-xyz"
    left.write_text("half")
    with folder.lock():
        assert not left.exists()


def test_one_run_is_held_by_one_process(folder):
    with folder.lock(), pytest.raises(InputError, match="being run by another process"), folder.lock():
        pass
    with folder.lock():
        pass


def test_a_folder_of_cells_alone_keeps_its_kind(tmp_path, folder):
    cells = RunFolder(tmp_path / "kept")
    cells.open_cells("trainings")
    cells.open_cells("trainings")
    assert sorted(path.name for path in cells.path.iterdir()) == ["cells", "cells.json"]
    with pytest.raises(InputError, match=r"holds other cells \('trainings'\); choose another folder"):
        cells.open_cells("kernels")
    with pytest.raises(InputError, match="is not empty and holds no trainings"):
        folder.open_cells("trainings")
    (cells.path / "cells.json").write_text("{}")
    with pytest.raises(DamagedRunError, match="expected a field 'format'"):
        cells.open_cells("trainings")
    (cells.path / "cells").rmdir()
    (cells.path / "cells").symlink_to(tmp_path)
    cells.write_json("cells.json", {"format": 1, "kind": "trainings"})
    with pytest.raises(InputError, match="is a link"):
        cells.open_cells("trainings")


def test_folders_that_are_something_else_are_refused(tmp_path, folder):
    with pytest.raises(InputError, match=r"not a run folder: it has no run.json"):
        RunFolder(tmp_path).description()
    with pytest.raises(InputError, match="not empty and not a run folder"):
        RunFolder(tmp_path).create(ASKED, {})
    with pytest.raises(InputError, match="holds another run"):
        folder.create({**ASKED, "fingerprint": "xyz"}, {})
    folder.write_json("run.json", {**ASKED, "format": 99, "symscope": "9.9"})
    with pytest.raises(InputError, match=r"run format 99, this version of symscope reads 1"):
        folder.description()
    folder.write_json("run.json", {"name": "a package"})
    with pytest.raises(DamagedRunError, match="expected a field 'format' of type int, got none"):
        folder.description()
    (folder.path / "run.json").write_text("{")
    with pytest.raises(DamagedRunError, match="expected JSON"):
        folder.description()


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that no one can read")
def test_a_file_that_cannot_be_read_is_damage(folder):
    (folder.path / "environment.json").unlink()
    (folder.path / "environment.json").symlink_to("/proc/self/mem")
    with pytest.raises(DamagedRunError, match=r"environment.json: cannot be read \("):
        folder.environment()


def test_json_is_for_everyone(folder):
    assert json.loads((folder.path / "run.json").read_text()) == ASKED
