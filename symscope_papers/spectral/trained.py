"""Networks trained on pairs of rotated digits, against the theory of wide ones (Fig. 5B, 11, App. E).

Two parameterisations of the same 784-512-1 network are trained. "pytorch" is `nn.Linear` with its default
initialisation, what a reader of the paper would train; it fits a pair in about a hundred epochs. "ntk" is
the parameterisation whose infinite-width limit the paper's kernel is (App. B.2, w_std = b_std = 1): on images
of unit norm its first layer moves little, it needs the paper's 2,000 epochs of Adam, and gradient descent
does not fit a pair in any number of epochs one would wait for, so that it is trained with Adam alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.errors import InputError, nearest
from symscope.kernels import infinite_width
from symscope.networks import mlp, pair_mlp
from symscope.numerics import seeded
from symscope.runs import Claim, Experiment, Preset, Results, Surroundings, Tables, above, holds, unchecked
from symscope.training import FullBatch, Optimiser, TrainedCopies, train_copies
from symscope_papers.digits import digits
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.pairs.angles import by_angles
from symscope_papers.spectral.rotated_pairs import (
    digit_pairs,
    exact_errors,
    mlp_kernels,
    orbit_signs,
    pair_errors,
    rotated,
)
from symscope_papers.spectral.trained_figures import RUNS, plots

RIDGE = 0.0
RANKS = 0.7  # Spearman's rho for what the paper calls qualitative agreement
SIDE = 0.8  # share of pairs on the same side of 1


@final
@dataclass(frozen=True)
class Trained:
    """Config of `spectral/trained`.

    Attributes:
        mnist: Which digits: "sample" (bundled), "fetched" (by `symscope data fetch mnist`) or a folder.
        pairs: Random pairs of digits of different classes; each is trained on twice, once without the upright
            image of either digit.
        angles: Numbers of angles n.
        runs: "pytorch-adam", "pytorch-sgd", "ntk-adam": parameterisation and optimiser.
        width: Of the hidden layer.
        epochs: Full-batch steps at most.
        tolerance: A network is done when its mean squared error is at most this.
        adam_rate: Learning rate of Adam.
        sgd_rate: Learning rate of gradient descent.
        momentum: Of gradient descent.
        at_once: Pairs of one cell, trained together.
    """

    mnist: str = "sample"
    pairs: int = 512
    angles: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    runs: tuple[str, ...] = ("pytorch-adam", "pytorch-sgd", "ntk-adam")
    width: int = 512
    epochs: int = 2000
    tolerance: float = 1e-5
    adam_rate: float = 1e-3
    sgd_rate: float = 0.2
    momentum: float = 0.9
    at_once: int = 256

    def __post_init__(self) -> None:
        if self.pairs < 3:
            raise InputError(f"pairs: expected 3 or more to rank, got {self.pairs}")
        if not self.angles or min(self.angles) < 2 or len(set(self.angles)) < len(self.angles):
            raise InputError(f"angles: expected different numbers from 2 on, got {self.angles}")
        for run in self.runs:
            if run not in RUNS:
                raise InputError(f"runs: {run!r} is none of {', '.join(RUNS)}; {nearest(run, RUNS)}")
        if not self.runs or len(set(self.runs)) < len(self.runs):
            raise InputError(f"runs: expected different ones, at least one, got {self.runs}")
        if min(self.width, self.epochs, self.at_once) < 1:
            raise InputError("width, epochs and at_once start at 1")

    def optimiser(self, run: str) -> Optimiser:
        """What takes the steps of a run."""
        if run.endswith("adam"):
            return Optimiser("adam", self.adam_rate)
        return Optimiser("sgd", self.sgd_rate, momentum=self.momentum)

    def network(self, run: str) -> Callable[[int], nn.Module]:
        """The network of a run for a seed, in float32, PyTorch's own."""
        if run.startswith("ntk"):
            return lambda seed: pair_mlp(784, self.width, 1, seed=seed, dtype=torch.float32)
        return lambda seed: mlp((784, self.width, 1), seed=seed, dtype=torch.float32)


