"""Eigenvalues of the empirical weights kernel of small networks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from symscope.data.synthetic import permuted_cube
from symscope.kernels.finite import weights_kernel_product
from symscope.linear.weights_spectrum import ewk_spectrum
from symscope.networks.architectures import seeded_weights
from symscope.runs import CellContext, CellResults
from symscope_papers.linear.ewk_spectrum.config import ACTIVATIONS, SMALL, Ewk


def network(width: int, activation: str, start: str, seed: int) -> nn.Sequential:
    """The network 3-width-1 of Fig. 5.

    >>> sum(w.numel() for w in network(100, "relu", "default", 0).parameters())
    501
    """
    with seeded_weights(seed):
        net = nn.Sequential(nn.Linear(3, width), ACTIVATIONS[activation](), nn.Linear(width, 1))
        if start == "normal":
            for weight in net.parameters():
                nn.init.normal_(weight)
    return net


def rescalings(net: nn.Sequential) -> Tensor:
    """The direction along which each ReLU unit is scaled up before and down after, `[units, weights]`.

    The function does not change along it, so every gradient is orthogonal to it.
    """
    first, last = net[0], net[2]
    assert isinstance(first, nn.Linear)
    assert isinstance(last, nn.Linear)
    into, bias, out = first.weight.detach(), first.bias.detach(), last.weight.detach()[0]
    eye = torch.eye(len(bias), dtype=bias.dtype, device=bias.device)
    rows = [(eye[:, :, None] * into).flatten(1), eye * bias, -eye * out, torch.zeros_like(bias)[:, None]]
    return torch.cat(rows, dim=1)


def counted_zeros(net: nn.Sequential, x: Tensor) -> int:
    """The zeros a ReLU network must have, without any eigenvalue.

    A unit whose edge passes between the points adds the four functions `(x, 1)` on one side of it; its fifth
    gradient is a combination of those. Units active on all points share the same four, silent ones add none.
    """
    with torch.no_grad():
        active = net[0](x) > 0
    always, crossing = active.all(0), active.any(0) & ~active.all(0)
    inputs = x.shape[1] + 1
    rank = inputs * int(crossing.sum()) + (inputs if bool(always.any()) else 1)  # the last bias, if alone
    return sum(w.numel() for w in net.parameters()) - rank


def cells(config: Ewk) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [
        {"activation": activation, "start": start, "network": n}
        for activation in config.activations
        for start in config.starts
        for n in range(config.networks)
    ]


def measure_cell(config: Ewk, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    seed = 1000 * context.run_seed + cell["network"]
    net = network(config.width, cell["activation"], cell["start"], seed).to(context.device)
    x = permuted_cube(config.points, seed).features.to(context.device)
    spectrum = ewk_spectrum(
        net, x, learning_rate=config.learning_rate, steps=config.epochs, remaining=config.remaining
    )
    residual = counted = math.nan
    if cell["activation"] == "relu":
        counted = counted_zeros(net, x)
        directions = rescalings(net)[:3]  # the product costs a pass over all points
        images = torch.stack([weights_kernel_product(net, x, v) for v in directions])
        residual = float((images.norm(dim=1) / directions.norm(dim=1)).max() / spectrum.values[0])
    summary = {
        "weights": len(spectrum.values),
        "largest": float(spectrum.values[0]),
        "small": spectrum.share_below(SMALL, of_nonzero=False),
        "small_of_nonzero": spectrum.share_below(SMALL, of_nonzero=True),
        "slow": spectrum.share_below(spectrum.slow_below, of_nonzero=False),
        "zeros": spectrum.zeros,
        "zero_share": spectrum.zero_share,
        "decades": spectrum.decades,
        "counted_zeros": counted,
        "rescaling_residual": residual,
    }
    return {"summary": [summary], "eigenvalues": [{"value": float(v)} for v in spectrum.values]}
