"""What symmetries are good for: conserved quantities, flows along them, larger networks."""

from __future__ import annotations

from symscope.discovery._field_flow import field_flow
from symscope.discovery.uses._combinators import (
    deepened_symmetry,
    induced_symmetry,
    part_problem,
    smaller_batch_symmetry,
    widened_symmetry,
)
from symscope.discovery.uses._conserved import (
    ConservedQuantity,
    TrainingPath,
    conservation_error,
    conserved_quantities,
    parameter_gradient_descent,
    parameter_gradient_flow,
)
from symscope.discovery.uses._level_field import level_field

__all__ = [
    # moving along a symmetry
    "field_flow",
    "level_field",
    # what training keeps
    "conserved_quantities",
    "ConservedQuantity",
    "conservation_error",
    "parameter_gradient_flow",
    "parameter_gradient_descent",
    "TrainingPath",
    # from a part of a network to the whole
    "induced_symmetry",
    "widened_symmetry",
    "deepened_symmetry",
    "smaller_batch_symmetry",
    "part_problem",
]
