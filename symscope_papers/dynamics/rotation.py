"""Fig. 1c: where is the pentagon, where the triangle? C4 turns 14 x 14 images and their masks.

The paper finds AUGMENTED close to NOMINAL here, and says that the reason can only be speculated on. The
scripts published with it turn images flattened to one axis: of quarter turns only the half turn is left
(drawn with probability 3/5, nothing with 2/5). Training with those elements is shown beside the paper's four.
The scripts also divide the first layers by the root of their inputs, which the text does not say: sizes of
shifts depend on it, and the preset `scripts` has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, final

import torch
from torch import Tensor

from symscope.dynamics import DeclaredNetwork, TrainingProblem, declare_network
from symscope.dynamics.layer_steps import batch_normalisation
from symscope.errors import InputError
from symscope.groups import cyclic, permutation
from symscope.networks.losses import binary_cross_entropy_loss
from symscope.runs import CellContext, CellResults, Claim, Experiment, Plot, Preset, RunTables
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.polygons import polygons
from symscope_papers.dynamics.strategies import (
    AUGMENTED,
    EQUIVARIANT,
    NOMINAL,
    Strategy,
    check_setting,
    mini_batches,
    strategy_cells,
    strategy_rows,
)
from symscope_papers.dynamics.strategies_claims import common_claims, rotation_claims
from symscope_papers.dynamics.strategies_figures import strategy_plots

HALF_TURNS = Strategy("half turns", "AUGMENTED by half turns only", "augmented", (0.4, 0.0, 0.6, 0.0))
FOUR = (EQUIVARIANT, AUGMENTED, HALF_TURNS, NOMINAL)
MASKS = 2


@final
@dataclass(frozen=True)
class Rotation:
    """Config of `dynamics/rotation`: App. C.3, mini-batches of 25 as in the authors' scripts.

    Attributes:
        size: Pixels along a side.
        images: How many.
        channels: Of the three hidden layers.
        canvas: Half of the canvas's side, in the unit of the shapes' scale; the paper does not say it.
        runs: Repetitions, each from its own A_0.
        epochs: Steps of gradient descent.
        passes: Times AUGMENTED sees each mini-batch in an epoch; equal ones are computed once.
        rate: Learning rate.
        batch: Images of a mini-batch.
        initial: Scale of A_0: "standard", the paper's text, or "fan-in", the scripts for images.
        block: Runs of one cell.
        together: Train the runs of a cell side by side.
        precision: "single" (with split products on a GPU), "mixed" (gradients rounded to half precision on
            their way back) or "double".
        check_runs: Runs that are trained in both precisions.
        check_epochs: For how many epochs.
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
    initial: str = "standard"
    block: int = 5
    together: bool = False
    precision: str = "single"
    check_runs: int = 2
    check_epochs: int = 10

    def __post_init__(self) -> None:
        check_setting(self)
        if self.size < 2 or self.images < 1:
            raise InputError(f"size, images: expected 2 and 1 or more, got {self.size} and {self.images}")
        if len(self.channels) != 3 or min(self.channels) < 1:
            raise InputError(f"channels: expected three of 1 or more, got {self.channels}")


def turned_points(size: int) -> Tensor:
    """Where each of the four turns (counter-clockwise) sends each pixel, `[4, size^2]`.

    >>> turned_points(2)[1].tolist()  # top left goes to bottom left
    [2, 0, 3, 1]
    """
    pixels = torch.arange(size * size).reshape(size, size)
    # after turning, place p shows the pixel in rot90(...)[p]: the inverse says where pixels go
    return torch.stack([torch.argsort(torch.rot90(pixels, k).flatten()) for k in range(4)])


@lru_cache(maxsize=4)
def mask_network(size: int, channels: tuple[int, int, int]) -> DeclaredNetwork:
    """Images -> channels of images, three times -> two masks (normalised, as logits).

    >>> mask_network(14, (32, 32, 16)).parameters
    61465600
    """
    v = permutation(cyclic(4), turned_points(size))
    first, second, third = channels
    return declare_network(
        [v, first * v, second * v, third * v, MASKS * v],
        ["leaky_relu", "leaky_relu", "leaky_relu", batch_normalisation()],
    )


def two_masks(prediction: Tensor, y: Tensor) -> Tensor:
    """The sum over both masks of the mean binary cross-entropy over pixels (App. C.3).

    >>> round(float(two_masks(torch.zeros(1, 8), torch.ones(1, 8))), 4)  # 2 log 2
    1.3863
    """
    return MASKS * binary_cross_entropy_loss(prediction, y)


def mask_problem(config: Rotation, seed: int, dtype: torch.dtype, device: str) -> TrainingProblem:
    """The network on images of one shape each."""
    data = polygons(config.images, config.size, seed=seed, canvas=config.canvas, dtype=dtype)
    x, y = mini_batches(data.images.flatten(1), data.masks.flatten(1), config.batch)
    return TrainingProblem(mask_network(config.size, config.channels), two_masks, x.to(device), y.to(device))


def _cell(config: Rotation, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    return strategy_rows(config, cell, context, mask_problem, FOUR)


def _claims(config: Rotation, tables: RunTables) -> list[Claim]:
    whole = replace(config, initial=Rotation.initial) == Rotation()
    large = (config.size, config.images, config.channels) == (
        Rotation.size,
        Rotation.images,
        Rotation.channels,
    )
    return [
        *common_claims(config, tables, whole=whole),
        *rotation_claims(tables, HALF_TURNS.name, whole=large),
    ]


def _plots(config: Rotation, tables: RunTables) -> list[Plot]:
    return strategy_plots(config, tables, source="Fig. 1c", task="shapes under quarter turns", ways=FOUR)


rotations = Experiment(
    id="dynamics/rotation",
    paper=PAPER,
    figure="Fig. 1c",
    shows="Segmenting shapes from an equivariant start: augmented training stays near E as with other "
    "groups; it is as far as nominal training when only half turns are drawn, as in the authors' scripts.",
    config=Rotation,
    presets={
        "quick": Preset(
            Rotation(
                size=8,
                images=200,
                channels=(4, 4, 3),
                runs=5,
                block=5,
                together=True,
                precision="double",
                check_runs=1,
            ),
            "a minute on one core",
        ),
        "paper": Preset(Rotation(), "3 min on an H200"),
        "scripts": Preset(Rotation(initial="fan-in", precision="mixed", runs=10), "a minute on an H200"),
    },
    cells=strategy_cells,
    measure=_cell,
    plot=_plots,
    claims=_claims,
)
