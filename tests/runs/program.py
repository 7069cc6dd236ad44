"""The real program in a process of its own, and small helps to ask for toy runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from symscope.runs import RunOutcome, RunRequest, Workers, run_experiments

TOY = str(Path(__file__).with_name("toy.py"))
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200", "NO_COLOR": "1"}


def other_toy(folder: Path) -> str:
    """A second module, with the same experiment under another id."""
    module = folder / "others.py"
    module.write_text(Path(TOY).read_text().replace("toy/matrices", "toy/others"))
    return str(module)


def toy_request(*changes: str, preset: str = "quick", seed: int = 0) -> RunRequest:
    return RunRequest.of(
        "toy/matrices", preset=preset, changes=changes, seed=seed, device="cpu", modules=[TOY]
    )


def toy_run(out: Path, *changes: str, preset: str = "quick", workers: int = 0, seed: int = 0) -> RunOutcome:
    request = toy_request(*changes, preset=preset, seed=seed)
    [outcome] = run_experiments([request], out, Workers(processes=workers))
    return outcome


def symscope(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(
        [sys.executable, "-m", "symscope.cli", *words],
        capture_output=True, text=True, timeout=600, env=ENVIRONMENT, check=False, **options,  # type: ignore[call-overload]
    )  # fmt: skip


def started(*words: str) -> subprocess.Popen[str]:
    """Start the program in a process group of its own."""
    command = [sys.executable, "-m", "symscope.cli", *words]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )


def heed_interrupts() -> None:
    """Undo what a shell does to what it starts in the background: have Ctrl-C ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 600) -> None:
    """Wait for something another process does; fail with words when it does not."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.02)


def group_members(group: int) -> list[int]:
    """Processes of a group that are alive, from /proc."""
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name_end = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we were looking
        if name_end[0] != "Z" and int(name_end[2]) == group:
            alive.append(int(stat.parent.name))
    return alive


def tables(folder: Path) -> dict[str, bytes]:
    """The bytes of every table of a run."""
    return {path.name: path.read_bytes() for path in sorted((folder / "tables").glob("*.parquet"))}
