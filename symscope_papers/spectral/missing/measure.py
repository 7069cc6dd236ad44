"""Residuals at missing points: by the linear system of App. A.1, and by kernel regression."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from symscope.data.synthetic import circles
from symscope.kernels.classical import rbf_kernel
from symscope.runs import CellContext, CellResults
from symscope.spectral.circulant import circulant_row, circulant_spectrum, spectral_error, spectral_residual
from symscope.spectral.dense import regression
from symscope_papers.spectral.missing.config import Missing


def cells(config: Missing) -> list[dict[str, Any]]:
    """One cell for each number of missing points and kind of pattern."""
    return [{"missing": count, "kind": kind} for count in config.counts for kind in ("random", "arc")]


def _patterns(count: int, kind: str, config: Missing, seed: int) -> list[torch.Tensor]:
    """Random subsets of all points, or one arc of neighbours (all arcs of one length are alike)."""
    if kind == "arc":
        return [torch.arange(count)]
    generator = torch.Generator().manual_seed(seed)
    return [torch.randperm(2 * config.points, generator=generator)[:count] for _ in range(config.patterns)]


def measure_cell(config: Missing, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Errors of every pattern, by formula and by regression."""
    data = circles(config.points, config.distance)
    gram = rbf_kernel(1 / (math.sqrt(2) * config.inverse_scale))(data.x)
    labels = data.labels.to(torch.float64)
    ridge = config.relative_ridge * float(gram.trace())
    spectrum = circulant_spectrum(circulant_row(gram))
    rows = []
    for number, missing in enumerate(_patterns(cell["missing"], cell["kind"], config, context.seed)):
        formula = spectral_residual(spectrum, labels, missing, ridge)
        solved = labels[missing] - regression(gram, labels, missing, ridge)
        errors = labels[missing] * formula
        rows.append(
            {
                "pattern": number,
                "points": missing.tolist(),
                "mean_error": errors.mean(),
                "wrong": (errors > 1).double().mean(),
                "difference": (formula - solved).abs().max(),
                "spectral_error": spectral_error(spectrum, ridge),
            }
        )
    return {"patterns": rows}
