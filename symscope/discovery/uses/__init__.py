"""What symmetries are good for: conserved quantities, and flows along them."""

from __future__ import annotations

from symscope.discovery._field_flow import field_flow
from symscope.discovery.uses._conserved import (
    ConservedQuantity,
    TrainingPath,
    conservation_error,
    conserved_quantities,
    parameter_gradient_descent,
    parameter_gradient_flow,
)

__all__ = [
    # moving along a symmetry
    "field_flow",
    # what training keeps
    "conserved_quantities",
    "ConservedQuantity",
    "conservation_error",
    "parameter_gradient_flow",
    "parameter_gradient_descent",
    "TrainingPath",
]
