"""From a layer's weights to the four numbers that act on kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from torch import Tensor, nn

from symscope.errors import InputError, nearest
from symscope.kernels.infinite._operations import LayerWeights


@final
@dataclass(frozen=True)
class Prior:
    """How weights are parameterised and how large they are at initialisation.

    Attributes:
        parameterisation: "ntk" or "standard".
        init: Source of variances that are not given: "default" (NTK: w_std = b_std = 1; standard:
            PyTorch's default initialisation) or "measured" (mean squares of the module's own weights).
        w_std: Weight scale: weights have variance `w_std^2 / fan_in` in the function they compute.
        b_std: Bias scale: biases have variance `b_std^2`.
        layers: `w_std` and `b_std` for single layers, by qualified name.
    """

    parameterisation: str
    init: str
    w_std: float | None
    b_std: float | None
    layers: Mapping[str, Mapping[str, float]]


def layer_weights(module: nn.Module, name: str, prior: Prior) -> LayerWeights:
    """The four numbers of one Linear or Conv layer.

    In the function it computes, `z = sum_j W_ij a_j + b_i` over fan_in inputs with `var(W) = v / fan_in`:
    `w_var = v`, `b_var = var(b)`; what a step of training moves, NTK parameterisation: `w_rate = v`,
    `b_rate = var(b)`; standard: `w_rate = fan_in`, `b_rate = 1`. Frozen parameters have rate 0.

    Args:
        module: The layer, with `weight` and perhaps `bias`.
        name: Its qualified name.
        prior: The choices.

    >>> layer_weights(nn.Linear(12, 5), "0", Prior("standard", "default", None, None, {}))
    LayerWeights(w_var=0.3333333333333333, b_var=0.027777777777777776, w_rate=12.0, b_rate=1.0)
    """
    weight, bias = module.weight, module.bias
    if isinstance(weight, nn.parameter.UninitializedParameter):
        raise InputError(
            f"layer {name} ({type(module).__name__}) is lazy and has no weights yet; run the module once "
            "on an input first"
        )
    assert isinstance(weight, Tensor)
    assert bias is None or isinstance(bias, Tensor)
    fan_in = math.prod(weight.shape[1:])
    own = prior.layers.get(name, {})
    w_std, b_std = own.get("w_std", prior.w_std), own.get("b_std", prior.b_std)
    w_var = _weight_variance(weight, fan_in, prior) if w_std is None else float(w_std) ** 2
    b_var = 0.0
    if bias is not None:
        b_var = _bias_variance(bias, fan_in, prior) if b_std is None else float(b_std) ** 2
    ntk = prior.parameterisation == "ntk"
    w_rate = w_var if ntk else float(fan_in)
    b_rate = (b_var if ntk else 1.0) if bias is not None else 0.0
    trained_bias = bias is not None and bias.requires_grad
    return LayerWeights(
        w_var, b_var, w_rate if weight.requires_grad else 0.0, b_rate if trained_bias else 0.0
    )


def _weight_variance(weight: Tensor, fan_in: int, prior: Prior) -> float:
    if prior.init == "measured":
        return float(weight.detach().double().square().mean()) * fan_in
    return 1.0 if prior.parameterisation == "ntk" else 1 / 3


def _bias_variance(bias: Tensor, fan_in: int, prior: Prior) -> float:
    if prior.init == "measured":
        return float(bias.detach().double().square().mean())
    return 1.0 if prior.parameterisation == "ntk" else 1 / (3 * fan_in)


def check_prior(prior: Prior, names: list[str]) -> None:
    """Raise unless the choices make sense for a module with these layers.

    Raises:
        InputError: An unknown parameterisation, init, layer or setting, or a negative scale.

    >>> check_prior(Prior("ntk", "default", 1.0, 1.0, {"2": {"w_std": 1.5}}), ["0", "2"])
    """
    if prior.parameterisation not in ("ntk", "standard"):
        raise InputError(f'parameterisation: expected "ntk" or "standard", got {prior.parameterisation!r}')
    if prior.init not in ("default", "measured"):
        raise InputError(f'init: expected "default" or "measured", got {prior.init!r}')
    settings = {"": {"w_std": prior.w_std, "b_std": prior.b_std}, **prior.layers}
    for name, own in settings.items():
        if name and name not in names:
            raise InputError(f"layers: {name!r} is not a layer with weights; {nearest(name, names)}")
        for key, value in own.items():
            if key not in ("w_std", "b_std"):
                raise InputError(f"layers[{name!r}]: expected w_std or b_std, got {key!r}")
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise InputError(f"{key}: expected a finite number >= 0, got {value}")
