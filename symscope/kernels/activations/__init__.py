"""Activations of wide networks: PyTorch modules, and the Gaussian expectations (duals) that replace them."""

from __future__ import annotations

from symscope.kernels.activations._activation_modules import (
    Abs,
    ChannelNorm,
    Cos,
    Elementwise,
    Erf,
    Exp,
    Gaussian,
    Monomial,
    PiecewiseLinear,
    Sign,
    Sin,
)
from symscope.kernels.activations._activation_table import function_dual, is_activation, module_dual
from symscope.kernels.activations._dual import Dual

__all__ = [
    "Abs",
    "ChannelNorm",
    "Cos",
    "Dual",
    "Elementwise",
    "Erf",
    "Exp",
    "Gaussian",
    "Monomial",
    "PiecewiseLinear",
    "Sign",
    "Sin",
    "function_dual",
    "is_activation",
    "module_dual",
]
