"""Tangent kernels of random networks over pairs of orbits: each alone, and averaged over initialisations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.kernels import empirical_ntk
from symscope.runs import CellContext, CellResults
from symscope_papers.digits import digits
from symscope_papers.spectral.networks.config import BUILDERS
from symscope_papers.spectral.own_kernels.config import OwnKernels
from symscope_papers.spectral.pairs.errors import pair_errors
from symscope_papers.spectral.pairs.orbits import digit_pairs, rotated
from symscope_papers.table_rows import rows_of

MEMORY = {"cpu": "1GB", "cuda": "8GB"}  # for Jacobians: small pieces would leave a GPU waiting
RIDGE = 1e-10  # of the trace: kernels of finite networks may be nearly singular


def cells(config: OwnKernels) -> list[dict[str, Any]]:
    """One cell for each network and number of angles: all its initialisations, which are averaged."""
    digits(config.mnist)  # missing files are reported before anything runs
    return [{"network": name, "angles": n} for name in config.networks for n in config.angles]


def measure_cell(config: OwnKernels, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Errors of every pair, for kernels of single starts and for means of 1, 2, 4 .. of them."""
    data = digits(config.mnist)
    chosen = digit_pairs(data, config.pairs, context.run_seed)
    side = data.x.shape[-1]
    points = rotated(data.x[chosen].to(context.device), cell["angles"], config.centred)
    images = points.flatten(1, 2).unflatten(-1, (1, side, side))
    rows: list[dict[str, Any]] = []
    total: Float[Tensor, "pairs p p"] | None = None
    for start in range(config.starts):
        net = BUILDERS[cell["network"]](context.seed % 2**31 + start, torch.float64).to(context.device)
        gram = empirical_ntk(net, memory=MEMORY[images.device.type]).batched(images)
        rows += _rows(gram, start, 1)
        total = gram if total is None else total + gram
        count = start + 1
        if count & (count - 1) == 0 or count == config.starts:
            rows += _rows(total / count, -1, count)
    return {"pairs": rows}


def _rows(gram: Float[Tensor, "pairs p p"], start: int, averaged: int) -> list[dict[str, Any]]:
    """A row per pair; `start` is -1 for means over starts."""
    errors = pair_errors(gram, RIDGE).columns()
    columns = {"pair": torch.arange(len(gram)), **{name: errors[name].cpu() for name in KEPT}}
    return rows_of(columns, start=start, averaged=averaged)


KEPT = ("exact", "spectral", "projected", "departure", "orbit_gap")
