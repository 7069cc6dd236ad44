"""Minima of one risk that are none of another, and risks along lines through them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from symscope.dynamics import TrainingProblem
from symscope.dynamics.layer_vectors import LayerWeights, flatten, unflatten
from symscope.dynamics.risks import augmented_problem, nominal_risk
from symscope.runs import CellContext, CellResults
from symscope_papers.dynamics.counterexamples.config import EXAMPLES, Counterexamples
from symscope_papers.dynamics.counterexamples.problems import Counterexample
from symscope_papers.dynamics.dense_hessian import hessian_of


def cells(config: Counterexamples) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [{"example": name, "size": size} for name in EXAMPLES for size in config.sizes]


def _made(name: str, size: int) -> Counterexample:
    make = EXAMPLES[name][0]
    return make(3 * size) if name == "identical neurons" else make(size)


def measure_cell(config: Counterexamples, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    result = _made(cell["example"], cell["size"])
    _, of, not_of, _ = EXAMPLES[cell["example"]]
    rows = [
        {"risk": name, "gradient": at.gradient, "lowest": at.lowest, "strict": at.strict}
        for name, at in (
            ("nominal", result.nominal),
            ("augmented", result.augmented),
            ("equivariant", result.equivariant),
        )
    ]
    return {"minima": rows, "curves": _curves(result, of, not_of, config.steps)}


def _curves(result: Counterexample, of: str, not_of: str, steps: int) -> list[dict[str, Any]]:
    """Each of the two risks along its own direction of least curvature, against the step."""
    rows = []
    for name in (of, not_of):
        problem = result.problem if name == "nominal" else augmented_problem(result.problem)
        direction = _lowest_direction(problem, result.weights, inside=name == "equivariant")
        base = float(nominal_risk(problem, result.weights))
        for t in torch.linspace(-1, 1, steps, dtype=torch.float64).tolist():
            moved = tuple(w + t * d for w, d in zip(result.weights, direction, strict=True))
            rows.append({"risk": name, "step": t, "change": float(nominal_risk(problem, moved)) - base})
    return rows


def _lowest_direction(problem: TrainingProblem, weights: LayerWeights, inside: bool) -> LayerWeights:
    """The eigenvector of least curvature; inside E where R_eqv, equal to R_aug there, is asked about."""
    network = problem.network
    h = hessian_of(partial(nominal_risk, problem), network, flatten(weights))
    if not inside:
        return unflatten(network, torch.linalg.eigh(h).eigenvectors[:, 0])
    eye = torch.eye(network.parameters, dtype=torch.float64)
    projector = torch.stack([_projected(network, e) for e in eye])
    values, vectors = torch.linalg.eigh(projector)
    basis = vectors[:, values > 0.5]
    least = torch.linalg.eigh(basis.T @ h @ basis).eigenvectors[:, 0]
    return unflatten(network, basis @ least)


def _projected(network: Any, vector: torch.Tensor) -> torch.Tensor:
    return flatten(
        tuple(maps.project(part) for maps, part in zip(network.maps, unflatten(network, vector), strict=True))
    )