def _cells(config: Trained) -> list[dict[str, Any]]:
    digits(config.mnist)  # files that are not there are told before anything runs
    parts = range(-(-config.pairs // config.at_once))
    return [
        {"run": run, "angles": n, "part": part}
        for run in config.runs
        for n in config.angles
        for part in parts
    ]


def _cell(config: Trained, cell: Mapping[str, Any], surroundings: Surroundings) -> Results:
    data = digits(config.mnist)
    mine = slice(cell["part"] * config.at_once, min((cell["part"] + 1) * config.at_once, config.pairs))
    chosen = digit_pairs(data, config.pairs, surroundings.run_seed)[mine]
    points = rotated(data.x[chosen].to(surroundings.device), cell["angles"])
    copies = torch.randint(2**31, (config.pairs, 2), generator=seeded(surroundings.run_seed, 3))[mine]
    settings = FullBatch(config.epochs, config.optimiser(cell["run"]), config.tolerance, look_every=10)
    trained, errors = trained_errors(config.network(cell["run"]), points, settings, copies.flatten().tolist())
    theory = pair_errors(mlp_kernels(1).ntk.batched(points.flatten(1, 2)), RIDGE)
    own = _own_kernel_errors(points, cell["run"], config.width)
    columns = {
        "class_a": data.labels[chosen[:, 0]],
        "class_b": data.labels[chosen[:, 1]],
        "trained": errors.mean(1),
        "trained_a": errors[:, 0],
        "trained_b": errors[:, 1],
        "spectral": theory.spectral,
        "exact": theory.exact,
        "projected": theory.projected,
        "own_exact": own,
        "epochs": trained.epochs.unflatten(0, (-1, 2)).amax(1),
        "loss": trained.losses.unflatten(0, (-1, 2)).amax(1),
        "converged": trained.converged.unflatten(0, (-1, 2)).all(1),
    }
    lists = {name: values.tolist() for name, values in columns.items()}
    return {
        "pairs": [
            {"pair": mine.start + i, **{name: values[i] for name, values in lists.items()}}
            for i in range(len(chosen))
        ]
    }


def trained_errors(
    network: Callable[[int], nn.Module],
    points: Float[Tensor, "pairs 2 n pixels"],
    settings: FullBatch,
    seeds: list[int],
) -> tuple[TrainedCopies, Float[Tensor, "pairs 2"]]:
    """Two networks for each pair, all trained at once, each without the upright image of one digit.

    Args:
        network: A network for a seed.
        points: Orbits of every pair.
        settings: How to train.
        seeds: Two for each pair.

    Returns:
        The networks, and `1 - y f(x)` at the image each has not seen.
    """
    n = points.shape[2]
    flat = points.flatten(1, 2).float()
    seen = torch.stack([torch.arange(2 * n)[torch.arange(2 * n) != missing] for missing in (0, n)])
    seen = seen.to(points.device)
    signs = orbit_signs(n).to(flat)
    x = flat[:, seen].flatten(0, 1)
    trained = train_copies(network, x, signs[seen].repeat(len(flat), 1), settings, seeds)
    unseen = flat[:, [0, n]].flatten(0, 1)[:, None]
    outputs = trained.stack.outputs(unseen).reshape(-1, 2)
    return trained, (1 - signs[[0, n]] * outputs).double()


def _own_kernel_errors(
    points: Float[Tensor, "pairs 2 n pixels"], run: str, width: int
) -> Float[Tensor, "pairs"]:
    """The symmetrised error of regression with the NTK of the parameterisation that was trained."""
    if run.startswith("ntk"):
        kernel = mlp_kernels(1).ntk
    else:
        kernel = infinite_width(mlp((784, width, 1)), parameterisation="standard").ntk
    return exact_errors(kernel.batched(points.flatten(1, 2)), RIDGE)[:, :, 0].mean(1)


def claims(config: Trained, tables: Tables) -> list[Claim]:
    """The claims of Fig. 5B and 11 for each run."""
    table = tables["pairs"]
    found: list[Claim] = []
    for run in config.runs:
        mine = table[table["run"] == run]
        name, source = RUNS[run]
        rho = partial(_rho_by_angles, mine)
        ranks, own = rho("spectral"), rho("own_exact")
        each = ", ".join(f"{value:.2f} at n = {n}" for n, value in ranks.items())
        each_own = ", ".join(f"{value:.2f} at n = {n}" for n, value in own.items())
        done = mine["converged"].mean()
        why = (
            f"Smallest Spearman rho over n: {each}; with the exact error of the network's own infinite-width "
            f"kernel: {each_own}. {mine['pair'].nunique()} pairs, {done:.0%} trained to a mean squared error "
            f"of {config.tolerance:g} in {config.epochs} epochs. Threshold is ours."
        )
        found.append(
            above(
                f"The spectral error ranks pairs as trained networks do at every number of angles ({name}).",
                source,
                min(ranks.values()),
                RANKS,
                why=why,
            )
        )
        same = float(((mine["spectral"] > 1) == (mine["trained"] > 1)).mean())
        found.append(
            above(
                f"The spectral error tells which pairs trained networks get right ({name}).",
                source,
                same,
                SIDE,
                why="Share of pairs, over all n, on the same side of 1. Threshold is ours.",
            )
        )
        found.append(_falls(mine, name, source))
    return found


def _rho_by_angles(mine: Any, column: str) -> dict[int, float]:
    return {
        n: float(part["trained"].corr(part[column], method="spearman")) for n, part in by_angles(mine).items()
    }


def _falls(mine: Any, name: str, source: str) -> Claim:
    statement = f"Trained networks predict the missing image better the more angles there are ({name})."
    means = {n: float(part["trained"].mean()) for n, part in by_angles(mine).items()}
    if len(means) < 2:
        return unchecked(statement, source, "needs two numbers of angles")
    values = list(means.values())
    good = all(later < earlier for earlier, later in pairwise(values))
    words = ", ".join(f"{value:.2f} at n = {n}" for n, value in means.items())
    return holds(statement, source, good, measured=f"mean error {words}", threshold="falls with every n")


trained_pairs = Experiment(
    id="spectral/trained",
    paper=PAPER,
    figure="Fig. 5B, 11, App. E",
    shows="Which pairs trained networks of finite width fail on, against what the spectral error says.",
    config=Trained,
    presets={
        "quick": Preset(
            Trained(
                pairs=24,
                angles=(4, 8, 16),
                runs=("pytorch-adam", "pytorch-sgd"),
                width=256,
                tolerance=1e-4,
                at_once=24,
            ),
            "a minute on two cores",
        ),
        "paper": Preset(Trained(mnist="fetched"), "about 5 minutes on an H200, hours on two cores"),
    },
    cells=_cells,
    measure=_cell,
    plot=plots,
    claims=claims,
)
