"""Null spaces of small networks beside the algebra of theory, and tests on held-out samples."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import torch

from symscope.discovery import verify
from symscope.discovery.exact import (
    LinearSymmetries,
    fibre_dimension,
    lie_algebra,
    linear_symmetries,
    orbit_dimension,
)
from symscope.discovery.fields import linear_combination
from symscope.discovery.uses import conservation_error, conserved_quantities, parameter_gradient_flow
from symscope.errors import InputError
from symscope.runs import CellContext, CellResults
from symscope_papers.discovery.exact.config import Exact
from symscope_papers.discovery.exact.networks import Known, known_network

FIBRE_POINTS = 3  # parameter vectors; the least number of directions that keep losses counts


def cells(config: Exact) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    small = [{"network": name, "number": seed} for name in config.networks for seed in config.seeds]
    return [*small, *([{"network": config.wide, "number": 0}] if config.wide else [])]


def measure_cell(config: Exact, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    known = known_network(cell["network"])
    layered = cell["network"] == config.wide
    seed, started = context.seed % 10**6, time.perf_counter()
    method = "layers" if layered else "all"
    result = linear_symmetries(known.problem, seed=seed, method=method, affine=known.affine)
    seconds = time.perf_counter() - started
    everything = (*result.fields, *result.translations)
    thetas = known.problem.random_points(FIBRE_POINTS, 1, seed + 17).theta
    algebra = None if layered else lie_algebra(result.fields, known.problem.size, result.translations)
    drift, rival = _drifts(config, known, result, seed)
    row = {
        "family": known.family,
        "parameters": known.problem.size,
        "method": result.method,
        "unknowns": result.unknowns,
        "expected": known.dimension,
        "found": result.dimension,
        "expected_translations": known.translations,
        "translations": len(result.translations),
        "largest_chance": max((n.chance for n in result.null_spaces if n.dimension), default=None),
        "held_out": max(n.held_out or 0.0 for n in result.null_spaces),
        "span_sine": _span_sine(known, result),
        "algebra": algebra.name if algebra is not None else None,
        "closure": algebra.closure if algebra is not None else None,
        "orbit": orbit_dimension(everything, thetas[0]),
        "fibre": min(fibre_dimension(known.problem, theta, seed=seed) for theta in thetas),
        "drift": drift,
        "random_drift": rival,
        "conserved": None if layered else len(conserved_quantities(everything)),
        "conservation": None if layered else _conservation(known, everything, seed),
        "seconds": seconds,
    }
    spectrum = result.null_spaces[0]
    values = [
        {"index": k, "value": v, "floor": spectrum.floor} for k, v in enumerate(spectrum.singular_values)
    ]
    return {"networks": [row], "spectra": values, "generators": [] if layered else _generators(known, result)}


def _span_sine(known: Known, result: LinearSymmetries) -> float | None:
    """Largest sine of the principal angles between what was found and the theory's generators."""
    if known.span is None or not result.fields:
        return None
    size = known.problem.size
    if size > 60:
        return None
    theory = torch.linalg.qr(known.span).Q
    ours = torch.linalg.qr(torch.stack([f.dense(size).reshape(-1) for f in result.fields], 1)).Q
    if ours.shape != theory.shape:
        return 1.0
    return float((ours - theory @ (theory.T @ ours)).norm(dim=0).max())


def _drifts(
    config: Exact, known: Known, result: LinearSymmetries, seed: int
) -> tuple[float | None, float | None]:
    """Held-out loss drift of a random element of the algebra, and of random fields of its norm."""
    fields = (*result.fields, *result.translations)
    if not fields:
        return None, None
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(len(fields), generator=generator, dtype=torch.float64)
    tested = verify(known.problem, linear_combination(fields, weights), seed=seed, points=config.points)
    return tested.loss_drift, tested.random_loss_drift


def _conservation(known: Known, fields: Any, seed: int) -> float | None:
    """Largest relative change of a conserved quantity along gradient flow on four data points."""
    quantities = conserved_quantities(fields)
    if not quantities:
        return None
    sample = known.problem.random_points(1, 4, seed + 29)
    try:
        path = parameter_gradient_flow(
            known.problem, sample.theta[0], sample.x[0], sample.y[0], 0.5, records=5
        )
    except InputError:  # the flow slides along a kink of ReLU, which is no fault of the quantity
        return None
    return max(conservation_error(quantity, path) for quantity in quantities)


def _generators(known: Known, result: LinearSymmetries) -> list[dict[str, Any]]:
    """Entries of the first few generators, for pictures."""
    layout, rows = known.problem.layout, []
    for number, field in enumerate(result.fields[:6]):
        table = field.dense(layout.size)
        table = table / table.abs().max()
        for i, j in torch.nonzero(table).tolist():
            rows.append(
                {
                    "generator": number,
                    "name": field.name,
                    "row": i,
                    "column": j,
                    "row_name": layout.entry(i),
                    "column_name": layout.entry(j),
                    "value": float(table[i, j]),
                    "size": layout.size,
                }
            )
    return rows
