"""Config of `spectral/trained`.

The same 784-512-1 network is trained in three ways. "ntk" is the parameterisation whose infinite-width limit
the paper's kernel is (App. B.2, w_std = b_std = 1), with normal weights: on images of unit norm its first
layer moves little, it needs 2,000 epochs of Adam, and gradient descent does not fit a pair in any number of
epochs one would wait for. "authors" is the same with the scripts' weights, uniform up to 1 / sqrt(outputs).
"pytorch" is `nn.Linear` with its default initialisation; it fits a pair in about a hundred epochs. The paper
trains with Adam (App. E); gradient descent is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from torch import nn

from symscope.networks.architectures import mlp, pair_mlp
from symscope.training import Optimiser
from symscope_papers.config_bounds import check_at_least, check_distinct, check_one_of
from symscope_papers.spectral.authors import scripts_weights

RUNS = {  # what a run is called, and where the paper has it
    "ntk-adam": ("NTK parameterisation, Adam", "Sec. 3.3, Fig. 5B, 11"),
    "authors-adam": ("NTK parameterisation, the scripts' weights, Adam", "Sec. 3.3, Fig. 5B, 11"),
    "pytorch-adam": ("PyTorch parameterisation, Adam", ""),
    "pytorch-sgd": ("PyTorch parameterisation, gradient descent", ""),
}


@final
@dataclass(frozen=True)
class Trained:
    """Config of `spectral/trained`.

    Attributes:
        mnist: Which digits: "sample" (bundled), "fetched" (by `symscope data fetch mnist`) or a folder.
        pairs: Random pairs of digits of different classes; each is trained on twice, once without the upright
            image of either digit.
        angles: Numbers of angles n.
        runs: "ntk-adam", "authors-adam", "pytorch-adam", "pytorch-sgd": network and optimiser.
        centred: Subtract each image's mean before it is normalised.
        width: Width of the hidden layer.
        epochs: Most full-batch steps.
        tolerance: A network is done when its mean squared error is at most this.
        adam_rate: Learning rate of Adam.
        sgd_rate: Learning rate of gradient descent.
        momentum: Momentum of gradient descent.
        at_once: Number of pairs of one cell, trained together.
    """

    mnist: str = "sample"
    pairs: int = 512
    angles: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    runs: tuple[str, ...] = ("ntk-adam",)
    centred: bool = False
    width: int = 512
    epochs: int = 2000
    tolerance: float = 1e-5
    adam_rate: float = 1e-3
    sgd_rate: float = 0.2
    momentum: float = 0.9
    at_once: int = 256

    def __post_init__(self) -> None:
        check_at_least(self, 3, "pairs")  # fewer cannot be ranked
        check_at_least(self, 2, "angles")
        check_one_of(self, RUNS, "runs")
        check_distinct(self, "angles", "runs")
        check_at_least(self, 1, "width", "epochs", "at_once")

    def optimiser(self, run: str) -> Optimiser:
        """What takes the steps of a run."""
        if run.endswith("adam"):
            return Optimiser("adam", self.adam_rate)
        return Optimiser("sgd", self.sgd_rate, momentum=self.momentum)

    def network(self, run: str) -> Callable[[int], nn.Module]:
        """The network of a run for a seed, in float32, PyTorch's own."""
        if run == "authors-adam":
            return lambda seed: scripts_weights(pair_mlp(784, self.width, 1, dtype=torch.float32), seed)
        if run.startswith("ntk"):
            return lambda seed: pair_mlp(784, self.width, 1, seed=seed, dtype=torch.float32)
        return lambda seed: mlp((784, self.width, 1), seed=seed, dtype=torch.float32)
