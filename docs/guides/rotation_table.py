"""Prints the table of docs/guides/rotations.md: how far image rotations are from each other and from a group.

python docs/guides/rotation_table.py            n = 8, 16, 32, 64 at 28x28, about two minutes
python docs/guides/rotation_table.py 8 16       only these
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch
from torch import Tensor

from symscope.data import mnist_sample
from symscope.data.periodic import rotation_basis, spline_matrix

SIZE = 28


def main(steps: list[int]) -> None:
    digits = mnist_sample().per_class(20, seed=0).x.reshape(-1, SIZE * SIZE)
    digits = digits / digits.norm(dim=1, keepdim=True)
    print("| n | construction | orthogonality | R^n - 1 | R^(n/4) - rot90 | one step | all n steps |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for n in steps:
        spline = [spline_matrix(SIZE, 360 * k / n) for k in range(n)]
        one_step = snapped(spline[1], n)
        exact = rotation_basis(SIZE, n)
        row(
            n,
            "spline, one step repeated",
            lambda k, t=spline: torch.linalg.matrix_power(t[1], k),
            spline,
            digits,
        )
        row(n, "plain snapping", lambda k, r=one_step: torch.linalg.matrix_power(r, k), spline, digits)
        row(n, "orthogonal", exact.matrix, spline, digits)


def row(n: int, name: str, power: Callable[[int], Tensor], spline: list[Tensor], digits: Tensor) -> None:
    one = torch.eye(SIZE * SIZE, dtype=torch.float64)
    turn = power(1)
    away = [float((digits @ (power(k) - spline[k]).T).norm(dim=1).mean()) for k in range(n)]
    quarter = float((digits @ (power(n // 4) - spline[n // 4]).T).norm(dim=1).mean())
    numbers = [
        f"{float((turn @ turn.T - one).abs().max()):.0e}",
        f"{float((torch.linalg.matrix_power(turn, n) - one).abs().max()):.0e}",
        f"{quarter:.3f}" if quarter > 1e-6 else f"{quarter:.0e}",
        f"{away[1]:.3f}",
        f"{sum(away) / n:.3f}",
    ]
    print(f"| {n} | {name} | {' | '.join(numbers)} |", flush=True)


def snapped(turn: Tensor, n: int) -> Tensor:
    """The polar factor of one step with its eigenvalues moved to the nearest n-th roots of unity."""
    u, _, v = torch.linalg.svd(turn)
    values, vectors = torch.linalg.eig(u @ v)
    vectors = torch.linalg.qr(vectors)[0]
    angles = (values.angle() * n / (2 * torch.pi)).round() * 2 * torch.pi / n
    return ((vectors * torch.polar(torch.ones_like(angles), angles)) @ vectors.mH).real


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [8, 16, 32, 64])
