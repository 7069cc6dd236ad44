"""Small trained networks and the data they were trained on, aligned: shapes that lie one way up."""

from __future__ import annotations

import functools

import torch
from torch import nn

from symscope.auditing import Subject, audit_subject
from symscope.data import LabelledData, MeasuredData


def bars(count: int = 120, side: int = 6, seed: int = 0) -> LabelledData:
    """Three classes of noisy images: bright at the top, in the second row, or in the top left corner."""
    generator = torch.Generator().manual_seed(seed)
    x = 0.3 * torch.rand(count, side, side, generator=generator)
    labels = torch.arange(count) % 3
    x[labels == 0, 0, :] += 1
    x[labels == 1, 1, :] += 1
    x[labels == 2, :3, :3] += 1
    return LabelledData(x, labels, "bars", "drawn")


def tilts(count: int = 120, seed: int = 0) -> MeasuredData:
    """Images whose brightness rises in a direction, with the direction's vector (x to the right, y up)."""
    generator = torch.Generator().manual_seed(seed)
    angle = 1.5 * torch.rand(count, generator=generator)  # aligned: less than a quarter turn
    vectors = torch.stack([angle.cos(), angle.sin()], 1)
    steps = torch.linspace(-1, 1, 6)
    x = vectors[:, 0, None, None] * steps[None, None, :] - vectors[:, 1, None, None] * steps[None, :, None]
    return MeasuredData(x + 0.05 * torch.randn(x.shape, generator=generator), vectors, "tilts", "drawn")


@functools.cache
def classifier(steps: int = 150) -> nn.Module:
    """A network that knows the bars as they lie."""
    return _trained(
        nn.Sequential(nn.Flatten(), nn.Linear(36, 16), nn.ReLU(), nn.Linear(16, 3)), bars(), steps
    )


@functools.cache
def regressor(steps: int = 150) -> nn.Module:
    """A network that knows the tilts as they lie."""
    return _trained(
        nn.Sequential(nn.Flatten(), nn.Linear(36, 16), nn.Tanh(), nn.Linear(16, 2)), tilts(), steps
    )


def _trained(net: nn.Module, data: LabelledData | MeasuredData, steps: int) -> nn.Module:
    generator = torch.Generator().manual_seed(5)
    for weight in net.parameters():
        nn.init.normal_(weight, std=0.2, generator=generator)
    adam = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(steps):
        if isinstance(data, LabelledData):
            loss = nn.functional.cross_entropy(net(data.x), data.labels)
        else:
            loss = nn.functional.mse_loss(net(data.x), data.targets)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return net.eval()


def bar_subject(count: int = 120) -> Subject:
    """The classifier on new bars, under quarter turns."""
    return audit_subject(classifier(), bars(count, seed=1), "C4 rotation")


def tilt_subject(count: int = 120) -> Subject:
    """The regressor on new tilts, whose vectors turn with the images."""
    return audit_subject(regressor(), tilts(count, seed=1), "C4 rotation", target_action="vector")
