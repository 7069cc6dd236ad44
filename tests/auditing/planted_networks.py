"""Networks for planted faults: symmetric layers, and layers that break a symmetry in a known way."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from symscope.data import parse_named_action


class TurnedConv(nn.Module):
    """A convolution whose filters are the mean over their quarter turns (and mirrors)."""

    def __init__(
        self, given: int, width: int, mirrored: bool = False, size: int = 3, padding: int = 1
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, given, size, size))
        self.bias = nn.Parameter(torch.empty(width))
        self.mirrored, self.padding = mirrored, padding
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=1 / math.sqrt(self.weight[0].numel() / 3))
        nn.init.normal_(self.bias, std=0.1)

    def forward(self, x: Tensor) -> Tensor:
        turns = [torch.rot90(self.weight, k, (2, 3)) for k in range(4)]
        turns += [one.flip(-1) for one in turns] if self.mirrored else []
        return functional.conv2d(x, torch.stack(turns).mean(0), self.bias, padding=self.padding)


class TurnedLinear(nn.Linear):
    """A linear layer on flattened images that begins invariant under quarter turns and may leave."""

    def __init__(self, side: int, width: int) -> None:
        self.side = side
        super().__init__(side * side, width)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        with torch.no_grad():
            images = 4 * self.weight.reshape(-1, self.side, self.side)
            turns = torch.stack([torch.rot90(images, k, (1, 2)) for k in range(4)])
            self.weight.copy_(turns.mean(0).flatten(1))


class Averaged(nn.Module):
    """The mean of a network over a group: f(x) = mean_g inner(g x)."""

    def __init__(self, inner: Callable[[], nn.Module], action: str) -> None:
        super().__init__()
        self.inner, self.words = inner(), action

    def forward(self, x: Tensor) -> Tensor:
        action = parse_named_action(self.words, tuple(x.shape[1:]))[1]
        return torch.stack([self.inner(action.act(g, x)) for g in action.group.elements]).mean(0)


class Rings(nn.Module):
    """Means over soft rings about the centre, then a small network: invariant but for the grid."""

    def __init__(self, side: int) -> None:
        super().__init__()
        axis = torch.arange(side) - (side - 1) / 2
        radius = (axis[:, None] ** 2 + axis**2).sqrt()
        rings = torch.exp(-(((radius - torch.arange(0.0, side / 2, 1.5)[:, None, None]) / 1.0) ** 2))
        self.register_buffer("rings", (rings / rings.sum((1, 2), keepdim=True)).flatten(1))
        self.net = nn.Sequential(nn.Linear(len(rings), 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(4 * x.flatten(1) @ self.rings.to(x).T)


class Moments(nn.Module):
    """The mean position of features: a vector in the plane that turns with the image, x right and y up."""

    def __init__(self, down: bool = False) -> None:
        super().__init__()
        self.conv, self.down = TurnedConv(1, 1), down

    def forward(self, x: Tensor) -> Tensor:
        maps = torch.tanh(self.conv(x))[:, 0]
        axis = (torch.arange(x.shape[-1]) - (x.shape[-1] - 1) / 2).to(x)
        right, low = (maps * axis).mean((1, 2)), (maps * axis[:, None]).mean((1, 2))
        return torch.stack([right, low if self.down else -low], 1)


class PositionBias(nn.Module):
    """A bias of its own for every position."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(8, 8, 8))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.bias, std=0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.bias


class Coordinates(nn.Module):
    """The image with a channel that says where each pixel is."""

    def forward(self, x: Tensor) -> Tensor:
        ramp = torch.linspace(-2, 2, x.shape[-1]).to(x).expand(len(x), 1, *x.shape[-2:])
        return torch.cat([x, ramp], 1)


class Positions(nn.Module):
    """Patches as sorted tokens, learned positions added, one layer of attention, the mean of all tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm = nn.Linear(4, 16), nn.LayerNorm(16)
        self.positions = nn.Parameter(torch.randn(1, 16, 16))
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.out = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        patches = functional.unfold(x, 2, stride=2).transpose(1, 2).sort(-1).values
        tokens = self.norm(self.embed(patches)) + self.positions
        return self.out((tokens + self.attention(tokens, tokens, tokens)[0]).mean(1))


class FreeBranch(nn.Module):
    """Symmetric convolutions beside a free linear layer that begins at zero."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head, self.free = TurnedConv(1, 8), nn.Linear(8, 3), nn.Linear(64, 3)
        nn.init.zeros_(self.free.weight)
        with torch.no_grad():
            self.free.weight[0, 0] = 1e-6

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.relu(self.conv(x)).mean((2, 3))) + self.free(x.flatten(1))


def turn_about_corner_pixel(g: int, x: Tensor) -> Tensor:
    """Quarter turns about pixel (side/2, side/2), what leaves coming back on the other side."""
    for _ in range(g):
        x = torch.rot90(x, 1, (-2, -1)).roll(1, -2)
    return x
