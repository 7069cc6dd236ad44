"""A real Dask cluster: scheduler and workers in processes of their own, one of them killed in the middle."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="needs the extra symscope[dask]")

from distributed import Client

from symscope import InputError
from symscope.runs import Workers, run_experiments
from tests.runs.program import ENVIRONMENT, tables, toy_request, toy_run, wait_until

SLOW = ("cells=20", "seconds=0.15")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a scheduler with two workers, and the processes: scheduler first."""
    tmp_path = tmp_path_factory.mktemp("cluster")
    processes = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        with open(tmp_path / f"log-{len(processes)}.txt", "wb") as log:
            command = [sys.executable, "-m", "dask", *words]
            process = subprocess.Popen(command, stdout=log, stderr=log, env=ENVIRONMENT, cwd=tmp_path)
        processes.append(process)
        return process

    file = tmp_path / "scheduler.json"
    start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file), "--host", "127.0.0.1")
    for _ in range(2):
        start("worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--no-dashboard")
    logs = [tmp_path / f"log-{i}.txt" for i in (1, 2)]
    wait_until(lambda: all("Registered to" in log.read_text() for log in logs), "two workers")
    address = json.loads(file.read_text())["address"]
    with Client(address) as client:  # workers that still import when the work arrives may get none of it
        client.run(importlib.import_module, "symscope.runs._cell")
        client.run(importlib.import_module, "torch")
    yield address, processes
    for process in processes:
        process.kill()
        process.wait()


def test_a_cluster_that_loses_a_worker_gives_the_same_bit_for_bit(tmp_path, cluster):
    address, processes = cluster
    out = tmp_path / "dask"

    def murder() -> None:
        victim = f':{processes[1].pid}"'
        wait_until(
            lambda: any(victim in path.read_text() for path in out.glob("*/cells/*.json")),
            "a cell of the worker that is to die",
        )
        os.kill(processes[1].pid, signal.SIGKILL)

    killer = threading.Thread(target=murder)
    killer.start()
    [outcome] = run_experiments([toy_request(*SLOW)], out, Workers(dask=address))
    killer.join()

    assert processes[1].wait(timeout=600) == -signal.SIGKILL
    assert (outcome.failed, outcome.cells) == (0, 20)
    assert tables(outcome.folder) == tables(toy_run(tmp_path / "local", *SLOW).folder)
    hosts = {
        Path(path).read_text().split('"worker": "')[1].split('"')[0] for path in out.glob("*/cells/*.json")
    }
    assert len(hosts) == 2  # both worked, and neither was this process
    assert not any(host.endswith(f":{os.getpid()}") for host in hosts)


def test_a_cluster_that_goes_away_is_reported_and_finished_cells_are_kept(tmp_path, cluster):
    address, processes = cluster

    def murder() -> None:
        wait_until(lambda: len(list(tmp_path.glob("*/cells/*.json"))) >= 2, "two cells")
        os.kill(processes[0].pid, signal.SIGKILL)

    killer = threading.Thread(target=murder)
    killer.start()
    asked = toy_request("cells=100", "seconds=0.1")
    with pytest.raises(InputError, match="the cluster gave up its work; finished cells are kept"):
        run_experiments([asked], tmp_path, Workers(dask=address))
    killer.join()
    assert 2 <= len(list(tmp_path.glob("*/cells/*.json"))) < 100
