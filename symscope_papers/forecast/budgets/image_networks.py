"""Networks for images `[batch, channels, side, side]`, as users write them."""

from __future__ import annotations

from torch import Tensor, nn


def group_cnn(channels: int, side: int, classes: int) -> nn.Module:
    """Two convolutions with group norm and max pool, and a hidden layer."""
    parts: list[nn.Module] = []
    for before, after in ((channels, 32), (32, 64)):
        parts += [nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(8, after), nn.ReLU(), nn.MaxPool2d(2)]
    parts += [nn.Flatten(), nn.Linear(64 * (side // 4) ** 2, 96), nn.ReLU(), nn.Linear(96, classes)]
    return nn.Sequential(*parts)


def lenet(channels: int, side: int, classes: int) -> nn.Module:
    """LeNet-5 with its mean pooling and tanh. LeCun et al., 1998."""
    parts: list[nn.Module] = []
    for before, after in ((channels, 6), (6, 16)):
        parts += [nn.Conv2d(before, after, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2)]
    parts += [nn.Flatten(), nn.Linear(16 * (side // 4) ** 2, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh()]
    return nn.Sequential(*parts, nn.Linear(84, classes))


def separable(channels: int, classes: int) -> nn.Module:
    """Depthwise and pointwise convolutions with batch norm, and a global mean. Howard et al., 2017."""
    parts = [nn.Conv2d(channels, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU6()]
    for before, after, stride in ((16, 32, 1), (32, 64, 2), (64, 64, 1)):
        parts += [
            nn.Conv2d(before, before, 3, stride, 1, groups=before, bias=False),
            nn.BatchNorm2d(before),
            nn.ReLU6(),
            nn.Conv2d(before, after, 1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU6(),
        ]
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))


class GroupBlock(nn.Module):
    """Two convolutions with group norm behind them, added to the input."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False),
            nn.GroupNorm(4, after),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
            nn.GroupNorm(4, after),
        )
        same = before == after and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return (self.shortcut(x) + self.body(x)).relu()


def group_resnet(channels: int, classes: int) -> nn.Module:
    """A small ResNet with group norm and a global mean. Wu and He, 2018."""
    stem = [nn.Conv2d(channels, 16, 3, padding=1, bias=False), nn.GroupNorm(4, 16), nn.ReLU()]
    blocks = [GroupBlock(16, 16, 1), GroupBlock(16, 32, 2)]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, classes))


class MixerBlock(nn.Module):
    """A layer across patches, then one across channels."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.across = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.within = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.across(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return x + self.within(self.norms[1](x))


class Mixer(nn.Module):
    """An MLP-mixer of three blocks and a mean over patches. Tolstikhin et al., 2021."""

    def __init__(self, channels: int, side: int, classes: int) -> None:
        super().__init__()
        patch = patch_size(side)
        self.embed = nn.Conv2d(channels, 48, patch, patch)
        self.blocks = nn.Sequential(*(MixerBlock((side // patch) ** 2, 48) for _ in range(3)))
        self.head = nn.Sequential(nn.LayerNorm(48), nn.Linear(48, classes))

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.embed(x).flatten(2).transpose(1, 2)
        return self.head(self.blocks(tokens).mean(1))


def patch_size(side: int) -> int:
    """Pixels of a patch's side: 4, or 2 where images are small or 4 does not divide them.

    >>> patch_size(8), patch_size(14), patch_size(16)
    (2, 2, 4)
    """
    return 4 if side > 8 and side % 4 == 0 else 2
