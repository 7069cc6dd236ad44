"""Whether a training is plain gradient descent, which alone has a closed form."""

from __future__ import annotations

import torch
from torch import nn

from symscope.errors import InputError

# options of torch.optim.SGD that make it something else, with the values that do not
PLAIN = {"momentum": 0, "weight_decay": 0, "maximize": False}
RESHAPING = (nn.Flatten, nn.Unflatten, nn.Identity)


def plain_learning_rate(optimiser: torch.optim.Optimizer, module: nn.Module) -> float:
    """The learning rate of an optimiser that is plain gradient descent on every trainable parameter.

    Raises:
        InputError: Another optimiser than SGD, options that change its steps, several learning rates, or
            trainable parameters of the module that it does not hold.

    >>> net = nn.Linear(2, 1)
    >>> plain_learning_rate(torch.optim.SGD(net.parameters(), lr=0.5), net)
    0.5
    """
    if type(optimiser) is not torch.optim.SGD:
        raise InputError(
            f"optimiser: expected torch.optim.SGD, whose training has a closed form, got "
            f"{type(optimiser).__name__}; use the measured records alone."
        )
    for group in optimiser.param_groups:
        for option, value in PLAIN.items():
            if group[option] != value:
                raise InputError(
                    f"optimiser: expected plain gradient descent, got {option}={group[option]}; use "
                    "the measured records alone."
                )
    rates = {float(group["lr"]) for group in optimiser.param_groups}
    if len(rates) > 1:
        raise InputError(f"optimiser: expected one learning rate, got {sorted(rates)}.")
    held = {id(p) for group in optimiser.param_groups for p in group["params"]}
    for name, p in module.named_parameters():
        if p.requires_grad and id(p) not in held:
            raise InputError(
                f"optimiser: expected every trainable parameter in it, {name!r} is not; call "
                "requires_grad_(False) on parameters that are not trained, before the tracker is made."
            )
    return rates.pop()


def active_layers(module: nn.Module) -> list[str]:
    """Layers whose outputs in training depend on chance or on the batch: dropout, norms over batches.

    >>> active_layers(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)))
    ['Dropout']
    >>> active_layers(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)).eval())
    []
    """
    return [
        type(part).__name__
        for part in module.modules()
        if part.training
        and (
            isinstance(part, nn.modules.batchnorm._BatchNorm)
            or (isinstance(part, nn.modules.dropout._DropoutNd) and part.p > 0)
        )
    ]


def linear_weight(module: nn.Module) -> str:
    """Name of the one weight of a linear model: `nn.Linear` without bias, with layers that only reshape.

    Raises:
        InputError: Another module.

    >>> linear_weight(nn.Sequential(nn.Flatten(), nn.Linear(4, 2, bias=False)))
    '1.weight'
    """
    layers = list(module.named_children()) if isinstance(module, nn.Sequential) else [("", module)]
    linear = [(name, one) for name, one in layers if not isinstance(one, RESHAPING)]
    if len(linear) == 1 and isinstance(linear[0][1], nn.Linear) and linear[0][1].bias is None:
        return f"{linear[0][0]}.weight".lstrip(".")
    raise InputError(
        "expected nn.Linear(..., bias=False), alone or with nn.Flatten and nn.Unflatten, whose training has "
        f"this closed form, got {type(module).__name__}; use predict, which linearises any module."
    )
