"""How fast is a symmetry learned? Closed-form flows of regression on symmetric data."""

from __future__ import annotations

from symscope.linear.asymmetry import (
    SampledAsymmetry,
    asymmetric_part,
    asymmetry_loss,
    sampled_asymmetry_loss,
)

__all__ = [
    "SampledAsymmetry",
    "asymmetric_part",
    "asymmetry_loss",
    "sampled_asymmetry_loss",
]
