"""Which dual belongs to which PyTorch activation, as a module or as a function."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from symscope.errors import InputError
from symscope.kernels.activations import _activation_modules as modules
from symscope.kernels.activations._dual import Dual
from symscope.kernels.activations._error_function import ErfDual, GeluDual
from symscope.kernels.activations._exponential import ExpDual, GaussianDual
from symscope.kernels.activations._hermite import QuadratureDual
from symscope.kernels.activations._piecewise_linear import PiecewiseLinearDual
from symscope.kernels.activations._powers import MonomialDual, SignDual
from symscope.kernels.activations._trigonometric import SineDual
from symscope.numerics import checked

RELU = PiecewiseLinearDual(0.0, 1.0, 0.0)
ABS = PiecewiseLinearDual(-1.0, 1.0, 0.0)

_MODULES: dict[type[nn.Module], Callable[[Any], Dual]] = {
    nn.ReLU: lambda m: RELU,
    nn.LeakyReLU: lambda m: PiecewiseLinearDual(m.negative_slope, 1.0, m.negative_slope),
    modules.PiecewiseLinear: lambda m: PiecewiseLinearDual(m.below, m.above, (m.below + m.above) / 2),
    modules.Abs: lambda m: ABS,
    modules.Erf: lambda m: ErfDual(m.a, m.b, m.c),
    modules.Sin: lambda m: SineDual(m.a, m.b, m.c),
    modules.Cos: lambda m: SineDual(m.a, m.b, m.c + math.pi / 2),
    modules.Exp: lambda m: ExpDual(m.a, m.b),
    modules.Gaussian: lambda m: GaussianDual(m.a, m.b),
    modules.Sign: lambda m: SignDual(),
    modules.Monomial: lambda m: MonomialDual(m.degree),
}

_QUADRATURE_MODULES: dict[type[nn.Module], Callable[[Any], Callable[[Tensor], Tensor]]] = {
    nn.Tanh: lambda m: torch.tanh,
    nn.Sigmoid: lambda m: torch.sigmoid,
    nn.SiLU: lambda m: F.silu,
    nn.Mish: lambda m: F.mish,
    nn.Softsign: lambda m: F.softsign,
    nn.Tanhshrink: lambda m: F.tanhshrink,
    nn.LogSigmoid: lambda m: _log_sigmoid,
    nn.Softplus: lambda m: functools.partial(_softplus, beta=m.beta, threshold=m.threshold),
    nn.ELU: lambda m: functools.partial(F.elu, alpha=m.alpha),
    nn.CELU: lambda m: functools.partial(F.celu, alpha=m.alpha),
    nn.SELU: lambda m: F.selu,
    nn.Hardtanh: lambda m: functools.partial(F.hardtanh, min_val=m.min_val, max_val=m.max_val),
    nn.ReLU6: lambda m: F.relu6,
    nn.Hardswish: lambda m: F.hardswish,
    nn.Hardsigmoid: lambda m: F.hardsigmoid,
    modules.Elementwise: lambda m: m.function,
}

_FUNCTIONS: dict[Any, Dual] = {
    torch.relu: RELU,
    torch.relu_: RELU,
    F.relu: RELU,
    "relu": RELU,
    "relu_": RELU,
    torch.abs: ABS,
    "abs": ABS,
    abs: ABS,
    torch.erf: ErfDual(1.0, 1.0, 0.0),
    "erf": ErfDual(1.0, 1.0, 0.0),
    torch.sin: SineDual(1.0, 1.0, 0.0),
    "sin": SineDual(1.0, 1.0, 0.0),
    torch.cos: SineDual(1.0, 1.0, math.pi / 2),
    "cos": SineDual(1.0, 1.0, math.pi / 2),
    torch.exp: ExpDual(1.0, 1.0),
    "exp": ExpDual(1.0, 1.0),
    torch.sign: SignDual(),
    "sign": SignDual(),
}

_QUADRATURE_FUNCTIONS: dict[Any, Callable[[Tensor], Tensor]] = {
    torch.tanh: torch.tanh,
    F.tanh: torch.tanh,
    "tanh": torch.tanh,
    torch.sigmoid: torch.sigmoid,
    F.sigmoid: torch.sigmoid,
    "sigmoid": torch.sigmoid,
    F.silu: F.silu,
    F.mish: F.mish,
    F.softsign: F.softsign,
    F.selu: F.selu,
}


_CLAMPS: dict[Any, tuple[str, ...]] = {
    **dict.fromkeys((torch.clamp, torch.clip, "clamp", "clamp_", "clip", "clip_"), ("min", "max")),
    **dict.fromkeys((torch.clamp_min, "clamp_min", "clamp_min_"), ("min",)),
    **dict.fromkeys((torch.clamp_max, "clamp_max", "clamp_max_"), ("max",)),
}


def is_activation(module: nn.Module) -> bool:
    """Whether `module_dual` knows this module."""
    return isinstance(module, (*_MODULES, *_QUADRATURE_MODULES, nn.GELU))


@checked
def module_dual(module: nn.Module, nodes: int) -> Dual:
    """The dual of an activation module.

    Args:
        module: One for which `is_activation` holds.
        nodes: Grid points, where there is no closed form.

    >>> module_dual(nn.LeakyReLU(0.1), 64)
    PiecewiseLinearDual(below=0.1, above=1.0, at_zero=0.1)
    """
    if isinstance(module, nn.GELU):
        return gelu_dual(module.approximate, nodes)
    for kind, rule in _MODULES.items():
        if isinstance(module, kind):
            return check_dual(rule(module))
    for kind, function in _QUADRATURE_MODULES.items():
        if isinstance(module, kind):
            return QuadratureDual(function(module), nodes)
    raise InputError(
        f"{type(module).__name__} is not a known activation: wrap it in kernels.activations.Elementwise"
    )


@checked
def function_dual(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], nodes: int) -> Dual | None:
    """The dual of a called function or tensor method, or None if it is not a known activation.

    >>> function_dual(torch.relu, (), {}, 64)
    PiecewiseLinearDual(below=0.0, above=1.0, at_zero=0.0)
    """
    if target is F.leaky_relu:
        slope = args[0] if args else kwargs.get("negative_slope", 0.01)
        return PiecewiseLinearDual(slope, 1.0, slope)
    if target is F.gelu:
        return gelu_dual(args[0] if args else kwargs.get("approximate", "none"), nodes)
    if target is F.softplus:
        settings = dict(zip(("beta", "threshold"), args, strict=False)) | kwargs
        return QuadratureDual(functools.partial(_softplus, **settings), nodes)
    if target is F.hardtanh:
        settings = dict(zip(("min_val", "max_val"), args, strict=False))
        settings |= {name: kwargs[name] for name in ("min_val", "max_val") if name in kwargs}
        return QuadratureDual(functools.partial(F.hardtanh, **settings), nodes)
    if target in _CLAMPS:
        return _clamp_dual(dict(zip(_CLAMPS[target], args, strict=False)) | kwargs, nodes)
    if target is F.elu:
        alpha = args[0] if args else kwargs.get("alpha", 1.0)
        return QuadratureDual(functools.partial(F.elu, alpha=alpha), nodes)
    if target in _FUNCTIONS:
        return _FUNCTIONS[target]
    if target in _QUADRATURE_FUNCTIONS:
        return QuadratureDual(_QUADRATURE_FUNCTIONS[target], nodes)
    return None


def gelu_dual(approximate: str, nodes: int) -> Dual:
    """Closed form for the exact GELU, quadrature for its tanh approximation.

    >>> gelu_dual("none", 64)
    GeluDual()
    """
    if approximate == "none":
        return GeluDual()
    return QuadratureDual(functools.partial(F.gelu, approximate=approximate), nodes)


def check_dual(dual: Dual) -> Dual:
    """The dual itself, if its parameters are in range.

    Raises:
        InputError: The Gaussian grows, or the degree of the monomial is below 1.
    """
    if isinstance(dual, GaussianDual) and not dual.b > 0:
        raise InputError(f"kernels.activations.Gaussian: expected b > 0, got {dual.b}; use a positive b")
    if isinstance(dual, MonomialDual) and (dual.degree < 1 or dual.degree != int(dual.degree)):
        raise InputError(f"kernels.activations.Monomial: expected a whole degree >= 1, got {dual.degree}")
    return dual


def _clamp_dual(bounds: dict[str, Any], nodes: int) -> Dual | None:
    """Closed form for one bound at zero, where PyTorch's derivative of a clamp at its bound is 1."""
    bounds = {name: bound for name, bound in bounds.items() if bound is not None}
    if not all(isinstance(bound, int | float) for bound in bounds.values()):
        return None
    if bounds == {"min": 0}:
        return PiecewiseLinearDual(0.0, 1.0, 1.0)
    if bounds == {"max": 0}:
        return PiecewiseLinearDual(1.0, 0.0, 1.0)
    return QuadratureDual(functools.partial(torch.clamp, **bounds), nodes)


def _softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return F.softplus(x, beta, threshold)


def _log_sigmoid(x: Tensor) -> Tensor:
    return F.logsigmoid(x)
