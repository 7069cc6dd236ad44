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
from symscope.kernels.activations._error_function import ErfDual, GeluDual
from symscope.kernels.activations._exponential import ExpDual, GaussianDual
from symscope.kernels.activations._hermite import QuadratureDual
from symscope.kernels.activations._piecewise_linear import PiecewiseLinearDual
from symscope.kernels.activations._powers import MonomialDual, SignDual
from symscope.kernels.activations._trigonometric import SineDual

__all__ = [
    "Abs",
    "ChannelNorm",
    "Cos",
    "Dual",
    "Elementwise",
    "Erf",
    "ErfDual",
    "Exp",
    "ExpDual",
    "Gaussian",
    "GaussianDual",
    "GeluDual",
    "Monomial",
    "MonomialDual",
    "PiecewiseLinear",
    "PiecewiseLinearDual",
    "QuadratureDual",
    "Sign",
    "SignDual",
    "Sin",
    "SineDual",
    "function_dual",
    "is_activation",
    "module_dual",
]
