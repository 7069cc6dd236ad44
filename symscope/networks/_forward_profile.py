"""One forward pass of a module, checked and measured: what kernels choose method and memory from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from symscope.errors import InputError
from symscope.networks._functional import FunctionalModule, NamedTensors, evaluation
from symscope.networks._torch_private import OperatorWatch


@final
@dataclass(frozen=True)
class ForwardProfile:
    """What one forward pass shows of a module.

    Attributes:
        outputs: Numbers the module gives per input.
        activations: Numbers computed on the way, per input.
        flops: Floating-point operations of its matrix products and convolutions, per input.
    """

    outputs: int
    activations: int
    flops: int


def forward_profile(network: FunctionalModule, x: Tensor) -> ForwardProfile:
    """The sizes of a module, whose output is checked to be [n, o], deterministic and separate for each input.

    Args:
        network: The module as a function.
        x: Inputs [n, *shape]; the first four are used.

    Returns:
        Sizes from which memory and method are chosen.

    Raises:
        InputError: If the module fails on these inputs, its output is not [n, o] or not finite, it draws
            random numbers in eval mode, or mixes the inputs of a batch.
    """
    dtype = network.dtype_for(x)
    weights, some = network.weights(dtype), x[:4]
    with evaluation(), torch.no_grad():
        watch, flops = OperatorWatch(), FlopCounterMode(display=False)
        with watch:
            first = _checked_outputs(network, weights, some)
        with flops:
            again = _checked_outputs(network, weights, some)
        alone = torch.cat([_checked_outputs(network, weights, one[None]) for one in some])
    tolerance = torch.finfo(dtype).eps ** 0.5 * first.abs().max()
    if watch.random or (first - again).abs().max() > tolerance:
        raise InputError(
            "The module draws random numbers in eval mode"
            + (f" ({watch.random})" if watch.random else "")
            + "; a kernel needs a deterministic function. Make that layer follow `self.training`."
        )
    if (first - alone).abs().max() > tolerance:
        raise InputError(
            "The module's output for one input depends on the other inputs of the batch; a kernel needs a "
            "function of one input at a time."
        )
    count = len(some)
    return ForwardProfile(first.shape[1], -(-watch.numbers // count), -(-flops.get_total_flops() // count))


def _checked_outputs(network: FunctionalModule, weights: NamedTensors, x: Tensor) -> Tensor:
    try:
        out = network.outputs(weights, x)
    except Exception as error:  # whatever the user's forward raises
        raise InputError(
            f"The module cannot be evaluated on inputs of shape {list(x.shape)}, {x.dtype}: {error}"
        ) from error
    if not isinstance(out, Tensor):
        raise InputError(
            f"Expected the module to return a tensor [n, o], got {type(out).__name__}; wrap it to return one."
        )
    if out.ndim != 2 or out.shape[0] != x.shape[0] or out.shape[1] == 0:
        raise InputError(
            f"Expected the module's output to be [n, o] = [{x.shape[0]}, o], got {list(out.shape)}; "
            "add nn.Flatten() or unsqueeze(1)."
        )
    if out.dtype != network.dtype_for(x):
        raise InputError(
            f"The module gives {out.dtype} for {network.dtype_for(x)} inputs: it mixes dtypes inside. "
            f"Use {out.dtype} inputs or remove its casts."
        )
    if not torch.isfinite(out).all():
        raise InputError("The module gives NaN or infinity for finite inputs.")
    return out
