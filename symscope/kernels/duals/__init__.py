"""Activations of wide networks: PyTorch modules, and the Gaussian expectations (duals) that replace them."""

from __future__ import annotations

from symscope.kernels.duals.dual import Dual
from symscope.kernels.duals.error_function import ErfDual, GeluDual
from symscope.kernels.duals.exponential import ExpDual, GaussianDual
from symscope.kernels.duals.modules import (
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
from symscope.kernels.duals.piecewise_linear import PiecewiseLinearDual
from symscope.kernels.duals.polynomial import MonomialDual, SignDual
from symscope.kernels.duals.quadrature import QuadratureDual
from symscope.kernels.duals.table import function_dual, is_activation, module_dual
from symscope.kernels.duals.trigonometric import SineDual

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
