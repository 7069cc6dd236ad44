"""Where cells run."""

from __future__ import annotations

import logging
import os

import pytest

from symscope import InputError
from symscope.runs import _executors
from symscope.runs._environment import usable_cores
from symscope.runs._executors import (
    THREAD_VARIABLES,
    InProcessExecutor,
    dask_executor,
    local_executor,
    worker_count,
)


def test_workers_and_threads_never_ask_for_more_than_the_cores():
    for threads in (1, 2, 1000):
        workers = worker_count(None, threads=threads, device="cpu")
        assert workers == 1 or workers * threads <= usable_cores()
    with pytest.raises(InputError, match="0 for none, got -1"):
        worker_count(-1, threads=1, device="cpu")


def test_here_keeps_exceptions_for_later():
    with InProcessExecutor() as executor:
        assert isinstance(executor.submit(int, "x").exception(), ValueError)


def test_worker_processes_get_their_threads_and_leave_environment_and_output_alone(capfd):
    before = dict(os.environ)
    with local_executor(1, threads=1) as executor:
        seen = executor.submit(os.getenv, "OPENBLAS_NUM_THREADS").result()
        other = executor.submit(os.getpid).result()
        executor.submit(print, "of a cell").result()
    assert capfd.readouterr() == ("", "of a cell\n")
    assert seen == "1"
    assert other != os.getpid()
    assert dict(os.environ) == before
    assert len(THREAD_VARIABLES) == 4


def test_a_tls_address_without_certificates_is_refused():
    pytest.importorskip("distributed", reason="needs the extra symscope[dask]")
    with (
        pytest.raises(InputError, match=r"--dask tls://head:8786: expected certificates .*TLS__CA_FILE"),
        dask_executor("tls://head:8786", seconds=0.3),
    ):
        pass


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x"])
def test_a_cluster_that_does_not_answer_is_refused(address):
    pytest.importorskip("distributed", reason="needs the extra symscope[dask]")
    with (
        pytest.raises(InputError, match=f"--dask {address}: no Dask scheduler answers"),
        dask_executor(address, seconds=0.3),
    ):
        pass


def test_libraries_that_wait_for_a_cluster_are_quiet_and_then_as_before(caplog):
    """A lost scheduler is told by asyncio and by futures too, with tracebacks, beside our one line."""
    names = ("asyncio", "concurrent.futures", "tornado.application", "distributed.client")
    before = [logging.getLogger(name).level for name in names]
    with _executors._quiet("distributed", "tornado", "asyncio", "concurrent"):
        for name in names:
            logging.getLogger(name).error("%s lost its scheduler", name)
    assert caplog.text == ""
    assert [logging.getLogger(name).level for name in names] == before
    logging.getLogger("asyncio").error("heard again")
    assert "heard again" in caplog.text
