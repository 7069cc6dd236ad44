"""Errors of trained networks at the image they have not seen, beside those of theory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.kernels import infinite_width
from symscope.networks.architectures import mlp
from symscope.numerics import seeded
from symscope.runs import CellContext, CellResults
from symscope_papers.digits import digits
from symscope_papers.spectral.pairs.errors import exact_errors, pair_errors
from symscope_papers.spectral.pairs.orbits import digit_pairs, orbit_signs, rotated
from symscope_papers.spectral.trained.config import Trained
from symscope_papers.spectral.trained.full_batch import FullBatch, TrainedCopies, train_copies
from symscope_papers.spectral.wide_networks import mlp_kernels
from symscope_papers.table_rows import rows_of

RIDGE = 0.0


def cells(config: Trained) -> list[dict[str, Any]]:
    """One cell for each run, number of angles and part of the pairs."""
    digits(config.mnist)  # missing files are reported before anything runs
    parts = range(-(-config.pairs // config.at_once))
    return [
        {"run": run, "angles": n, "part": part}
        for run in config.runs
        for n in config.angles
        for part in parts
    ]


def measure_cell(config: Trained, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Two networks for each pair, trained, and what theory predicts for them."""
    data = digits(config.mnist)
    mine = slice(cell["part"] * config.at_once, min((cell["part"] + 1) * config.at_once, config.pairs))
    chosen = digit_pairs(data, config.pairs, context.run_seed)[mine]
    points = rotated(data.x[chosen].to(context.device), cell["angles"], config.centred)
    copies = torch.randint(2**31, (config.pairs, 2), generator=seeded(context.run_seed, 3))[mine]
    settings = FullBatch(config.epochs, config.optimiser(cell["run"]), config.tolerance, look_every=10)
    trained, errors = trained_errors(config.network(cell["run"]), points, settings, copies.flatten().tolist())
    theory = pair_errors(mlp_kernels(1).ntk.batched(points.flatten(1, 2)), RIDGE)
    own = _own_kernel_errors(points, cell["run"], config.width)
    columns = {
        "pair": torch.arange(mine.start, mine.stop),
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
    return {"pairs": rows_of(columns)}


def trained_errors(
    network: Callable[[int], nn.Module],
    points: Float[Tensor, "pairs 2 n pixels"],
    settings: FullBatch,
    seeds: list[int],
) -> tuple[TrainedCopies, Float[Tensor, "pairs 2"]]:
    """Two networks for each pair, all trained at once, each without the upright image of one digit.

    Args:
        network: Makes a network from a seed.
        points: Orbits of every pair.
        settings: Settings of the training.
        seeds: Two random seeds for each pair.

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
    """The symmetrised error of regression with the NTK of the parameterisation that was trained.

    The scripts' weights have other variances than the paper's kernel; the kernel compared is the paper's.
    """
    if run.startswith(("ntk", "authors")):
        kernel = mlp_kernels(1).ntk
    else:
        kernel = infinite_width(mlp((784, width, 1)), parameterisation="standard").ntk
    return exact_errors(kernel.batched(points.flatten(1, 2)), RIDGE)[:, :, 0].mean(1)
