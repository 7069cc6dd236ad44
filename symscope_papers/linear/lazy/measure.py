"""Asymmetry, weights and kernel of networks trained at several output scales."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from symscope.data.synthetic import permuted_cube
from symscope.kernels.finite import weights_kernel_eigenpairs
from symscope.linear import AsymmetryTracker
from symscope.networks.architectures import mlp
from symscope.runs import CellContext, CellResults
from symscope_papers.linear.lazy.config import PLAIN, Lazy
from symscope_papers.linear.lazy.network import LazyNetwork, kernel_change, lazy_loss


def cells(config: Lazy) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [{"alpha": alpha, "network": n} for alpha in config.alphas for n in range(config.networks)]


def measure_cell(config: Lazy, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    seed = 1000 * context.run_seed + cell["network"]
    toy = permuted_cube(config.orbits, seed).completed()
    fresh = permuted_cube(config.held_out, seed + 500)
    device, alpha = context.device, float(cell["alpha"])
    net = mlp((3, config.width, 1), seed=seed).to(device)
    x, y = toy.features.to(device), toy.targets.to(device)
    largest = float(weights_kernel_eigenpairs(net, x, 1, seed=0).values[0])
    rate = config.stability * 2 / largest
    before = mlp((3, config.width, 1), seed=seed).to(device)
    model: nn.Module = net if alpha == PLAIN else LazyNetwork(net, alpha)
    tracker = AsymmetryTracker(model, fresh.features.to(device), toy.group.to(device))
    final = _train(model, tracker, x, y, rate, alpha, config.steps)
    scale = 1.0 if alpha == PLAIN else alpha
    steps = [*(record.step for record in tracker.records), math.inf]
    theory = tracker.predict(x, y, learning_rate=rate / scale**2, loss="half sum", steps=steps)
    spread = float(fresh.targets.std())
    curve = [
        {
            "step": int(measured.step),
            "asymmetry": measured.asymmetry / spread,
            "theory": predicted.asymmetry / spread,
            "symmetric": measured.symmetric,
        }
        for measured, predicted in zip(tracker.records, theory, strict=False)
    ]
    end = {
        "asymmetry": curve[-1]["asymmetry"],
        "theory": curve[-1]["theory"],
        "limit": theory[-1].asymmetry / spread,
        "peak": max(row["asymmetry"] for row in curve),
        "error": math.sqrt(2 * final / len(x)) / spread,
        "weight_change": _weight_change(before, net),
        "kernel_change": kernel_change(before, net, fresh.features.to(device)),
        "switched": _switched(before, net, x),
        "learning_rate": rate,
        "weights": sum(w.numel() for w in net.parameters()),
        "rows": len(x),
    }
    return {"curves": curve, "ends": [end]}


def _train(
    model: nn.Module,
    tracker: AsymmetryTracker,
    x: torch.Tensor,
    y: torch.Tensor,
    rate: float,
    alpha: float,
    steps: int,
) -> float:
    """Full-batch gradient descent, recorded at steps of equal ratio; the last loss, `1/2 sum |f - y|^2`."""
    looks = {round(steps ** (i / 24)) for i in range(25)}
    optimiser = torch.optim.SGD([w for w in model.parameters() if w.requires_grad], lr=rate)
    for step in range(1, steps + 1):
        optimiser.zero_grad()
        loss = (model(x)[:, 0] - y).square().sum() / 2
        (loss if alpha == PLAIN else lazy_loss(loss, alpha)).backward()
        optimiser.step()
        if step in looks:
            tracker.record(step)
    return float(loss.detach())


def _weight_change(before: nn.Module, after: nn.Module) -> float:
    with torch.no_grad():
        first = nn.utils.parameters_to_vector(before.parameters())
        return float((nn.utils.parameters_to_vector(after.parameters()) - first).norm() / first.norm())


def _switched(before: nn.Sequential, after: nn.Sequential, x: torch.Tensor) -> int:
    """Number of pairs of a point and a hidden unit have changed sides of their ReLU."""
    with torch.no_grad():
        first, last = (net[:2](x) > 0 for net in (before, after))  # up to the ReLU
    return int((first != last).sum())
