"""The Gram engine: any kernel over any number of points, tile by tile, within a memory budget."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.kernels._gram._storage import open_gram, open_store, stored_tile
from symscope.kernels._gram._tiles import (
    Arithmetic,
    Grid,
    Tile,
    arithmetic,
    mirrored_blocks,
    place,
    tile_array,
    tile_bytes,
    tile_sides,
    tile_values,
)
from symscope.kernels._kernel import Kernel
from symscope.kernels._threads import cores_for, one_core_each
from symscope.numerics import (
    Progress,
    byte_count,
    check_point_sets,
    checked,
)

CPU_MEMORY = "2GB"
LARGEST_BATCH = 1 << 24  # entries of small Grams computed at once
CUDA_SHARE = 0.25  # of the free memory of the device


@checked
def gram(
    kernel: Kernel,
    x1: Tensor,
    x2: Tensor | None = None,
    *,
    memory: int | float | str | None = None,
    tile: int | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | str | None = None,
    out: Tensor | None = None,
    store: str | Path | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress | bool | None = None,
) -> Float[Tensor, "n1 n2"]:
    """The Gram matrix `K[i, j] = k(x1[i], x2[j])`, tile by tile.

    Without `x2` only the tiles on and below the diagonal are computed and the rest mirrors them: the result
    is symmetric to the last bit. Its diagonal is the kernel's own `diagonal`, with nothing added. Gradients
    with respect to the inputs flow where the kernel lets them, unless `out`, `store` or `executor` is used.

    Args:
        kernel: The kernel.
        x1: Points `[n1, *s]`, floating and finite.
        x2: Points `[n2, *s]`; None for x1 against itself.
        memory: Bytes, or text such as "500MB", that computing may take on top of the inputs and the result;
            tiles are made to fit it, all workers together. None is 2 GB on a CPU, and a quarter of the free
            memory of a CUDA device.
        tile: Side of the tiles; None for the largest useful one within the budget. It changes results by
            rounding only.
        device: Device that computes the tiles; the device of x1 when None. The result is on x1's device.
        dtype: torch.float64 when None, whatever the dtype of the inputs; torch.float32, or "tf32" on CUDA
            (float32 whose products keep 10 bits, about three digits).
        out: A tensor `[n1, n2]` to fill and return, on any device.
        store: A folder to hold the result on disk, memory-mapped and checksummed; a call that was killed goes
            on where it stopped. See `symscope.kernels.open_gram`.
        executor: Any `concurrent.futures` executor: threads, processes, a Dask client's `get_executor()`.
        workers: Tiles in flight at once; None for as many as the executor has, otherwise one for each thread
            PyTorch may use.
        progress: True for a bar with rate and time left, or a function called as `progress(done, total)` with
            numbers of entries.

    Returns:
        The matrix `[n1, n2]`; with `store`, mapped from the file (changing it does not change the file).

    Raises:
        InputError: Points, dtype, device, `out` or the store cannot be used, or the budget is too small for
            one entry; the message says what to do.

    >>> products = lambda a, b: a @ (a if b is None else b).mT
    >>> linear = Kernel("linear", products, lambda a: (a * a).sum(1), lambda s, t: 8)
    >>> gram(linear, torch.tensor([[1.0, 2.0], [0.0, 3.0]]), tile=1)
    tensor([[5., 6.],
            [6., 9.]], dtype=torch.float64)
    """
    x2 = None if x2 is x1 else x2
    check_point_sets(x1, x2)
    how = arithmetic(x1, device, dtype)
    shape = (len(x1), len(x1 if x2 is None else x2))
    tracked = _tracked(x1, x2, alone=out is None and store is None and executor is None)
    count = 1 if tracked else _workers(executor, workers, how.device)
    if store is not None and out is not None:
        raise InputError("out and store: expected one of them, got both; copy from the store afterwards.")
    asked = tile if store is None or tile is not None else stored_tile(store)
    sides = tile_sides(kernel, tuple(x1.shape[1:]), shape, _budget(memory, how), how, asked, count)
    grid = Grid(shape, sides, symmetric=x2 is None)
    with how.precision(), nullcontext() if tracked else torch.no_grad():
        if store is not None:
            return _stored(Path(store), kernel, x1, x2, grid, how, executor, count, progress)
        with progress_steps(progress, grid.entries, kernel.name) as step:
            if len(grid.tiles) == 1 and out is None and executor is None:  # nothing to put together
                result = tile_values(kernel, x1, x2, how).to(x1.device)
                step(grid.entries)
                return result
            result = _target(out, shape, x1.device, how.dtype)
            for one, block in _computed(grid.tiles, kernel, x1, x2, how, executor, count):
                place(result, one, block, grid.symmetric)
                step(one.entries)
    return result


def batched_gram(
    kernel: Kernel,
    x1: Tensor,
    x2: Tensor | None = None,
    *,
    memory: int | float | str | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | str | None = None,
    progress: Progress | bool | None = None,
) -> Float[Tensor, "b n1 n2"]:
    """Many small Gram matrices in one go, `out[i] = k(x1[i], x2[i])`.

    As many as fit the budget are computed at once; a Gram that does not fit alone is computed in tiles.

    Args:
        kernel: The kernel.
        x1: Points `[b, n1, *s]`.
        x2: Points `[b, n2, *s]`; None for each of x1 against itself.
        memory: Bytes, or text such as "500MB", that computing may take on top of the inputs and the result.
        device: Device that computes; the device of x1 when None.
        dtype: torch.float64 when None, whatever the dtype of the inputs; torch.float32, or "tf32" on CUDA.
        progress: True for a bar, or a function called as `progress(done, total)` with numbers of entries.

    Returns:
        The matrices `[b, n1, n2]` on x1's device.

    Raises:
        InputError: Points, dtype or device cannot be used, or the budget is too small for one entry.

    >>> products = lambda a, b: a @ (a if b is None else b).mT
    >>> linear = Kernel("linear", products, lambda a: (a * a).sum(1), lambda s, t: 8)
    >>> batched_gram(linear, torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]), torch.tensor([[[1.0]], [[2.0]]]))
    tensor([[[1.],
             [2.]],
    <BLANKLINE>
            [[6.],
             [8.]]], dtype=torch.float64)
    """
    x2 = None if x2 is x1 else x2
    check_point_sets(x1, x2, leading=2)
    how = arithmetic(x1, device, dtype)
    budget = _budget(memory, how)
    shape = (x1.shape[1], (x1 if x2 is None else x2).shape[1])
    features = tuple(x1.shape[2:])
    fixed = tile_bytes(kernel, features, how, (0, 0))
    alone = tile_bytes(kernel, features, how, shape) - fixed
    chunk = min(
        max(0, int((budget - fixed) / alone)), max(1, LARGEST_BATCH // (shape[0] * shape[1])), len(x1)
    )
    result = torch.empty(len(x1), *shape, dtype=how.dtype, device=x1.device)
    tracked = _tracked(x1, x2, alone=True)
    with (
        how.precision(),
        nullcontext() if tracked else torch.no_grad(),
        progress_steps(progress, result.numel(), kernel.name) as step,
    ):
        for start in range(0, len(x1), max(chunk, 1)):
            part = slice(start, start + max(chunk, 1))
            y1, y2 = x1[part], None if x2 is None else x2[part]
            if chunk < 1:
                y2 = None if y2 is None else y2[0]
                result[start] = gram(kernel, y1[0], y2, memory=budget, device=how.device, dtype=dtype)
            else:
                result[part] = _batch(kernel, y1, y2, how)
            step(result[part].numel())
    return result


def _batch(kernel: Kernel, x1: Tensor, x2: Tensor | None, how: Arithmetic) -> Tensor:
    y1 = x1.to(how.device, how.dtype)
    y2 = None if x2 is None else x2.to(how.device, how.dtype)
    blocks = kernel.blocks(y1, y2)
    return (
        blocks
        if y2 is not None or kernel.symmetric
        else mirrored_blocks(blocks, kernel.diagonal(y1.flatten(0, 1)).unflatten(0, y1.shape[:2]))
    )


def _stored(
    store: Path,
    kernel: Kernel,
    x1: Tensor,
    x2: Tensor | None,
    grid: Grid,
    how: Arithmetic,
    executor: Executor | None,
    count: int,
    progress: Progress | bool | None,
) -> Tensor:
    with open_store(store, kernel, x1, x2, grid, how) as stored:
        missing = stored.missing
        with progress_steps(progress, grid.entries, kernel.name) as step:
            step(grid.entries - sum(one.entries for one in missing))
            for one, block in _computed(missing, kernel, x1, x2, how, executor, count):
                stored.write(one, block)
                step(one.entries)
    return open_gram(store, verify=False)  # every tile was either written just now or verified when opened


def _computed(
    tiles: Sequence[Tile],
    kernel: Kernel,
    x1: Tensor,
    x2: Tensor | None,
    how: Arithmetic,
    executor: Executor | None,
    count: int,
) -> Iterator[tuple[Tile, Tensor]]:
    """The tiles with their values, in any order; through an executor never more than `count` at once."""
    others = x1 if x2 is None else x2

    def points(tile: Tile) -> tuple[Tensor, Tensor | None]:
        on_diagonal = x2 is None and tile.rows == tile.columns
        return x1[tile.rows], None if on_diagonal else others[tile.columns]

    if executor is None:
        yield from _on_cores(
            tiles, lambda tile: tile_values(kernel, *points(tile), how), min(count, len(tiles))
        )
        return
    pending: dict[Future[np.ndarray], Tile] = {}
    try:
        for tile in tiles:
            if len(pending) >= count:
                yield from _finished(pending)
            x, y = points(tile)
            columns = None if y is None else y.to("cpu", how.dtype).numpy()
            pending[executor.submit(tile_array, kernel, x.to("cpu", how.dtype).numpy(), columns, how)] = tile
        while pending:
            yield from _finished(pending)
    finally:
        for future in pending:  # only when something went wrong
            future.cancel()


def _on_cores(
    tiles: Sequence[Tile], values: Callable[[Tile], Tensor], count: int
) -> Iterator[tuple[Tile, Tensor]]:
    """Tiles on this machine, one core each, never more than `count` finished and not yet taken."""
    if count <= 1:
        for tile in tiles:
            yield tile, values(tile)
        return
    with one_core_each(count) as pool:
        waiting: deque[tuple[Tile, Future[Tensor]]] = deque()
        for tile in tiles:
            if len(waiting) >= count:
                done, future = waiting.popleft()
                yield done, future.result()
            waiting.append((tile, pool.submit(values, tile)))
        for done, future in waiting:
            yield done, future.result()


def _finished(pending: dict[Future[np.ndarray], Tile]) -> Iterator[tuple[Tile, Tensor]]:
    for future in wait(pending, return_when=FIRST_COMPLETED).done:
        values = np.require(future.result(), requirements="W")
        yield pending.pop(future), torch.from_numpy(values)


def _budget(memory: int | float | str | None, how: Arithmetic) -> int:
    if memory is not None:
        return byte_count(memory)
    if how.device.type == "cuda":
        return int(CUDA_SHARE * torch.cuda.mem_get_info(how.device)[0])
    return byte_count(CPU_MEMORY)


def _workers(executor: Executor | None, workers: int | None, device: torch.device) -> int:
    if workers is not None and workers < 1:
        raise InputError(f"workers: expected at least 1, got {workers}.")
    if executor is None:
        with torch.no_grad():
            return workers or cores_for(device)
    return workers or getattr(executor, "_max_workers", None) or os.cpu_count() or 1


def _tracked(x1: Tensor, x2: Tensor | None, alone: bool) -> bool:
    wanted = torch.is_grad_enabled() and (x1.requires_grad or (x2 is not None and x2.requires_grad))
    if wanted and not alone:
        raise InputError(
            "x1, x2: gradients cannot flow through out, store or executor; "
            "detach the inputs or drop those options."
        )
    return wanted


def _target(out: Tensor | None, shape: tuple[int, int], device: torch.device, dtype: torch.dtype) -> Tensor:
    if out is None:
        return torch.empty(shape, dtype=dtype, device=device)
    if tuple(out.shape) != shape or out.dtype != dtype:
        raise InputError(f"out: expected shape {shape} of {dtype}, got {tuple(out.shape)} of {out.dtype}.")
    return out


@contextmanager
def progress_steps(
    progress: Progress | bool | None, total: int, title: str
) -> Iterator[Callable[[int], None]]:
    """Give a function to call with the number of entries just finished; it tells `progress` how far it is.

    Args:
        progress: None or False for silence, True for a bar on standard error with the rate and the time left,
            or a function called as `progress(title, done, total)`.
        total: Entries in all.
        title: What is being computed.

    Yields:
        A function of the entries just finished.

    >>> with progress_steps(lambda what, done, total: print(what, done, "of", total), 6, "NTK") as step:
    ...     step(4)
    ...     step(2)
    NTK 4 of 6
    NTK 6 of 6
    """
    done = 0

    def silent_or_called(entries: int) -> None:
        nonlocal done
        done += entries
        if callable(progress):
            progress(title, done, total)

    if progress is not True:
        yield silent_or_called
        return
    with _bar(total, title) as step:
        yield step


@contextmanager
def _bar(total: int, title: str) -> Iterator[Callable[[int], None]]:
    # rich takes longer to import than a small Gram to compute: only who wants a bar pays
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text("" if not task.speed else f"{task.speed:.3g} entries/s")

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f}%"))
    with Bar(
        *columns, Rate(), TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)
    ) as bar:
        task = bar.add_task(title, total=total)
        yield lambda entries: bar.advance(task, entries)
