"""What is measured: networks, inputs, the bars, and the peer's settings that are tried."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One network on one set of images.

    Attributes:
        key: Short name, for --case.
        title: What the table says.
        images: How many.
        side: Their height and width; 28 is MNIST as it is, others are averaged down.
        conv: Convolutional layers (3x3, circular, ReLU, no bias) before the read-out; 0 for an MLP.
        dense: Hidden layers of an MLP (ReLU, with biases, w_std = b_std = 1).
        readout: "fc" (flatten) or "gap" (global average pooling) for convolutions.
        bar: The ratio peer / ours to reach on a CPU in float64.
        batches: Batch sizes of the peer's `nt.batch` tried beside no batching.
    """

    key: str
    title: str
    images: int
    side: int
    conv: int
    dense: int
    readout: str
    bar: float
    batches: tuple[int, ...]

    def job(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


CASES = (
    Case("mlp1", "MLP, 1 hidden layer, 2,000 images", 2000, 28, 0, 1, "fc", 1.5, (500, 1000)),
    Case("mlp5", "MLP, 5 hidden layers, 2,000 images", 2000, 28, 0, 5, "fc", 1.5, (500, 1000)),
    Case("convfc", "conv 3x3 + FC, 64 images 28x28", 64, 28, 1, 0, "fc", 2.0, (16, 32)),
    Case("convgap", "conv 3x3 + GAP, 8 images 28x28", 8, 28, 1, 0, "gap", 5.0, (1, 2, 4)),
    Case("deepgap", "3 conv 3x3 + GAP, 16 images 12x12", 16, 12, 3, 0, "gap", 3.0, (1, 4, 8)),
)


def quick(case: Case) -> Case:
    """The same on a few images of 6x6: whether everything works, not how fast."""
    n = 40 if case.conv == 0 else 4
    return replace(case, title=f"{case.key}, {n} images 6x6", images=n, side=6, batches=(n // 2,))


def inputs(case: Case) -> np.ndarray:
    """Images `[n, 1, side, side]` of the bundled MNIST sample, all classes, each centred and of unit norm."""
    import torch

    from symscope.data import mnist_sample

    images = mnist_sample().x.unsqueeze(1)
    images = images[torch.linspace(0, len(images) - 1, case.images).long()]
    if case.side != images.shape[-1]:
        images = torch.nn.functional.adaptive_avg_pool2d(images, case.side)
    images = images - images.mean((1, 2, 3), keepdim=True)
    return (images / images.flatten(1).norm(dim=1)[:, None, None, None]).numpy()
