"""The real program, really killed, interrupted, and out of disk."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.test_app import called
from tests.runs.program import (
    ENVIRONMENT,
    TOY,
    group_members,
    started,
    tables,
    toy_run,
    wait_until,
)

needs_linux = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks at processes through /proc"
)
WORDS = ("reproduce", "toy/matrices", "--module", TOY, "--device", "cpu", "--set", "cells=12")


def cells(out: Path) -> list[Path]:
    return list(out.glob("*/cells/*.json"))


@needs_linux
def test_killed_in_the_middle_it_goes_on_and_gives_the_same(tmp_path):
    process = started(*WORDS, "--set", "seconds=0.1", "--out", str(tmp_path / "killed"), "--workers", "1")
    wait_until(lambda: len(cells(tmp_path / "killed")) >= 3, "three cells")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not group_members(process.pid), "the workers to end with their parent")
    kept = {path: path.read_bytes() for path in cells(tmp_path / "killed")}
    assert 3 <= len(kept) < 12
    [folder] = (tmp_path / "killed").glob("toy-*")

    # the folder remembers what was asked; code is imported because the user names it
    assert called("reproduce", str(folder), "--workers", "0", "--module", TOY) == 0

    assert {path: path.read_bytes() for path in kept} == kept
    assert not list(folder.rglob(".unfinished-*"))
    assert tables(folder) == tables(toy_run(tmp_path / "whole", "cells=12", "seconds=0.1").folder)
    assert len(pd.read_parquet(folder / "tables" / "norms.parquet")) == 12


@needs_linux
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path):
    process = started(*WORDS, "--set", "seconds=0.2", "--out", str(tmp_path), "--workers", "1")
    wait_until(lambda: len(cells(tmp_path)) >= 2, "two cells")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "cells are finished and kept. Continue with:" in errors
    assert shlex.join(["symscope", *WORDS]) in errors
    assert "Traceback" not in errors
    wait_until(lambda: not group_members(process.pid), "the workers to end")


@needs_linux
def test_ctrl_c_while_the_workers_start_leaves_no_traceback(tmp_path):
    process = started(*WORDS, "--set", "seconds=0.2", "--out", str(tmp_path), "--workers", "2")
    wait_until(lambda: len(group_members(process.pid)) >= 3, "workers, before they have imported anything")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "Traceback" not in errors
    wait_until(lambda: not group_members(process.pid), "the workers to end")


@needs_linux
@pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True
    ).returncode
    != 0,
    reason="a small disk of its own needs user namespaces",
)
def test_a_full_disk_is_reported_and_nothing_is_lost(tmp_path):
    """A disk of 100 kB: cells are written until it is full; enlarged, the run goes on."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = [
        sys.executable,
        "-m",
        "symscope.cli",
        *WORDS,
        "--set",
        "cells=40",
        "--out",
        str(disk),
        "--workers",
        "0",
    ]
    script = f"""
      mount -t tmpfs -o size=100k none {disk} || exit 99
      {shlex.join(words)}; echo "status $?"; ls {disk}/*/cells | wc -l
      ls -A {disk}/*/cells | grep -c unfinished
      mount -o remount,size=20m {disk}
      {shlex.join(words)} > /dev/null; echo "status $?"; ls {disk}/*/cells | wc -l
    """
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=600,
        env=ENVIRONMENT,
        check=True,
    )
    first, written, unfinished, second, whole = done.stdout.split("\n")[-6:-1]
    assert (first, second) == ("status 2", "status 0")
    assert "No space left on device. Finished cells are kept" in done.stderr
    assert "Traceback" not in done.stderr
    assert 3 < int(written) < 40
    assert (int(unfinished), int(whole)) == (0, 40)
