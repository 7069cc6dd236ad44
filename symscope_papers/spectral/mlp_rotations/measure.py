"""Errors of pairs of rotated digits, of the NTK and of the NNGP kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.runs import CellContext, CellResults
from symscope.spectral.circulant import inverse_spectrum
from symscope_papers.digits import digits
from symscope_papers.spectral.mlp_rotations.config import MlpRotations
from symscope_papers.spectral.pairs.errors import PairErrors, pair_errors, pair_profiles, pair_spectra
from symscope_papers.spectral.pairs.orbits import digit_pairs, neighbour_products, pair_geometry, rotated
from symscope_papers.spectral.wide_networks import mlp_kernels
from symscope_papers.table_rows import rows_of


def cells(config: MlpRotations) -> list[dict[str, Any]]:
    """One cell for each depth and number of angles."""
    digits(config.mnist)  # missing files are reported before anything runs
    return [{"hidden": hidden, "angles": n} for hidden in config.hidden for n in config.angles]


def measure_cell(config: MlpRotations, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Errors and geometry of all pairs; three inverse spectra; the matrices of one pair."""
    data = digits(config.mnist)
    chosen = digit_pairs(data, config.pairs, context.run_seed)
    points = rotated(data.x[chosen].to(context.device), cell["angles"], config.centred)
    wide = mlp_kernels(cell["hidden"])
    separation, density = pair_geometry(points)
    classes = {"class_a": data.labels[chosen[:, 0]], "class_b": data.labels[chosen[:, 1]]}
    geometry = {**classes, "separation": separation, "density": density, **neighbour_products(points)}
    rows: list[dict[str, Any]] = []
    for name, kernel in (("NTK", wide.ntk), ("NNGP", wide.nngp)):
        gram = kernel.batched(points.flatten(1, 2))
        result = pair_errors(gram, config.relative_ridge, config.spectral_ridge)
        rows += rows_of({"pair": torch.arange(config.pairs), **result.columns(), **geometry}, kernel=name)
        if name == "NTK":
            spectra = _spectra(result)
            matrices = _matrices(gram[0]) if cell["angles"] == config.shown else []
    return {"pairs": rows, "spectra": spectra, "matrices": matrices}


def _spectra(result: PairErrors) -> list[dict[str, Any]]:
    """The inverse spectra of three pairs: the best predicted, the one nearest to the border, the worst."""
    chosen = [int(result.exact.argmin()), int((result.exact - 1).abs().argmin()), int(result.exact.argmax())]
    half = result.spectra.shape[1] // 2
    inverse = inverse_spectrum(result.spectra, 0.0)
    return [
        {"place": place, "pair": pair, "frequency": f, "inverse_lambda": inverse[pair, f]}
        for place, pair in zip(("best", "border", "worst"), chosen, strict=True)
        for f in range(half + 1)
    ]


def _matrices(gram: Float[Tensor, "p p"]) -> list[dict[str, Any]]:
    """One pair's kernel, interleaved as A0, B0, A1, .., beside the two it is replaced by."""
    n = len(gram) // 2
    order = torch.arange(2 * n).reshape(2, n).T.flatten()
    profile = pair_profiles(gram[None])[0].cpu()
    row = torch.fft.ifft(pair_spectra(profile[None])[0]).real
    gram = gram.cpu()[order][:, order]
    rows = []
    for i in range(2 * n):
        for j in range(2 * n):
            (g, s), (h, t) = divmod(i, 2), divmod(j, 2)
            rows.append(
                {
                    "row": i,
                    "column": j,
                    "kernel": gram[i, j],
                    "circularised": row[(j - i) % (2 * n)],
                    "projected": profile[s, t, (h - g) % n],
                }
            )
    return rows
