"""One episode: a run folder, and a program that is started and hit until its run is finished."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import symscope
from tests.runs.program import ENVIRONMENT, group_members, heed_interrupts
from tests.torture.cluster import Cluster

EXPERIMENT = str(Path(__file__).with_name("experiment.py"))
WORDS = ("reproduce", "torture/cells", "--module", EXPERIMENT, "--device", "cpu")
KINDS = ("0", "1", "2", "0", "1", "2", "full", "writers", "dask")  # of episodes, in turn
PACKAGE = str(Path(symscope.__file__).parent)
HITS = 6  # at most, in one episode
PATIENCE = 180.0  # seconds after which a program that does not end counts as hanging


@dataclass
class Tally:
    """What was counted.

    Attributes:
        counts: Numbers by name.
        faults: One line for each thing that must not happen.
    """

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def fault(self, kind: str, detail: str) -> None:
        """Count something that must not happen."""
        self.counts[kind] += 1
        self.faults.append(f"{kind}: {detail}")


class Episode:
    """A run folder, what has been seen in it, and the programs at work on it."""

    def __init__(self, number: int, seed: int, place: Path, reference: Path, seconds: float) -> None:
        self.random, self.kind = Random(f"{seed}-{number}"), KINDS[number % len(KINDS)]
        self.name, self.out, self.reference, self.seconds = f"{number}", place / "out", reference, seconds
        self.place, self.tally, self.seen, self.starts = place, Tally(), dict[str, bytes](), 0
        self.cluster: Cluster | None = None
        self.out.mkdir(parents=True)

    def play(self, hits: int = HITS) -> Tally:
        """Hit the program, let it finish, compare."""
        with self._surroundings():
            if self.kind == "full":  # once without a hit: one line, nothing lost
                process, log = self._start()
                self._end(process, log, None, alone=True)
                self.tally.counts["full disks met"] += process.returncode == 2
                self._look()
            while self.tally.counts["kills"] < hits and not list(self.out.glob("*/summary.json")):
                self._hit_once()
            self._finish()
        return self.tally

    @contextlib.contextmanager
    def _surroundings(self) -> Iterator[None]:
        if self.kind == "full":
            size = self.random.randint(12, 120)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", str(self.out)], check=True)
        if self.kind == "dask":
            self.cluster = Cluster(self.place / "cluster")
        try:
            yield
        finally:
            if self.cluster is not None:
                self.cluster.close()
            if self.kind == "full":
                subprocess.run(["umount", "-l", str(self.out)], check=True)

    # programs

    def _start(self) -> tuple[subprocess.Popen[bytes], Path]:
        """The program, in a process group of its own, and the file of what it prints."""
        self.starts += 1
        log = self.place / f"log-{self.starts}.txt"
        where = {"full": "0", "writers": "1"}.get(self.kind, self.kind)
        words = ["--workers", where]
        if self.cluster is not None:
            words = ["--dask", self.cluster.ready()]
        with open(log, "wb") as stream:
            command = [sys.executable, "-m", "symscope.cli", *WORDS, "--out", str(self.out), *words]
            process = subprocess.Popen(
                command,
                stdout=stream,
                stderr=stream,
                env=ENVIRONMENT,
                start_new_session=True,
                preexec_fn=heed_interrupts,
            )
        return process, log

    def _hit_once(self) -> None:
        programs = [self._start()]
        if self.kind == "writers":
            self._wait(self.random.uniform(0, self.seconds))
            programs.append(self._start())
        self._wait_for_moment(programs[0][0])
        number = self.random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
        what = self._send(number, programs)
        self.tally.counts["kills" if what else "came too late"] += 1
        self.tally.counts[f"{number.name} {what}"] += bool(what)
        if self.kind == "full" and self.random.random() < 0.3:
            self._enlarge()
        for process, log in programs:
            hit = process is programs[0][0] and what is not None
            self._end(process, log, number if hit else None, alone=what in ("program", "group"))
        self._look()

    def _send(
        self, number: signal.Signals, programs: Sequence[tuple[subprocess.Popen[bytes], Path]]
    ) -> str | None:
        """Send a signal to the program, to all its processes, or to a worker; who was hit, None if nobody."""
        process = programs[0][0]
        if process.poll() is not None:
            return None
        targets = ["program", "group"]
        workers = [one for one in group_members(process.pid) if is_worker(one)]
        if number == signal.SIGKILL:
            targets += ["worker"] * bool(workers) + ["dask worker", "dask scheduler"] * (self.kind == "dask")
        target = self.random.choice(targets)
        with contextlib.suppress(ProcessLookupError):
            if target == "program":
                os.kill(process.pid, number)
            elif target == "group":
                os.killpg(process.pid, number)
            elif target == "worker":
                os.kill(self.random.choice(workers), number)
            elif self.cluster is not None:
                self.cluster.kill(self.random, scheduler=target == "dask scheduler")
            return target
        return None

    def _wait_for_moment(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for a random moment: of the whole time, or near a cell or the end of the run being written."""
        if self.random.random() < 0.4:
            self._wait(self.random.uniform(0, 1.3 * self.seconds))
            return
        left = 16 - len(self.seen)
        goal = len(self.seen) + self.random.randint(0, left) if left > 0 else 0
        end = time.monotonic() + PATIENCE
        while process.poll() is None and len(self._cells()) < goal and time.monotonic() < end:
            time.sleep(0.002)
        self._wait(self.random.choice([0, 0.003, 0.03, 0.3, 1.0]) * self.random.random())

    def _wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def _end(
        self, process: subprocess.Popen[bytes], log: Path, number: signal.Signals | None, *, alone: bool
    ) -> None:
        """Wait for the program and all its processes to end; check its status and what it has printed."""
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._fault("hang", f"after {number}", log)
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        end = time.monotonic() + 30
        while (left := group_members(process.pid)) and time.monotonic() < end:
            time.sleep(0.02)
        if left:
            self._fault("process left over", f"{len(left)} after {number}", log)
            os.killpg(process.pid, signal.SIGKILL)
        text = log.read_text(errors="replace")
        if "Traceback" in text or "Exception ignored" in text:
            if number == signal.SIGINT and PACKAGE not in text:  # nobody can catch that
                self.tally.counts["tracebacks of Python before symscope starts"] += 1
                return
            self._fault("traceback", f"after {number}", log)
        allowed = {0, *([-number] if number and alone else []), *([130] if number == signal.SIGINT else [])}
        if self.kind in ("full", "writers", "dask"):
            allowed.add(2)  # one line: the disk is full, the folder is in use, the cluster is gone
        if self.kind != "0" and number == signal.SIGKILL and not alone:
            allowed.add(1)  # a cell whose worker was killed twice is recorded as failed
        if status not in allowed:
            self._fault("status", f"{status} after {number}", log)
        self.tally.counts["finished in spite of it"] += bool(number and status == 0)

    # the run folder

    def _cells(self) -> list[Path]:
        return list(self.out.glob("*/cells/[!.]*.json"))

    def _look(self) -> None:
        """Every finished cell that was seen must be there as it was; remember the new ones."""
        now = {path.name: path.read_bytes() for path in self._cells()}
        for name, content in self.seen.items():
            if now.get(name) != content:
                self._fault("finished cell lost", name)
        for name, content in now.items():
            try:
                done = json.loads(content)["record"]["status"] == "done"
            except (ValueError, KeyError):
                self._fault("damaged cell", name)
                continue
            if done:
                self.seen[name] = content

    def _enlarge(self) -> None:
        subprocess.run(["mount", "-o", "remount,size=50m", str(self.out)], check=True)

    def _finish(self) -> None:
        """Nobody interferes: the run must end well, with the tables of the reference and no file besides."""
        if self.kind == "full":
            self._enlarge()
        process, log = self._start()
        self._end(process, log, None, alone=True)
        if process.returncode != 0:
            self._fault("not finished", f"status {process.returncode}", log)
        self._look()
        [folder], [whole] = self.out.iterdir(), self.reference.iterdir()
        files, expected = ({str(path.relative_to(one)) for path in one.rglob("*")} for one in (folder, whole))
        for name in sorted(files - expected):
            self._fault("file left over", name)
        for name in sorted(expected - files):
            self._fault("file missing", name)
        for table in sorted((whole / "tables").iterdir()):
            same = (folder / "tables" / table.name).read_bytes() == table.read_bytes()
            self.tally.counts["tables equal"] += same
            if not same:
                self._fault("table differs", table.name)
        self.tally.counts["finished cells checked"] += len(self.seen)
        self.tally.counts["episodes"] += 1

    def _fault(self, kind: str, detail: str, log: Path | None = None) -> None:
        last = "" if log is None else log.read_text(errors="replace")[-1500:]
        self.tally.fault(kind, f"episode {self.name} ({self.kind}): {detail}\n{last}".rstrip())


def is_worker(process: int) -> bool:
    """Whether a process runs cells; the group has another one, which only tidies up after Python."""
    try:
        return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return False


def reference_run(place: Path) -> tuple[Path, float]:
    """The run that nobody touches, and how long the program takes for it."""
    out = place / "reference"
    began = time.monotonic()
    command = [sys.executable, "-m", "symscope.cli", *WORDS, "--out", str(out), "--workers", "0"]
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    return out, time.monotonic() - began


def can_mount() -> bool:
    """Whether a small disk of its own can be made here."""
    return shutil.which("mount") is not None and os.geteuid() == 0
