"""What symmetries are good for: conserved quantities, flows along them, larger networks."""

from __future__ import annotations

from symscope.discovery._field_flow import flow
from symscope.discovery.uses._combinators import deeper, induced, part_problem, smaller_batch, wider
from symscope.discovery.uses._conserved import (
    ConservedQuantity,
    TrainingPath,
    conservation,
    conserved_quantities,
    gradient_descent,
    gradient_flow,
)
from symscope.discovery.uses._level_field import level_field

__all__ = [
    # moving along a symmetry
    "flow",
    "level_field",
    # what training keeps
    "conserved_quantities",
    "ConservedQuantity",
    "conservation",
    "gradient_flow",
    "gradient_descent",
    "TrainingPath",
    # from a part of a network to the whole
    "induced",
    "wider",
    "deeper",
    "smaller_batch",
    "part_problem",
]
