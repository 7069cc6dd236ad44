"""Errors of what the paper proves, on random networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from symscope.runs import CellContext, CellResults
from symscope_papers.dynamics.identities.config import Identities
from symscope_papers.dynamics.identities.statements import equation_3_gap, identity_errors
from symscope_papers.dynamics.random_problems import random_problem


def cells(config: Identities) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [{"group": name, "network": k} for name in config.groups for k in range(config.networks)]


def measure_cell(config: Identities, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    generator = torch.Generator().manual_seed(context.seed)
    problem = random_problem(cell["group"], generator)
    network = problem.network
    shared = {
        "declaration": repr(network),
        "parameters": network.parameters,
        "equivariant_parameters": network.equivariant_dimension,
    }
    result = identity_errors(problem, seed=context.seed)
    return {
        "identities": [{"identity": one.name, "error": one.error, **shared} for one in result],
        "feature_averaging": [
            {
                "gap": equation_3_gap(problem, seed=context.seed),
                "gap_on_e": equation_3_gap(problem, seed=context.seed, inside=True),
                **shared,
            }
        ],
    }
