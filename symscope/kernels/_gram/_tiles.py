"""A Gram matrix cut into tiles: how large, which ones, on which device and how precisely one is computed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.kernels._kernel import Kernel
from symscope.numerics import byte_text, usable_device


@final
@dataclass(frozen=True)
class Arithmetic:
    """Device and precision of the tiles of a Gram matrix.

    Attributes:
        device: The device of the tiles.
        dtype: The dtype of inputs and results.
        tf32: Whether float32 products may be rounded to TF32 (10 bits of mantissa) on CUDA.
    """

    device: torch.device
    dtype: torch.dtype
    tf32: bool = False

    @contextmanager
    def precision(self) -> Iterator[None]:
        """TF32 on or off as asked, whatever the process has set, and back again afterwards."""
        matmul, conv = torch.backends.cuda.matmul, torch.backends.cudnn.conv  # type: ignore[attr-defined]
        if self.device.type != "cuda":
            yield
            return
        before = matmul.fp32_precision, conv.fp32_precision
        matmul.fp32_precision = conv.fp32_precision = "tf32" if self.tf32 else "ieee"
        try:
            yield
        finally:
            matmul.fp32_precision, conv.fp32_precision = before


def arithmetic(x: Tensor, device: torch.device | str | None, dtype: torch.dtype | str | None) -> Arithmetic:
    """The arithmetic a caller asked for; on the input's device and in float64 where nothing was said.

    Raises:
        InputError: The dtype or the device cannot be used.

    >>> arithmetic(torch.zeros(2, 3), None, None)
    Arithmetic(device=device(type='cpu'), dtype=torch.float64, tf32=False)
    """
    where = usable_device(device, x)
    if dtype == "tf32":
        if where.type != "cuda":
            raise InputError(f'dtype: "tf32" exists on CUDA only, the device is {where}; use torch.float32.')
        return Arithmetic(where, torch.float32, tf32=True)
    if dtype is None:
        return Arithmetic(where, torch.float64)
    if dtype not in (torch.float64, torch.float32):
        raise InputError(f'dtype: expected torch.float64, torch.float32 or "tf32", got {dtype!r}.')
    return Arithmetic(where, dtype)


# Larger tiles gain nothing on a CPU, they leave its cache; on a GPU, and for kernels that cut their own work,
# the budget is the limit.
CPU_SIDE = 512
LARGEST_SIDE = 32768


class Tile(NamedTuple):
    """Rows `top:bottom` and columns `left:right` of a Gram matrix."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def rows(self) -> slice:
        """The rows it covers."""
        return slice(self.top, self.bottom)

    @property
    def columns(self) -> slice:
        """The columns it covers."""
        return slice(self.left, self.right)

    @property
    def entries(self) -> int:
        """How many numbers it holds."""
        return (self.bottom - self.top) * (self.right - self.left)


@final
@dataclass(frozen=True)
class Grid:
    """A Gram matrix as a grid of tiles of nearly equal size, the lower half alone when symmetric.

    Attributes:
        shape: Rows and columns of the matrix.
        sides: The largest rows and columns of a tile.
        symmetric: Whether the tiles above the diagonal mirror those below it.

    >>> [tuple(tile) for tile in Grid((5, 5), (3, 3), symmetric=True).tiles]
    [(0, 2, 0, 2), (2, 5, 0, 2), (2, 5, 2, 5)]
    """

    shape: tuple[int, int]
    sides: tuple[int, int]
    symmetric: bool

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        """The tiles to compute, row by row."""
        rows = _edges(self.shape[0], self.sides[0])
        columns = rows if self.symmetric else _edges(self.shape[1], self.sides[1])
        return tuple(
            Tile(top, bottom, left, right)
            for top, bottom in pairwise(rows)
            for left, right in pairwise(columns)
            if not self.symmetric or left <= top
        )

    @property
    def entries(self) -> int:
        """How many numbers are computed in all."""
        return sum(tile.entries for tile in self.tiles)


