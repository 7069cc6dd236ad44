"""Errors of pairs of rotated digits, for every read-out of a convolutional network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from symscope.kernels import Kernel
from symscope.runs import CellContext, CellResults
from symscope.spectral.circulant import inverse_spectrum
from symscope_papers.digits import digits
from symscope_papers.spectral.conv_rotations.config import ConvRotations
from symscope_papers.spectral.pairs.errors import PairErrors, exact_errors, pair_errors
from symscope_papers.spectral.pairs.orbits import digit_pairs, pair_geometry, rotated
from symscope_papers.spectral.wide_networks import READOUTS, SIDE, conv_kernels, mlp_kernels, pooled_apart
from symscope_papers.table_rows import rows_of


def cells(config: ConvRotations) -> list[dict[str, Any]]:
    """One cell for each side of the filters, read-out and number of angles."""
    return [
        {"readout": readout, "filter": side, "angles": n}
        for side in config.filters
        for readout in READOUTS
        for n in config.angles
    ]


def measure_cell(config: ConvRotations, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Errors and geometry of all pairs, the inverse spectrum of one; at `shown` with the NNGP kernel too."""
    data = digits(config.mnist)
    count = config.pairs if cell["readout"] == "fc" else config.pooled_pairs
    chosen = digit_pairs(data, count, context.run_seed)
    points = rotated(data.x[chosen].to(context.device), cell["angles"], config.centred)
    separation, density = pair_geometry(points)
    shared = {
        "pair": torch.arange(count),
        "class_a": data.labels[chosen[:, 0]],
        "class_b": data.labels[chosen[:, 1]],
        "separation": separation,
        "density": density,
        "mlp": exact_errors(mlp_kernels(1).ntk.batched(points.flatten(1, 2)), 0.0)[:, :, 0].mean(1),
    }
    images = points.flatten(1, 2).unflatten(2, (1, SIDE, SIDE))
    rows: list[dict[str, Any]] = []
    for name in ("NTK", "NNGP") if cell["angles"] == config.shown else ("NTK",):
        gram = _kernel(cell["readout"], cell["filter"], name.lower()).batched(images)
        result = pair_errors(gram, config.relative_ridge, config.spectral_ridge)
        rows += rows_of({**shared, **result.columns()}, kernel=name)
        if name == "NTK":
            spectra = _spectra(result)
    return {"pairs": rows, "spectra": spectra}


def _kernel(readout: str, filter: int, limit: str) -> Kernel:
    if readout == "gap-apart":
        return pooled_apart(filter, limit=limit)
    wide = conv_kernels(readout, filter)
    return wide.ntk if limit == "ntk" else wide.nngp


def _spectra(result: PairErrors) -> list[dict[str, Any]]:
    """The inverse spectrum of the pair whose error is in the middle."""
    pair = int(result.exact.argsort()[len(result.exact) // 2])
    inverse = inverse_spectrum(result.spectra[pair], 0.0).tolist()
    return [
        {"pair": pair, "frequency": f, "inverse_lambda": inverse[f]} for f in range(len(inverse) // 2 + 1)
    ]
