"""Networks that read rows, patches or moments one after another, and plain ones for any input."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from symscope_papers.forecast.budgets.image_networks import patch_size


def dropout_mlp(inputs: int, classes: int) -> nn.Module:
    """Two hidden layers with dropout."""
    parts: list[nn.Module] = [nn.Flatten()]
    for before, after in ((inputs, 768), (768, 384)):
        parts += [nn.Linear(before, after), nn.ReLU(), nn.Dropout(0.3)]
    return nn.Sequential(*parts, nn.Linear(384, classes))


def tanh_mlp(inputs: int, classes: int) -> nn.Module:
    """Two hidden layers with tanh."""
    hidden = [nn.Linear(inputs, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh()]
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(512, classes))


def deep_mlp(inputs: int, classes: int) -> nn.Module:
    """Five hidden layers with batch norm."""
    parts: list[nn.Module] = [nn.Flatten()]
    for before in (inputs, 384, 384, 384, 384):
        parts += [nn.Linear(before, 384, bias=False), nn.BatchNorm1d(384), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(384, classes))


class RowLSTM(nn.Module):
    """Reads an image row by row, or a series moment by moment; the last state is classified."""

    def __init__(self, inputs: int, classes: int, series: bool) -> None:
        super().__init__()
        self.series = series
        self.lstm = nn.LSTM(inputs, 128, batch_first=True)
        self.head = nn.Linear(128, classes)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.transpose(1, 2) if self.series else x.movedim(1, 2).flatten(2)
        return self.head(self.lstm(rows)[0][:, -1])


class ClassToken(nn.Module):
    """A transformer with a class token and learned positions. Dosovitskiy et al., 2021.

    Tokens are patches of an image `[batch, 1, side, side]`, or four moments each of a series
    `[batch, 1, channels, length]`.
    """

    def __init__(self, height: int, width: int, classes: int) -> None:
        super().__init__()
        self.window = (height, 4) if height < width else (patch_size(width),) * 2
        tokens = (height // self.window[0]) * (width // self.window[1])
        self.embed = nn.Linear(self.window[0] * self.window[1], 48)
        self.token = nn.Parameter(0.02 * torch.randn(1, 1, 48))
        self.places = nn.Parameter(0.02 * torch.randn(1, tokens + 1, 48))
        layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.1, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(48), nn.Linear(48, classes))

    def forward(self, x: Tensor) -> Tensor:
        pieces = nn.functional.unfold(x, self.window, stride=self.window).transpose(1, 2)
        tokens = torch.cat([self.token.expand(len(x), -1, -1), self.embed(pieces)], 1)
        return self.head(self.body(tokens + self.places)[:, 0])


class CausalBlock(nn.Module):
    """A dilated convolution that sees only the past, weight-normed, added to its input."""

    def __init__(self, before: int, after: int, dilation: int) -> None:
        super().__init__()
        self.past = 2 * dilation
        self.conv = weight_norm(nn.Conv1d(before, after, 3, dilation=dilation))
        self.drop = nn.Dropout(0.1)
        self.shortcut = nn.Identity() if before == after else nn.Conv1d(before, after, 1)

    def forward(self, x: Tensor) -> Tensor:
        seen = nn.functional.pad(x, (self.past, 0))
        return (self.shortcut(x) + self.drop(self.conv(seen).relu())).relu()


class TemporalConvolutions(nn.Module):
    """A temporal convolutional network; its last moment is classified. Bai et al., 2018."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        sizes = ((channels, 32, 1), (32, 32, 2), (32, 32, 4), (32, 32, 8), (32, 32, 16))
        self.body = nn.Sequential(*(CausalBlock(*size) for size in sizes))
        self.head = nn.Linear(32, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x)[:, :, -1])
