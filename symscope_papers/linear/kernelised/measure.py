"""Errors of permutations on features, without and with the fitted matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from symscope.data.synthetic import permuted_cube
from symscope.networks.architectures import mlp
from symscope.runs import CellContext, CellResults
from symscope_papers.linear.kernelised.config import Kernelised
from symscope_papers.linear.kernelised.elements import (
    FeatureMap,
    activation_features,
    feature_error,
    gradient_features,
    kernelised_element,
)

ELEMENTS = ("(1 2)", "(1 2 3)")


def cells(config: Kernelised) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [{"network": n, "points": p} for p in config.points for n in range(config.networks)]


def measure_cell(config: Kernelised, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    seed = 1000 * context.run_seed + cell["network"]
    net = mlp((3, config.width, 1), seed=seed).to(context.device)
    toy = permuted_cube(cell["points"], seed)
    fresh = permuted_cube(config.held_out, seed + 500).features.to(context.device)
    x, group = toy.features.to(context.device), toy.group.to(context.device)
    maps: dict[str, FeatureMap] = {
        "gradients": gradient_features(net),
        "activations": activation_features(net),
    }
    errors, compositions = [], []
    for name, phi in maps.items():
        matrices = {}
        for element in ELEMENTS:
            g = group[toy.elements.index(element)]
            fitted = kernelised_element(phi, x, x @ g)
            matrices[element] = fitted.matrix
            row = {"features": name, "element": element, "rank": fitted.rank, "size": len(fitted.matrix)}
            errors.append(
                row | _errors(phi, x, g, fitted.matrix, "") | _errors(phi, fresh, g, fitted.matrix, "new_")
            )
        compositions.append({"features": name} | _composition(phi, fresh, group, toy.elements, matrices))
    return {"errors": errors, "compositions": compositions}


def _errors(phi: FeatureMap, x: Tensor, g: Tensor, matrix: Tensor, prefix: str) -> dict[str, Any]:
    without, given = feature_error(phi, x, x @ g, None), feature_error(phi, x, x @ g, matrix)
    return {
        f"{prefix}without": without.norm,
        f"{prefix}with": given.norm,
        f"{prefix}relative": given.relative,
        f"{prefix}reduction": without.norm / given.norm,
        f"{prefix}square_reduction": without.mean_square / given.mean_square,
    }


def _composition(
    phi: FeatureMap, x: Tensor, group: Tensor, names: tuple[str, ...], matrices: Mapping[str, Tensor]
) -> dict[str, Any]:
    """Are the matrices a representation? The product of two, against the features of twice moved points."""
    first, second = ELEMENTS
    both = group[names.index(first)] @ group[names.index(second)]
    product = feature_error(phi, x, x @ both, matrices[first] @ matrices[second])
    return {"product_error": product.norm, "without": feature_error(phi, x, x @ both, None).norm}
