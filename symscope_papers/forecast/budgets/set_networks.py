"""Networks for sets of points `[batch, points, columns]` and adjacency matrices `[batch, nodes, nodes]`."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SetTransformer(nn.Module):
    """Attention between points and their mean. Lee et al., 2019, without its inducing points."""

    def __init__(self, columns: int, classes: int) -> None:
        super().__init__()
        self.embed = nn.Linear(columns, 48)
        self.attention = nn.ModuleList(nn.MultiheadAttention(48, 4, batch_first=True) for _ in range(2))
        self.within = nn.ModuleList(
            nn.Sequential(nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, 48)) for _ in range(2)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(48) for _ in range(4))
        self.head = nn.Linear(48, classes)

    def forward(self, x: Tensor) -> Tensor:
        h = self.embed(x)
        for k, (attention, within) in enumerate(zip(self.attention, self.within, strict=True)):
            h = self.norms[2 * k](h + attention(h, h, h, need_weights=False)[0])
            h = self.norms[2 * k + 1](h + within(h))
        return self.head(h.mean(1))


class SetMax(nn.Module):
    """The same layers with batch norm for every point, their maximum, and layers with dropout on it."""

    def __init__(self, columns: int, classes: int) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for before, after in ((columns, 64), (64, 128), (128, 256)):
            parts += [nn.Conv1d(before, after, 1, bias=False), nn.BatchNorm1d(after), nn.ReLU()]
        self.point = nn.Sequential(*parts)
        self.whole = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, classes))

    def forward(self, x: Tensor) -> Tensor:
        return self.whole(self.point(x.transpose(1, 2)).amax(2))


class EdgeConvolutions(nn.Module):
    """Layers on a point and its six nearest, their maximum, twice. Wang et al., 2019."""

    def __init__(self, columns: int, classes: int, nearest: int = 6) -> None:
        super().__init__()
        self.nearest = nearest
        self.edges = nn.ModuleList(
            nn.Sequential(nn.Linear(2 * before, 48), nn.ReLU(), nn.Linear(48, 48)) for before in (columns, 48)
        )
        self.whole = nn.Sequential(nn.Linear(192, 64), nn.ReLU(), nn.Linear(64, classes))

    def forward(self, x: Tensor) -> Tensor:
        layers, rows = [], torch.arange(len(x), device=x.device)[:, None, None]
        for edge in self.edges:
            square = x.square().sum(2)
            distance = square[:, :, None] + square[:, None] - 2 * x @ x.mT
            neighbours = x[rows, distance.topk(self.nearest + 1, largest=False).indices[:, :, 1:]]
            own = x[:, :, None].expand_as(neighbours)
            x = edge(torch.cat([own, neighbours - own], 3)).amax(2).relu()
            layers.append(x)
        h = torch.cat(layers, 2)
        return self.whole(torch.cat([h.amax(1), h.mean(1)], 1))


class MaxGraphNetwork(nn.Module):
    """Three rounds in which a node takes the largest message of its neighbours; it starts from its row.

    As rows name nodes by their numbers, renumbering changes what it gives.
    """

    def __init__(self, nodes: int, classes: int) -> None:
        super().__init__()
        sizes = (nodes, 96, 96)
        self.own = nn.ModuleList(nn.Linear(size, 96) for size in sizes)
        self.message = nn.ModuleList(nn.Linear(size, 96) for size in sizes)
        self.head = nn.Linear(96, classes)

    def forward(self, a: Tensor) -> Tensor:
        h = a
        for own, message in zip(self.own, self.message, strict=True):
            heard = (a[..., None] * message(h).relu()[:, None]).amax(2)
            h = (own(h) + heard).relu()
        return self.head(h.mean(1))
