"""Small networks for sets, point clouds, graphs and series: for forecasts by name, and for the papers."""

from __future__ import annotations

import math
from typing import final

import torch
from torch import Tensor, nn

from symscope.numerics import check_count

__all__ = ["DeepSets", "MessagePassing", "PointNet", "RowGRU"]

MOST = 10**6  # columns, inputs, nodes or outputs


@final
class DeepSets(nn.Module):
    """The same layers for every point, their mean, and layers on it: the order of points is nothing to it.

    Zaheer et al., "Deep Sets", 2017.

    >>> net, x = DeepSets(3, 2), torch.randn(1, 5, 3)
    >>> bool(torch.allclose(net(x), net(x.flip(1)), atol=1e-6))
    True
    """

    def __init__(self, columns: int, outputs: int) -> None:
        super().__init__()
        check_count("columns", columns, most=MOST)
        check_count("outputs", outputs, most=MOST)
        self.point = nn.Sequential(nn.Linear(columns, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.whole = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, outputs))

    def forward(self, x: Tensor) -> Tensor:
        return self.whole(self.point(x).mean(-2))


@final
class PointNet(nn.Module):
    """The same layers for every point, their maximum, and layers on it.

    Qi et al., "PointNet", 2017, without the networks that turn its input.

    >>> net, x = PointNet(3, 2), torch.randn(1, 5, 3)
    >>> bool(torch.allclose(net(x), net(torch.cat([x, x], 1)), atol=1e-6))  # a point twice is a point
    True
    """

    def __init__(self, columns: int, outputs: int) -> None:
        super().__init__()
        check_count("columns", columns, most=MOST)
        check_count("outputs", outputs, most=MOST)
        self.point = nn.Sequential(nn.Linear(columns, 64), nn.ReLU(), nn.Linear(64, 256), nn.ReLU())
        self.whole = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, outputs))

    def forward(self, x: Tensor) -> Tensor:
        return self.whole(self.point(x).amax(-2))


@final
class MessagePassing(nn.Module):
    """Three rounds in which nodes hear from their neighbours, and the mean over nodes, on adjacency matrices.

    `h_i <- relu(W h_i + V sum_j a_ij h_j / sqrt(nodes))`; at the start a node knows its loop and its degree.
    The order of nodes is nothing to it.

    >>> net, a = MessagePassing(4, 2), torch.rand(1, 4, 4)
    >>> order = torch.tensor([2, 0, 3, 1])
    >>> bool(torch.allclose(net(a), net(a[:, order][:, :, order]), atol=1e-6))
    True
    """

    def __init__(self, nodes: int, outputs: int) -> None:
        super().__init__()
        check_count("nodes", nodes, most=MOST)
        check_count("outputs", outputs, most=MOST)
        self.scale = 1 / math.sqrt(nodes)
        sizes = (2, 64, 64)
        self.own = nn.ModuleList(nn.Linear(size, 64) for size in sizes)
        self.heard = nn.ModuleList(nn.Linear(size, 64, bias=False) for size in sizes)
        self.whole = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs))

    def forward(self, x: Tensor) -> Tensor:
        h = torch.stack([x.diagonal(dim1=-2, dim2=-1), self.scale * x.sum(-1)], dim=-1)
        for own, heard in zip(self.own, self.heard, strict=True):
            h = torch.relu(own(h) + heard(self.scale * (x @ h)))
        return self.whole(h.mean(-2))


@final
class RowGRU(nn.Module):
    """Reads a sample row by row, all channels of a row at once, or a series moment by moment.

    The last state is classified. Cho et al., "Learning Phrase Representations", 2014.

    >>> RowGRU(2, 3, series=True)(torch.zeros(5, 2, 30)).shape
    torch.Size([5, 3])
    """

    def __init__(self, inputs: int, outputs: int, series: bool = False) -> None:
        super().__init__()
        check_count("inputs", inputs, most=MOST)
        check_count("outputs", outputs, most=MOST)
        self.series = series
        self.gru = nn.GRU(inputs, 128, batch_first=True)
        self.head = nn.Linear(128, outputs)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 4:
            x = x.movedim(1, 2).flatten(2)
        if self.series:
            x = x.transpose(1, 2)
        return self.head(self.gru(x)[0][:, -1])
