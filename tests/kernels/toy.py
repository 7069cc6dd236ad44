"""Kernels small enough to check by eye, picklable because at module level, with a looping oracle."""

from __future__ import annotations

import math
import os
import time
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from symscope.kernels._kernel import Kernel


def polynomial_blocks(x1: Tensor, x2: Tensor | None) -> Tensor:
    """(2 + <x, y>)^2 / 7: a matrix product, so that rounding depends on the shapes as in real kernels."""
    other = x1 if x2 is None else x2
    return (2.0 + x1.flatten(2) @ other.flatten(2).mT).square() / 7


def polynomial_diagonal(x: Tensor) -> Tensor:
    return (2.0 + x.flatten(1).square().sum(1)).square() / 7


def entry_bytes(features: tuple[int, ...], dtype: torch.dtype) -> float:
    return 3.0 * dtype.itemsize


polynomial = Kernel("polynomial", polynomial_blocks, polynomial_diagonal, entry_bytes)


def loop(x1: Tensor, x2: Tensor) -> Tensor:
    """The polynomial kernel entry by entry with exactly rounded sums."""
    rows = [
        [(2.0 + math.fsum((a.double() * b.double()).flatten().tolist())) ** 2 / 7 for b in x2] for a in x1
    ]
    return torch.tensor(rows, dtype=torch.float64)


def counted_blocks(log: str, pause: float, x1: Tensor, x2: Tensor | None) -> Tensor:
    """The same, with a byte written to a file for every block computed: counts across processes and kills."""
    time.sleep(pause)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, b"x" if x1.shape[1] > 1 else b".")
    os.close(handle)
    return polynomial_blocks(x1, x2)


def counted(log: Path, pause: float = 0.0, name: str = "counted") -> Kernel:
    return Kernel(name, partial(counted_blocks, str(log), pause), polynomial_diagonal, entry_bytes)


def points(n: int, *features: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, *features, generator=generator, dtype=torch.float64)
