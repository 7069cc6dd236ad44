"""Small networks the discovery tests share."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from symscope.discovery import ParameterProblem, class_data, gaussian_data, parameter_problem
from symscope.discovery.fields import LinearField, linear_field

ACTIVATIONS = {
    "linear": nn.Identity,
    "relu": nn.ReLU,
    "leaky": nn.LeakyReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
}


def two_layers(m: int, h: int, n: int, activation: str, bias: bool = False) -> ParameterProblem:
    """`W2 sigma(W1 x)` with W2 m x h and W1 h x n, squared loss."""
    net = nn.Sequential(nn.Linear(n, h, bias=bias), ACTIVATIONS[activation](), nn.Linear(h, m, bias=bias))
    return parameter_problem(net, "squared", gaussian_data((n,), (m,)))


def chain(
    widths: tuple[int, ...], activation: str, bias: bool = False, loss: str = "squared"
) -> ParameterProblem:
    """Fully connected layers of the given widths with an activation between them."""
    layers: list[nn.Module] = []
    for a, b in pairwise(widths):
        layers += [nn.Linear(a, b, bias=bias), ACTIVATIONS[activation]()]
    data = gaussian_data((widths[0],), (widths[-1],))
    if loss == "cross-entropy":
        data = class_data((widths[0],), widths[-1])
    return parameter_problem(nn.Sequential(*layers[:-1]), loss, data)


class Attention(nn.Module):
    """One head of attention written out: softmax(x Q K^T x^T) x V O, mean over positions."""

    def __init__(self, width: int, head: int, outputs: int, bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(width, head, bias=bias)
        self.key = nn.Linear(width, head, bias=bias)
        self.value = nn.Linear(width, head, bias=bias)
        self.out = nn.Linear(head, outputs, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        scores = self.query(x) @ self.key(x).transpose(1, 2)
        return self.out(torch.softmax(scores, -1) @ self.value(x)).mean(1)


def random_linear_field(size: int, seed: int) -> LinearField:
    """A linear field with a normal matrix of norm one: what a field that is no symmetry looks like."""
    matrix = torch.randn(size, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return linear_field(matrix / matrix.norm(), name="random linear field")
