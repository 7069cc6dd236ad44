"""Networks whose linear symmetries are known: how many there are, and which algebra they form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import torch
from torch import Tensor, nn

from symscope.discovery import ParameterProblem, class_data, gaussian_data, parameter_problem
from symscope.errors import InputError, nearest

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "linear": nn.Identity,
    "ReLU": nn.ReLU,
    "leaky ReLU": nn.LeakyReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
}


@final
@dataclass(frozen=True)
class Known:
    """A network with what theory says of its linear symmetries.

    Attributes:
        family: "linear", "ReLU", "softmax" and so on.
        problem: Network and loss.
        dimension: Dimension of the algebra, modulo translations.
        translations: Constant symmetries.
        affine: Whether constants are looked for.
        span: The generators as matrices, where theory gives them all; otherwise None.
    """

    family: str
    problem: ParameterProblem
    dimension: int
    translations: int = 0
    affine: bool = False
    span: Tensor | None = None


class _Attention(nn.Module):
    """One head written out, averaged over positions."""

    def __init__(self, width: int, head: int) -> None:
        super().__init__()
        self.Q, self.K, self.V = (nn.Linear(width, head, bias=False) for _ in range(3))
        self.O = nn.Linear(head, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        scores = self.Q(x) @ self.K(x).transpose(1, 2)
        averaged: Tensor = self.O(torch.softmax(scores, -1) @ self.V(x)).mean(1)
        return averaged


def two_layer_dimension(m: int, h: int, n: int, activation: str) -> int:
    """Linear symmetries of `W2 s(W1 x)`, sizes m x h and h x n, squared loss.

    >>> two_layer_dimension(2, 3, 2, "linear"), two_layer_dimension(1, 2, 1, "linear")
    (9, 6)
    """
    if activation in ("ReLU", "leaky ReLU"):
        return h
    if activation in ("tanh", "sigmoid"):
        return 0
    if m == n == 1:
        return h * (2 * h - 1)
    return h * h + (max(m, n) * h * (h - 1) // 2 if 1 in (m, n) else 0)


def family_and_sizes(name: str) -> tuple[str, tuple[int, ...]]:
    """What the name of a network stands for, without making it.

    Raises:
        InputError: An unknown family, or sizes that do not fit it.

    >>> family_and_sizes("leaky ReLU 2-3-2")
    ('leaky ReLU', (2, 3, 2))
    """
    family, _, sizes_text = name.rpartition(" ")
    try:
        sizes = tuple(int(size) for size in sizes_text.split("-"))
    except ValueError:
        sizes = ()
    deep = len(sizes) >= 3 and min(sizes) >= 1
    if family == "linear" and len(sizes) > 3 and min(sizes) == 1:
        raise InputError(
            f"the algebra of deep linear networks with a layer of one unit is not known: {sizes}"
        )
    fits = {
        **dict.fromkeys(ACTIVATIONS, deep),
        "softmax": len(sizes) == 3 and min(sizes) >= 2,
        **dict.fromkeys(("LayerNorm", "RMSNorm"), len(sizes) == 3 and sizes[1] >= 3),
        "attention": len(sizes) == 2 and min(sizes) >= 2,
    }
    if not fits.get(family, False):
        raise InputError(
            f"unknown network {name!r}: expected a family and sizes, 'ReLU 2-3-2'; {nearest(family, fits)}"
        )
    return family, sizes


def known_network(name: str) -> Known:
    """A network from its name, inputs first: "linear 2-3-2", "RMSNorm 2-3-1", "attention 2-2".

    Raises:
        InputError: An unknown family, or sizes that do not fit it.
    """
    family, sizes = family_and_sizes(name)
    if family == "attention":
        made = parameter_problem(_Attention(*sizes), "squared", gaussian_data((3, sizes[0]), (sizes[0],)))
        return Known(family, made, 2 * sizes[1] ** 2)
    if family == "softmax":
        n, h, m = sizes
        net = nn.Sequential(nn.Linear(n, h), nn.ReLU(), nn.Linear(h, m))
        made = parameter_problem(net, "cross-entropy", class_data((n,), m))
        return Known(family, made, h, translations=h + 1, affine=True)
    return _perceptron(family, sizes) if family in ACTIVATIONS else _normalised(family, sizes)


def _perceptron(family: str, sizes: tuple[int, ...]) -> Known:
    layers: list[nn.Module] = []
    for a, b in pairwise(sizes):
        layers += [nn.Linear(a, b, bias=False), ACTIVATIONS[family]()]
    made = parameter_problem(nn.Sequential(*layers[:-1]), "squared", gaussian_data(sizes[:1], sizes[-1:]))
    hidden = sizes[1:-1]
    if len(hidden) == 1:
        dimension = two_layer_dimension(sizes[2], sizes[1], sizes[0], family)
    else:
        dimension = sum(two_layer_dimension(2, h, 2, family) for h in hidden)
    complete = family in ("ReLU", "leaky ReLU") or (family == "linear" and min(sizes[0], sizes[-1]) > 1)
    return Known(family, made, dimension, span=_span(sizes, family == "linear") if complete else None)


def _span(sizes: tuple[int, ...], mixing: bool) -> Tensor:
    """`W_l -> E W_l, W_(l+1) -> -W_(l+1) E` for every hidden layer and elementary matrix E, as columns."""
    counts = [a * b for a, b in pairwise(sizes)]
    total, columns = sum(counts), []
    for layer, h in enumerate(sizes[1:-1]):
        for a in range(h):
            for b in range(h) if mixing else (a,):
                E = torch.zeros(h, h, dtype=torch.float64)
                E[a, b] = 1.0
                matrix = torch.zeros(total, total, dtype=torch.float64)
                start = sum(counts[:layer])
                middle, end = start + counts[layer], start + counts[layer] + counts[layer + 1]
                eye_in = torch.eye(sizes[layer], dtype=torch.float64)
                eye_out = torch.eye(sizes[layer + 2], dtype=torch.float64)
                matrix[start:middle, start:middle] = torch.kron(E, eye_in)
                matrix[middle:end, middle:end] = torch.kron(eye_out, -E.T.contiguous())
                columns.append(matrix.reshape(-1))
    return torch.stack(columns, 1)


def _normalised(family: str, sizes: tuple[int, ...]) -> Known:
    """A normalisation without scales of its own: free of scale, and commutes with rotations of its sphere."""
    n, h, m = sizes
    mean = family == "LayerNorm"
    kind = nn.LayerNorm if mean else nn.RMSNorm
    net = nn.Sequential(nn.Linear(n, h), kind(h, eps=0.0, elementwise_affine=False), nn.Linear(h, m))
    made = parameter_problem(net, "squared", gaussian_data((n,), (m,)))
    sphere = h - 1 if mean else h
    # the mean of every column of the first layer, and of every row of the last
    return Known(family, made, 1 + sphere * (sphere - 1) // 2, (n + 1 + m) if mean else 0, affine=True)
