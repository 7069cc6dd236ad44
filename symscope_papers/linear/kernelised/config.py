"""Config of `linear/kernelised`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_increasing

# Table 1 of the paper: error without and with the matrix
TABLE = {
    ("gradients", "(1 2)"): (1.1e-2, 2.4e-3),
    ("gradients", "(1 2 3)"): (1.3e-2, 1.0e-3),
    ("activations", "(1 2)"): (1.4e-2, 8.1e-4),
    ("activations", "(1 2 3)"): (1.5e-2, 8.1e-4),
}


@final
@dataclass(frozen=True)
class Kernelised:
    """Config of `linear/kernelised`: networks 3-width-1 with PyTorch's initialisation, points of the cube.

    Attributes:
        width: Hidden units.
        networks: Number of networks, each with its own seed.
        points: Numbers of points the matrices are fitted to; several, to see their effect.
        held_out: Further points the errors are measured on, besides those fitted to.
    """

    width: int = 100
    networks: int = 10
    points: tuple[int, ...] = (100_000,)
    held_out: int = 10_000

    def __post_init__(self) -> None:
        check_at_least(self, 1, "width", "networks", "held_out")
        check_at_least(self, 2, "points")
        check_increasing(self, "points")
