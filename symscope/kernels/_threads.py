"""Independent pieces of work on the cores at hand, each piece on one core.

Splitting every small tensor operation over the cores, as PyTorch does by itself, makes all cores wait for
each other after each operation: slow for cache-sized pieces, and very slow on a machine that is also doing
something else. Pieces need no waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def each(function: Callable[[Piece], Result], pieces: Iterable[Piece], device: torch.device) -> list[Result]:
    """The function of every piece, in order, on as many cores as PyTorch may use.

    On a GPU, or with one core or one piece, they simply run one after the other.

    Args:
        function: Must not depend on the order of calls, nor change what other calls read.
        pieces: Its arguments.
        device: Device holding the tensors.

    >>> each(lambda n: n * n, range(4), torch.device("cpu"))
    [0, 1, 4, 9]
    """
    work = list(pieces)
    cores = min(cores_for(device), len(work))
    if cores <= 1:
        return [function(piece) for piece in work]
    with one_core_each(cores) as pool:
        return list(pool.map(function, work))


def cores_for(device: torch.device) -> int:
    """On how many cores pieces may run: as many as PyTorch uses; one on a GPU, or if gradients flow.

    Whether gradients are kept belongs to a thread, so other threads would lose them.

    >>> cores_for(torch.device("cuda"))
    1
    """
    return torch.get_num_threads() if device.type == "cpu" and not torch.is_grad_enabled() else 1


@contextmanager
def one_core_each(cores: int) -> Iterator[ThreadPoolExecutor]:
    """Threads in which PyTorch uses one core each; its own number of threads is put back afterwards.

    >>> with one_core_each(2) as pool:
    ...     pool.submit(torch.get_num_threads).result()
    1
    """
    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(cores, "symscope", initializer=_one_core) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)


def _one_core() -> None:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
