"""Will it generalise? Regression on orbits with points left out: dense, and the paper's circulant formula."""

from __future__ import annotations

from symscope.spectral.circles import gaussian_circles_spectrum
from symscope.spectral.circulant import (
    circulant_spectrum,
    circularised,
    inverse_spectrum,
    spectral_error,
    spectral_prediction,
    spectral_residual,
)
from symscope.spectral.dense import leave_one_out_residuals, leave_out_residual, precision, regression

__all__ = [
    "circulant_spectrum",
    "circularised",
    "gaussian_circles_spectrum",
    "inverse_spectrum",
    "leave_one_out_residuals",
    "leave_out_residual",
    "precision",
    "regression",
    "spectral_error",
    "spectral_prediction",
    "spectral_residual",
]
