"""Errors of pairs of rotated digits, for every read-out of a convolutional network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from symscope.runs import CellContext, CellResults
from symscope.spectral.circulant import inverse_spectrum
from symscope_papers.digits import digits
from symscope_papers.spectral.conv_rotations.config import ConvRotations
from symscope_papers.spectral.pairs.errors import PairErrors, pair_errors
from symscope_papers.spectral.pairs.orbits import digit_pairs, pair_geometry, rotated
from symscope_papers.spectral.wide_networks import READOUTS, SIDE, conv_kernels, pooled_apart
from symscope_papers.table_rows import rows_of

RIDGE = 0.0


def cells(config: ConvRotations) -> list[dict[str, Any]]:
    """One cell for each side of the filters, read-out and number of angles."""
    return [
        {"readout": readout, "filter": side, "angles": n}
        for side in config.filters
        for readout in READOUTS
        for n in config.angles
    ]


def measure_cell(config: ConvRotations, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Errors and geometry of all pairs, and the inverse spectrum of one."""
    data = digits(config.mnist)
    count = config.pairs if cell["readout"] == "fc" else config.pooled_pairs
    chosen = digit_pairs(data, count, context.run_seed)
    points = rotated(data.x[chosen].to(context.device), cell["angles"])
    apart = cell["readout"] == "gap-apart"
    kernel = pooled_apart(cell["filter"]) if apart else conv_kernels(cell["readout"], cell["filter"]).ntk
    result = pair_errors(kernel.batched(points.flatten(1, 2).unflatten(2, (1, SIDE, SIDE))), RIDGE)
    separation, density = pair_geometry(points)
    columns = {
        "pair": torch.arange(count),
        "class_a": data.labels[chosen[:, 0]],
        "class_b": data.labels[chosen[:, 1]],
        **result.columns(),
        "separation": separation,
        "density": density,
    }
    return {"pairs": rows_of(columns), "spectra": _spectra(result)}


def _spectra(result: PairErrors) -> list[dict[str, Any]]:
    """The inverse spectrum of the pair whose error is in the middle."""
    pair = int(result.exact.argsort()[len(result.exact) // 2])
    inverse = inverse_spectrum(result.spectra[pair], RIDGE).tolist()
    return [
        {"pair": pair, "frequency": f, "inverse_lambda": inverse[f]} for f in range(len(inverse) // 2 + 1)
    ]
