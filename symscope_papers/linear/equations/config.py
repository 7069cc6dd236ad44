"""Config of `linear/equations`, and the groups it tries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from symscope.data.synthetic import absolute_value, permuted_cube
from symscope_papers.config_bounds import check_at_least


@final
@dataclass(frozen=True)
class Equations:
    """Config of `linear/equations`: random problems of each group.

    Attributes:
        problems: Number of random problems of each group.
        orbits: Number of orbits in the data.
        time: Flow time up to which trajectories are compared, over the slowest rate.
    """

    problems: int = 10
    orbits: int = 4
    time: float = 3.0

    def __post_init__(self) -> None:
        check_at_least(self, 1, "problems", "orbits")
        check_at_least(self, 0.1, "time")


def group_matrices(name: str) -> Tensor:
    """The matrices of a group, identity first, acting as `x g`.

    >>> group_matrices("cyclic shifts").shape
    torch.Size([5, 5, 5])
    """
    if name == "reflection":
        return absolute_value(1, 0).group
    if name == "permutations":
        return permuted_cube(1, 0).group
    eye = torch.eye(5, dtype=torch.float64)
    if name == "cyclic shifts":
        return torch.stack([eye.roll(k, 1) for k in range(5)])
    turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    return torch.stack([torch.linalg.matrix_power(turn, k) for k in range(4)])


GROUPS = ("reflection", "permutations", "cyclic shifts", "quarter turns")
