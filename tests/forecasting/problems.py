"""Small data with shapes of its own: no digits, no symmetry that could hide a mistake."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from symscope.data import LabelledData, MeasuredData
from symscope.forecasting import ForecastOptions


def kernel_only(**options: object) -> ForecastOptions:
    """Options of a forecast from the architecture alone, which takes milliseconds."""
    return ForecastOptions(method="kernel", **options)  # type: ignore[arg-type]


FEW = kernel_only(per_class=2, resamples=1)


def blobs(items: int = 4, classes: int = 3, side: int = 6, seed: int = 0) -> LabelledData:
    """Noisy copies of one random image per class."""
    generator = torch.Generator().manual_seed(seed)
    means = torch.rand(classes, side, side, generator=generator, dtype=torch.float64)
    noise = 0.3 * torch.rand(classes, items, side, side, generator=generator, dtype=torch.float64)
    x = (means[:, None] + noise).flatten(0, 1)
    return LabelledData(x, torch.arange(classes).repeat_interleave(items), "blobs", "tests")


def small_net() -> nn.Module:
    """A network of 36 pixels and three classes."""
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 20), nn.ReLU(), nn.Linear(20, 3))


def broken_net() -> nn.Module:
    """A builder that fails in the user's own code."""
    raise RuntimeError("no such checkpoint")


def growing(g: int, x: Tensor) -> Tensor:
    """An action that changes the shape."""
    return nn.functional.pad(x, (0, 1)) if g else x


def failing(g: int, x: Tensor) -> Tensor:
    """An action that fails in the user's own code."""
    raise KeyError("angle")


def negated(g: int, x: Tensor) -> Tensor:
    """C2: the negative image."""
    return -x if g else x


def spots(items: int = 30, side: int = 6, seed: int = 0, both: bool = False) -> MeasuredData:
    """Two bright spots each; the number is their distance, which no turn changes; or also how they meet."""
    generator = torch.Generator().manual_seed(seed)
    places = 1 + (side - 3) * torch.rand(items, 2, 2, generator=generator, dtype=torch.float64)
    grid = torch.arange(side, dtype=torch.float64)
    rows, columns = ((grid - places[..., k, None]).square() for k in (0, 1))
    bright = torch.exp(-(rows[..., :, None] + columns[..., None, :]) / 2)
    x = bright[:, 0] + 0.6 * bright[:, 1]
    apart = 10 + 3 * (places[:, 0] - places[:, 1]).norm(dim=1)
    near = 100 * (bright[:, 0] * bright[:, 1]).flatten(1).sum(1)
    return MeasuredData(x, torch.stack([apart, near], 1) if both else apart, "spots", "tests")


def number_net(outputs: int = 1) -> nn.Module:
    """A network of 36 pixels that returns numbers."""
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 20), nn.ReLU(), nn.Linear(20, outputs))


def arrows(items: int = 40, side: int = 7, seed: int = 0, right: bool = False) -> MeasuredData:
    """A bright spot off the centre; the target is where it is, a vector (x to the right, y up)."""
    generator = torch.Generator().manual_seed(seed)
    places = 0.5 + (side - 2) * torch.rand(items, 2, generator=generator, dtype=torch.float64)
    if right:  # no sample looks like another one turned
        places = torch.stack([1.5 + (places[:, 0] - 1.5) / 2, 3.5 + places[:, 1] / 2.5], 1)
    grid = torch.arange(side, dtype=torch.float64)
    rows, columns = ((grid - places[:, k, None]).square() for k in (0, 1))
    x = torch.exp(-(rows[:, :, None] + columns[:, None, :]) / 2)
    x = x + 0.05 * torch.rand(x.shape, generator=generator, dtype=torch.float64)
    middle = (side - 1) / 2
    return MeasuredData(x, torch.stack([places[:, 1] - middle, middle - places[:, 0]], 1), "arrows", "tests")


def arrow_net() -> nn.Module:
    """A network of 49 pixels that returns two numbers."""
    return nn.Sequential(nn.Flatten(), nn.Linear(49, 30), nn.ReLU(), nn.Linear(30, 2))


def own_turn(g: int, y: Tensor) -> Tensor:
    """C4 on vectors: quarter turns."""
    return torch.stack([y, torch.stack([-y[..., 1], y[..., 0]], -1), -y,
                        torch.stack([y[..., 1], -y[..., 0]], -1)])[g]  # fmt: skip
