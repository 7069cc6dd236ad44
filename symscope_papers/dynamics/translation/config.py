"""Config of `dynamics/translation`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_field
from symscope_papers.dynamics.strategies.config import check_setting

SIDE, CLASSES = 28, 10  # of MNIST


@final
@dataclass(frozen=True)
class Translation:
    """Config of `dynamics/translation`: App. C.2, mini-batches of 25 as in the authors' scripts.

    Attributes:
        size: Pixels along a side, a divisor of 28; each is the mean of the pixels it replaces.
        images: Number of images, the first of the set.
        channels: Channels of the first and second layer.
        invariant: Numbers after pooling.
        mnist: "sample" for bundled digits; "fetched" for MNIST's test set where `symscope data fetch mnist`
            puts it; or a folder with its files.
        runs: Repetitions, each from its own A_0.
        epochs: Steps of gradient descent.
        passes: Times AUGMENTED sees each mini-batch in an epoch.
        rate: Learning rate.
        batch: Images of a mini-batch.
        scripts: Do what the authors' scripts do where that differs from the paper's text.
        block: Runs of one cell.
        together: Train the runs of a cell side by side.
        precision: "single" (with split products on a GPU), "mixed" (gradients rounded to half precision on
            their way back) or "double".
        check_runs: Runs that are trained in both precisions.
        check_epochs: Epochs of the runs that are trained in both precisions.
    """

    size: int = 14
    images: int = 10_000
    channels: tuple[int, int] = (32, 32)
    invariant: int = 32
    mnist: str = "fetched"
    runs: int = 30
    epochs: int = 50
    passes: int = 25
    rate: float = 1e-5
    batch: int = 25
    scripts: bool = False
    block: int = 3
    together: bool = False
    precision: str = "mixed"
    check_runs: int = 2
    check_epochs: int = 10

    def __post_init__(self) -> None:
        check_setting(self)
        check_at_least(self, 2, "size")
        check_field(self, "size", SIDE % self.size == 0, f"a divisor of {SIDE}")
        check_at_least(self, 1, "channels", "invariant", "images")
        check_field(self, "channels", len(self.channels) == 2, "two numbers")
