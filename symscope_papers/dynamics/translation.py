"""Fig. 1b: which digit is it? Z_14^2 shifts 14 x 14 images around a torus."""

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
from symscope.groups import cyclic, direct_product, permutation, trivial
from symscope.networks.losses import soft_cross_entropy_loss
from symscope.runs import CellContext, CellResults, Claim, Experiment, Plot, Preset, RunTables
from symscope_papers.digits import digits
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.strategies import (
    check_setting,
    mini_batches,
    strategy_cells,
    strategy_rows,
)
from symscope_papers.dynamics.strategies_claims import closer_claims, common_claims
from symscope_papers.dynamics.strategies_figures import strategy_plots

SIDE, CLASSES = 28, 10  # of MNIST


@final
@dataclass(frozen=True)
class Translation:
    """Config of `dynamics/translation`: App. C.2, mini-batches of 25 as in the authors' scripts.

    Attributes:
        size: Pixels along a side, a divisor of 28; each is the mean of the pixels it replaces.
        images: How many, the first of the set.
        channels: Of the first and second layer.
        invariant: Numbers after pooling.
        mnist: "sample" for bundled digits; "fetched" for MNIST's test set where `symscope data fetch mnist`
            puts it; or a folder with its files.
        runs: Repetitions, each from its own A_0.
        epochs: Steps of gradient descent.
        passes: Times AUGMENTED sees each mini-batch in an epoch.
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
    images: int = 10_000
    channels: tuple[int, int] = (32, 32)
    invariant: int = 32
    mnist: str = "fetched"
    runs: int = 30
    epochs: int = 50
    passes: int = 25
    rate: float = 1e-5
    batch: int = 25
    initial: str = "standard"
    block: int = 3
    together: bool = False
    precision: str = "mixed"
    check_runs: int = 2
    check_epochs: int = 10

    def __post_init__(self) -> None:
        check_setting(self)
        if self.size < 2 or SIDE % self.size:
            raise InputError(f"size: expected a divisor of {SIDE}, 2 or more, got {self.size}")
        if len(self.channels) != 2 or min(*self.channels, self.invariant, self.images) < 1:
            raise InputError("channels: expected two; channels, invariant and images: 1 or more")


def shifted_points(size: int) -> Tensor:
    """Where each shift (a, b) of Z_size^2 sends each pixel, `[size^2, size^2]`.

    >>> shifted_points(2).tolist()
    [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]]
    """
    i, j = torch.arange(size).repeat_interleave(size), torch.arange(size).repeat(size)
    return torch.stack([((i + a) % size) * size + (j + b) % size for a, b in zip(i, j, strict=True)])


@lru_cache(maxsize=4)
def digit_network(size: int, channels: tuple[int, int], invariant: int) -> DeclaredNetwork:
    """Images -> channels of images, twice -> invariant numbers (normalised) -> 10 classes.

    >>> digit_network(14, (32, 32), 32).parameters  # 39 million in the second layer alone
    40768320
    """
    group = direct_product(cyclic(size), cyclic(size))
    v = permutation(group, shifted_points(size))
    return declare_network(
        [v, channels[0] * v, channels[1] * v, trivial(group, invariant), trivial(group, CLASSES)],
        ["leaky_relu", "leaky_relu", [batch_normalisation(), "leaky_relu"], ()],
    )


def digit_problem(config: Translation, seed: int, dtype: torch.dtype, device: str) -> TrainingProblem:
    """The network on small digits, pixels shifted to -1/2 .. 1/2."""
    data = digits(config.mnist, "test")
    if len(data) < config.images:
        raise InputError(f"images: expected at most {len(data)}, all of {data.name}, got {config.images}")
    pixels = torch.nn.functional.avg_pool2d(data.x[: config.images, None], SIDE // config.size)
    labels = torch.nn.functional.one_hot(data.labels[: config.images], CLASSES)
    x, y = mini_batches(pixels.flatten(1) - 0.5, labels, config.batch)
    network = digit_network(config.size, config.channels, config.invariant)
    return TrainingProblem(network, soft_cross_entropy_loss, x.to(device, dtype), y.to(device, dtype))


def _cells(config: Translation) -> list[dict[str, Any]]:
    digits(config.mnist, "test")  # files that are not there are told before anything runs
    return strategy_cells(config)


def _cell(config: Translation, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    return strategy_rows(config, cell, context, digit_problem)


def _claims(config: Translation, tables: RunTables) -> list[Claim]:
    whole = replace(config, initial=Translation.initial, mnist=Translation.mnist) == Translation()
    return [*common_claims(config, tables, whole=whole), *closer_claims(tables)]


def _plots(config: Translation, tables: RunTables) -> list[Plot]:
    return strategy_plots(config, tables, source="Fig. 1b", task="digits under shifts")


translations = Experiment(
    id="dynamics/translation",
    paper=PAPER,
    figure="Fig. 1b",
    shows="Classifying digits with dense layers from an equivariant start: augmented training leaves E by "
    "sampling noise only, far more slowly than nominal training.",
    config=Translation,
    presets={
        "quick": Preset(
            Translation(
                size=7,
                images=300,
                channels=(4, 4),
                invariant=8,
                mnist="sample",
                runs=5,
                epochs=30,
                block=5,
                together=True,
                precision="double",
                check_runs=1,
            ),
            "a minute on one core",
        ),
        "paper": Preset(Translation(), "9 min on an H200"),
    },
    cells=_cells,
    measure=_cell,
    plot=_plots,
    claims=_claims,
)
