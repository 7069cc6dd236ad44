"""A real Dask cluster: scheduler and workers in processes of their own, one of them killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="needs the extra symscope[dask]")

from symscope.experiments import Place, run
from tests.experiments.program import ENVIRONMENT, tables, toy_request, toy_run, wait_until

SLOW = ("cells=14", "seconds=0.15")


@pytest.fixture
def cluster(tmp_path):
    """The address of a scheduler with two workers, and the processes of these workers."""
    processes = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        with open(tmp_path / f"log-{len(processes)}.txt", "wb") as log:
            command = [sys.executable, "-m", "dask", *words]
            process = subprocess.Popen(command, stdout=log, stderr=log, env=ENVIRONMENT, cwd=tmp_path)
        processes.append(process)
        return process

    file = tmp_path / "scheduler.json"
    start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file), "--host", "127.0.0.1")
    workers = [
        start("worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--no-dashboard")
        for _ in range(2)
    ]
    wait_until(lambda: file.exists() and file.stat().st_size > 0, "the scheduler")
    import json

    address = json.loads(file.read_text())["address"]
    logs = [tmp_path / f"log-{i}.txt" for i in (1, 2)]
    wait_until(lambda: all("Registered to" in log.read_text() for log in logs), "two workers")
    yield address, workers
    for process in processes:
        process.kill()
        process.wait()


def test_a_cluster_that_loses_a_worker_gives_the_same_bit_for_bit(tmp_path, cluster):
    address, workers = cluster
    out = tmp_path / "dask"

    def murder() -> None:
        wait_until(lambda: len(list(out.glob("*/cells/*.json"))) >= 4, "four cells")
        os.kill(workers[0].pid, signal.SIGKILL)

    killer = threading.Thread(target=murder)
    killer.start()
    [outcome] = run([toy_request(*SLOW)], out, Place(dask=address))
    killer.join()

    assert workers[0].wait(timeout=10) == -signal.SIGKILL
    assert (outcome.failed, outcome.cells) == (0, 14)
    assert tables(outcome.folder) == tables(toy_run(tmp_path / "local", *SLOW).folder)
    hosts = {
        Path(path).read_text().split('"worker": "')[1].split('"')[0] for path in out.glob("*/cells/*.json")
    }
    assert len(hosts) == 2  # both worked, and neither was this process
    assert not any(host.endswith(f":{os.getpid()}") for host in hosts)
