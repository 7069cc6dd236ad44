"""Residuals at missing points: by the linear system of App. A.1, and by kernel regression."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.data.synthetic import circles
from symscope.kernels.classical import rbf_kernel
from symscope.runs import CellContext, CellResults
from symscope.spectral.circulant import circulant_row, circulant_spectrum, spectral_error, spectral_residual
from symscope.spectral.dense import regression
from symscope_papers.digits import digits
from symscope_papers.spectral.missing.config import Missing
from symscope_papers.spectral.pairs.orbits import digit_pairs, rotated
from symscope_papers.spectral.wide_networks import mlp_kernels


def cells(config: Missing) -> list[dict[str, Any]]:
    """One cell for each number of missing points and kind of pattern."""
    kinds = [
        ("circles", "random"),
        ("circles", "arc"),
        *([("digits", "random")] if config.digit_pairs else []),
    ]
    return [{"missing": count, "data": data, "kind": kind} for count in config.counts for data, kind in kinds]


def _patterns(count: int, kind: str, total: int, patterns: int, seed: int) -> list[Int64[Tensor, "missing"]]:
    """Random subsets of all points, or one arc of neighbours (all arcs of one length are alike)."""
    if kind == "arc":
        return [torch.arange(count)]
    generator = torch.Generator().manual_seed(seed)
    return [torch.randperm(total, generator=generator)[:count] for _ in range(patterns)]


def measure_cell(config: Missing, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Errors of every pattern, by formula and by regression."""
    on_digits = cell["data"] == "digits"
    count = config.digit_pairs if on_digits else config.patterns
    chosen = _patterns(cell["missing"], cell["kind"], 2 * config.points, count, context.seed)
    grams = _digit_grams(config, context) if on_digits else [_circle_gram(config)] * len(chosen)
    labels = 1.0 - 2.0 * (torch.arange(2 * config.points) % 2).to(torch.float64)
    rows = []
    for number, (gram, missing) in enumerate(zip(grams, chosen, strict=True)):
        row = circulant_row(gram)
        spectrum, nearest = circulant_spectrum(row), torch.stack([row.roll(k) for k in range(len(row))])
        ridge = config.relative_ridge * float(gram.trace())
        formula = spectral_residual(spectrum, labels, missing, ridge)
        # with the circulant kernel the two are equal; with the kernel itself they are what A.1 approximates
        solved, itself = (labels[missing] - regression(k, labels, missing, ridge) for k in (nearest, gram))
        errors = labels[missing] * formula
        rows.append(
            {
                "pattern": number,
                "points": missing.tolist(),
                "mean_error": errors.mean(),
                "kernel_error": (labels[missing] * itself).mean(),
                "wrong": (errors > 1).double().mean(),
                "difference": (formula - solved).abs().max(),
                "spectral_error": spectral_error(spectrum, ridge),
            }
        )
    return {"patterns": rows}


def _circle_gram(config: Missing) -> Float[Tensor, "p p"]:
    points = circles(config.points, config.distance).x
    return rbf_kernel(1 / (math.sqrt(2) * config.inverse_scale))(points)


def _digit_grams(config: Missing, context: CellContext) -> list[Float[Tensor, "p p"]]:
    """NTKs of a network with one hidden layer over interleaved pairs of rotated digits."""
    data = digits(config.mnist)
    pairs = rotated(data.x[digit_pairs(data, config.digit_pairs, context.run_seed)], config.points)
    return list(mlp_kernels(1).ntk.batched(pairs.transpose(1, 2).flatten(1, 2)))
