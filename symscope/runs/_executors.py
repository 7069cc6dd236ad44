"""Where cells run: in this process, in local processes, or on a Dask cluster; always an `Executor`."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any, final

from symscope.errors import InputError
from symscope.runs._environment import usable_cores

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@final
class InProcessExecutor(Executor):
    """Runs each call at once in this process: the easiest to debug, and the reference for all others.

    >>> with InProcessExecutor() as executor:
    ...     executor.submit(max, 2, 3).result()
    3
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The finished future of one call."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def worker_count(wanted: int | None, *, threads: int, device: str) -> int:
    """How many local processes to use: as many as fit the cores, one on a GPU, unless a number is given.

    Args:
        wanted: Number of processes, 0 to use this process, None to choose.
        threads: Threads of one cell.
        device: "cpu" or "cuda".

    Raises:
        InputError: A negative number.

    >>> worker_count(3, threads=1, device="cpu"), worker_count(None, threads=1, device="cuda")
    (3, 1)
    """
    if wanted is None:
        return 1 if device == "cuda" else max(1, usable_cores() // threads)
    if wanted < 0:
        raise InputError(f"--workers is a number of processes, 0 for none, got {wanted}")
    return wanted


@contextlib.contextmanager
def local_executor(workers: int, *, threads: int) -> Iterator[Executor]:
    """Local processes, each limited to its threads; they end with this process, however it ends.

    Args:
        workers: Number of processes; 0 runs the cells here.
        threads: Threads of each process, so that `workers * threads` is what the machine is asked for.

    >>> with local_executor(0, threads=1) as executor:
    ...     executor.submit(abs, -1).result()
    1
    """
    if workers == 0:
        yield InProcessExecutor()
        return
    before = set(multiprocessing.active_children())
    with _thread_variables(threads):
        # spawn: a forked copy of torch with its threads and its CUDA state cannot be trusted
        pool = _Processes(workers, multiprocessing.get_context("spawn"), _start_worker, (threads,))
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@final
class _Processes(ProcessPoolExecutor):
    """Processes that never see Ctrl-C, not even while they start and import: their parent takes it."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As its parent class, which starts a process here when none is idle."""
        with _ctrl_c_later(), _ctrl_c_masked():
            return super().submit(fn, *args, **kwargs)


@contextlib.contextmanager
def _ctrl_c_masked() -> Iterator[None]:
    """This thread does not get SIGINT, nor do processes that it starts: they inherit the mask."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """A Ctrl-C in here is acted upon at the end; the mask alone leaves it to any other thread to take it.

    Python runs handlers between two steps of the main thread, whichever thread took the signal: half-way
    through the start of a process that would leave it waiting for the rest of what it is to do.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    taken: list[Any] = []
    signal.signal(signal.SIGINT, lambda *arrived: taken.append(arrived))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if taken:
            handler(*taken[-1])


@contextlib.contextmanager
def dask_executor(address: str, *, seconds: float = 10.0) -> Iterator[Executor]:
    """The workers of a running Dask cluster.

    Args:
        address: Address of the scheduler, "tcp://host:8786".
        seconds: How long to wait for the scheduler's answer.

    Raises:
        InputError: Dask or certificates for a tls address are missing, or nothing answers at the address.
    """
    with _client(address, seconds) as client:
        executor = client.get_executor(pure=False)
        yield executor
        executor.shutdown(wait=True)


def dask_slots(address: str) -> int:
    """How many cells a Dask cluster runs at a time now, at least one.

    Raises:
        InputError: As `dask_executor`.
    """
    with _client(address) as client:
        return max(1, sum(client.nthreads().values()))


@contextlib.contextmanager
def _client(address: str, seconds: float = 10.0) -> Iterator[Any]:
    try:
        import dask
        from distributed import Client
        from distributed.security import Security
    except ImportError as error:
        raise InputError("--dask needs Dask: pip install 'symscope[dask]'") from error
    if address.startswith("tls:") and Security().get_connection_args("client").get("ssl_context") is None:
        raise InputError(
            f"--dask {address}: expected certificates for tls, got none; name them in "
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ..TLS__CLIENT__CERT and ..TLS__CLIENT__KEY"
        )
    # quiet: a lost worker or scheduler is ours to report, in one line, not theirs who wait for it
    silent = {"distributed.admin.large-graph-warning-threshold": "1TB"}  # a cell may bring its data
    with _quiet("distributed", "tornado", "asyncio", "concurrent"), dask.config.set(silent):
        try:
            client = Client(address, timeout=seconds, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f"--dask {address}: no Dask scheduler answers there ({error or type(error).__name__}); "
                "start one with `dask scheduler` and give its tcp:// address"
            ) from error
        try:
            yield client
        finally:
            client.close()


@contextlib.contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Nothing but critical messages from libraries' loggers, which set their levels each on their own."""
    known = {*names, *(one for one in logging.root.manager.loggerDict if one.startswith(names))}
    loggers = [logging.getLogger(name) for name in known]
    before = [(logger, logger.level) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)


def _start_worker(threads: int) -> None:
    """What a local worker does first: leave Ctrl-C and the output to its parent, die with it, few threads."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)  # what a cell prints is no part of the parent's answer
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    import torch

    torch.set_num_threads(threads)


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def _thread_variables(threads: int) -> Iterator[None]:
    """Environment variables that new processes read before they load their numerical libraries."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
