"""Config of `dynamics/rotation`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_field
from symscope_papers.dynamics.strategies.config import (
    AUGMENTED,
    EQUIVARIANT,
    NOMINAL,
    Strategy,
    check_setting,
)

HALF_TURNS = Strategy("half turns", "AUGMENTED by half turns only", "augmented", (0.4, 0.0, 0.6, 0.0))
FOUR = (EQUIVARIANT, AUGMENTED, HALF_TURNS, NOMINAL)


@final
@dataclass(frozen=True)
class Rotation:
    """Config of `dynamics/rotation`: App. C.3, mini-batches of 25 as in the authors' scripts.

    Attributes:
        size: Pixels along a side.
        images: Number of images.
        channels: Channels of the three hidden layers.
        canvas: Half of the canvas's side, in the unit of the shapes' scale; the paper does not say it.
        runs: Repetitions, each from its own A_0.
        epochs: Steps of gradient descent.
        passes: Times AUGMENTED sees each mini-batch in an epoch; equal ones are computed once.
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
    images: int = 3000
    channels: tuple[int, int, int] = (32, 32, 16)
    canvas: float = 2.0
    runs: int = 30
    epochs: int = 50
    passes: int = 25
    rate: float = 1e-5
    batch: int = 25
    scripts: bool = False
    block: int = 5
    together: bool = False
    precision: str = "single"
    check_runs: int = 2
    check_epochs: int = 10

    def __post_init__(self) -> None:
        check_setting(self)
        check_at_least(self, 2, "size")
        check_at_least(self, 1, "images", "channels")
        check_field(self, "channels", len(self.channels) == 3, "three numbers")
