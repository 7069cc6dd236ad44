"""Untrained outputs, distance from the linearised network, and the conjugate kernel before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from symscope.data.synthetic import permuted_cube
from symscope.kernels import weights_kernel
from symscope.kernels.finite import empirical_ntk_eigenpairs
from symscope.linear.linearised import linearised_network
from symscope.networks.architectures import mlp, seeded_weights
from symscope.runs import CellContext, CellResults
from symscope_papers.linear.kernelised.elements import activation_features
from symscope_papers.linear.wide.config import Wide

SMALL_WIDTH = 10  # 51 weights: their kernel is dense, and overparameterised on 6 points


def network(shape: tuple[int, ...], kind: str, seed: int) -> nn.Sequential:
    """A ReLU network with PyTorch's initialisation or He's.

    >>> float(network((3, 10_000, 1), "he", 0)[1].weight.square().mean().detach().round(decimals=2))
    0.67
    """
    net = mlp(shape, seed=seed)
    if kind == "he":
        with seeded_weights(seed):
            for layer in net:
                if isinstance(layer, nn.Linear):
                    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                    nn.init.zeros_(layer.bias)
    return net


def cells(config: Wide) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [
        {"initialisation": kind, "depth": depth, "width": width, "network": n}
        for kind in config.initialisations
        for depth in config.depths
        for width in config.widths
        for n in range(config.networks)
    ]


def measure_cell(config: Wide, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    seed = 1000 * context.run_seed + cell["network"]
    shape = (3, *[cell["width"]] * cell["depth"], 1)
    toy = permuted_cube(config.orbits, seed).completed()
    fresh = permuted_cube(config.held_out, seed + 500).features.to(context.device)
    x, y = toy.features.to(context.device), toy.targets.to(context.device)
    kind = cell["initialisation"]
    net = network(shape, kind, seed).to(context.device)
    largest = float(empirical_ntk_eigenpairs(net, x, 1, seed=0).values[0])
    rate = config.stability * 2 / largest
    with torch.no_grad():
        start = net(fresh)[:, 0]
    lin = linearised_network(net, x, y, learning_rate=rate, loss="half sum")
    predicted = lin.training(fresh, [config.steps])[0, :, 0]
    before = _conjugate_spectrum(net, x)
    _train(net, x, y, rate, config.steps)
    after = _conjugate_spectrum(net, x)
    with torch.no_grad():
        end = net(fresh)[:, 0]
    row = {
        "linear_gap": float((end - predicted).norm() / (end - start).norm()),
        "kernel_shift": float((after - before).norm() / before.norm()),
        "small_share": float((before < 0.01 * before[0]).double().mean()),
    }
    result: dict[str, list[dict[str, Any]]] = {"trained": [row]}
    if cell["network"] == 0:  # one cell of every shape draws all untrained networks
        result["starts"] = _starts(shape, kind, config.starts, fresh, 10_000 * (1 + context.run_seed))
        if cell["width"] == config.widths[0]:
            result["ranks"] = [_weights_rank(cell["depth"], seed)]
    return result


def _starts(shape: tuple[int, ...], kind: str, count: int, x: Tensor, seed: int) -> list[dict[str, Any]]:
    """The mean square of f_0 over the inputs, a row per untrained network."""
    rows = []
    for n in range(count):
        with torch.no_grad():
            rows.append(
                {"start": n, "square": float(network(shape, kind, seed + n).to(x)(x).square().mean())}
            )
    return rows


def _train(net: nn.Module, x: Tensor, y: Tensor, rate: float, steps: int) -> None:
    optimiser = torch.optim.SGD(net.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        ((net(x)[:, 0] - y).square().sum() / 2).backward()
        optimiser.step()


def _conjugate_spectrum(net: nn.Module, x: Tensor) -> Tensor:
    """Eigenvalues of `X_L^T X_L`, descending: squares of the singular values of the last activations."""
    return torch.linalg.svdvals(activation_features(net)(x)).square()


def _weights_rank(depth: int, seed: int) -> dict[str, int]:
    """Rank of the weights kernel of an overparameterised network."""
    net = mlp((3, *[SMALL_WIDTH] * depth, 1), seed=seed)
    x = permuted_cube(6, seed).features
    kernel = weights_kernel(net, x)
    rank = int(torch.linalg.matrix_rank(kernel, hermitian=True))
    return {"rank": rank, "samples": len(x), "weights": len(kernel)}