def _edges(size: int, side: int) -> list[int]:
    parts = -(-size // side)
    return [size * part // parts for part in range(parts + 1)]


def tile_bytes(
    kernel: Kernel, features: tuple[int, ...], arithmetic: Arithmetic, sides: tuple[int, int]
) -> float:
    """Memory that computing one tile takes: the kernel's own, two copies of the tile and its inputs."""
    rows, columns = sides
    entry, point, fixed = _costs(kernel, features, arithmetic)
    return entry * rows * columns + point * (rows + columns) + fixed


def _costs(kernel: Kernel, features: tuple[int, ...], how: Arithmetic) -> tuple[float, float, float]:
    """Bytes per entry, per point and per tile."""
    entry = float(kernel.entry_bytes(features, how.dtype))
    fixed, more = (float(kernel.working_bytes(n, features, how.dtype, how.device.type)) for n in (0, 1))
    for name, value in (("entry_bytes", entry), ("working_bytes", fixed), ("working_bytes", more - fixed)):
        if not 0 <= value < math.inf:
            raise InputError(f"kernel {kernel.name!r}: {name} must be a finite number >= 0, got {value}.")
    own = math.prod(features) * how.dtype.itemsize
    return entry + 2 * how.dtype.itemsize, own + more - fixed, fixed


def tile_sides(
    kernel: Kernel,
    features: tuple[int, ...],
    shape: tuple[int, int],
    budget: int,
    arithmetic: Arithmetic,
    tile: int | tuple[int, int] | None = None,
    workers: int = 1,
) -> tuple[int, int]:
    """The largest sides of a tile within a budget, from `entry r c + point (r + c) + fixed <= budget`.

    Args:
        kernel: The kernel; it knows how many bytes an entry takes.
        features: Shape of one point.
        shape: Rows and columns of the matrix.
        budget: Bytes that all tiles in flight may take.
        arithmetic: Device and dtype of the computation.
        tile: A side, or rows and columns, asked for; None for the best ones.
        workers: Tiles in flight at once.

    Returns:
        Rows and columns of the largest tile.

    Raises:
        InputError: The budget is too small for one tile, or for the one asked for; names one that would do.
    """
    least = (1, 1) if tile is None else _clipped(tile, shape)
    needed = math.ceil(tile_bytes(kernel, features, arithmetic, least) * workers)
    if needed > budget:
        what = "one entry" if tile is None else f"a tile of {least[0]} x {least[1]}"
        advice = "" if tile is None else ", or use a smaller tile"
        raise InputError(
            f"memory: {what} of kernel {kernel.name!r} on inputs {features} times {workers} at once needs "
            f"{byte_text(needed)}, the budget is {byte_text(budget)}; the smallest that would do is "
            f"memory={needed}{advice}."
        )
    if tile is not None:
        return _clipped(tile, shape)
    entry, point, fixed = _costs(kernel, features, arithmetic)
    share = budget / workers - fixed
    side = int((math.sqrt(point**2 + entry * share) - point) / entry)
    most = LARGEST_SIDE if kernel.cuts or arithmetic.device.type == "cuda" else CPU_SIDE
    rows = max(1, min(side, shape[0], most))
    columns = int((share - point * rows) / (entry * rows + point))  # few rows leave memory for more columns
    return rows, max(1, min(columns, shape[1], most**2 // rows if rows == shape[0] else rows))


def _clipped(tile: int | tuple[int, int], shape: tuple[int, int]) -> tuple[int, int]:
    rows, columns = (tile, tile) if isinstance(tile, int) else tile
    if min(rows, columns) < 1:
        raise InputError(f"tile: expected a side of at least 1, got {tile}.")
    return min(rows, shape[0]), min(columns, shape[1])


def tile_values(
    kernel: Kernel,
    rows: Float[Tensor, "r *s"],
    columns: Float[Tensor, "c *s"] | None,
    arithmetic: Arithmetic,
) -> Float[Tensor, "r c"]:
    """One tile: `k(rows, columns)`, or `k(rows, rows)` made of its lower half and the kernel's own diagonal.

    Args:
        kernel: The kernel.
        rows: Points of the rows.
        columns: Points of the columns; None for a tile on the diagonal.
        arithmetic: Device and dtype of the computation.

    Returns:
        The tile, on the arithmetic's device.

    Raises:
        InputError: The kernel returns something of another shape.
    """
    x1 = rows.to(arithmetic.device, arithmetic.dtype)
    x2 = None if columns is None else columns.to(arithmetic.device, arithmetic.dtype)
    with arithmetic.precision():
        block = kernel.blocks(x1[None], None if x2 is None else x2[None])
        expected = (1, len(x1), len(x1 if x2 is None else x2))
        if tuple(block.shape) != expected:
            raise InputError(
                f"kernel {kernel.name!r}: blocks gave shape {tuple(block.shape)}, not {expected}."
            )
        if x2 is not None or kernel.symmetric:
            return block[0]
        return mirrored_blocks(block, kernel.diagonal(x1)[None])[0]


def mirrored_blocks(blocks: Float[Tensor, "b n n"], diagonal: Float[Tensor, "b n"]) -> Float[Tensor, "b n n"]:
    """Symmetric matrices from the lower halves of `blocks` and the given diagonals.

    >>> mirrored_blocks(torch.tensor([[[0.0, 7.0], [3.0, 0.0]]]), torch.tensor([[1.0, 2.0]]))
    tensor([[[1., 3.],
             [3., 2.]]])
    """
    lower = blocks.tril(-1)
    whole = lower + lower.mT
    whole.diagonal(dim1=-2, dim2=-1).copy_(diagonal)
    return whole


def place(matrix: Tensor, tile: Tile, values: Float[Tensor, "r c"], symmetric: bool) -> None:
    """Write a tile into the matrix, and its mirror image when the matrix is symmetric.

    >>> matrix = torch.zeros(3, 3)
    >>> place(matrix, Tile(2, 3, 0, 2), torch.tensor([[4.0, 5.0]]), symmetric=True)
    >>> matrix
    tensor([[0., 0., 4.],
            [0., 0., 5.],
            [4., 5., 0.]])
    """
    matrix[tile.rows, tile.columns] = values
    if symmetric and tile.rows != tile.columns:
        matrix[tile.columns, tile.rows] = values.mT


def tile_array(
    kernel: Kernel, rows: np.ndarray, columns: np.ndarray | None, arithmetic: Arithmetic
) -> np.ndarray:
    """The same tile from arrays to an array: what travels to another process or machine and back."""
    with torch.no_grad():
        # an array that arrives over a network may be read-only, which a tensor cannot be
        x1 = torch.from_numpy(np.require(rows, requirements="W"))
        x2 = None if columns is None else torch.from_numpy(np.require(columns, requirements="W"))
        return tile_values(kernel, x1, x2, arithmetic).cpu().numpy()
