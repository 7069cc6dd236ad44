"""A module as a function of its weights: a private copy, evaluated through `torch.func.functional_call`.

The copy is in eval mode and nobody else holds it: the user's module is never touched, and training it later
does not change a kernel made from it. One forward pass, checked and measured, is what kernels choose method
and memory from.
"""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter
from torch.utils.flop_counter import FlopCounterMode

from symscope.errors import InputError
from symscope.networks._torch_private import OperatorWatch
from symscope.networks._weights_files import check_weights, read_weights
from symscope.numerics import check_point_sets, checked
from symscope.user_code import user_errors

NamedTensors = dict[str, Tensor]
# a state dict, the path of a saved one, or the module's own weights
SavedWeights = Mapping[str, Tensor] | str | os.PathLike[str] | None

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)

# functional_call swaps the tensors of the module while it runs: one evaluation at a time in a process
_ONE_AT_A_TIME = threading.RLock()


@checked
@final
@dataclass(frozen=True)
class FunctionalModule:
    """A module's private copy, in eval mode, with the weights it had (or was given).

    Attributes:
        module: The copy; nobody else holds it.
        trainable: Its parameters that require gradients, detached, in the order of `named_parameters()`.
        fixed: Its other parameters and its buffers.
    """

    # held beside the module, because an evaluation in another thread swaps the module's own for a while
    module: nn.Module
    trainable: NamedTensors
    fixed: NamedTensors

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return next(iter(self.trainable.values())).device

    @checked
    def to(self, dtype: torch.dtype) -> FunctionalModule:
        """The same function with its weights, constants and private module in another precision."""
        return FunctionalModule(self.module.to(dtype), self.weights(dtype), self.constants(dtype))

    def weights(self, dtype: torch.dtype) -> NamedTensors:
        """The trainable parameters, cast to dtype."""
        return {name: w.detach().to(dtype) for name, w in self.trainable.items()}

    def constants(self, dtype: torch.dtype) -> NamedTensors:
        """Frozen parameters and buffers, cast to dtype; copies, so that an evaluation leaves no trace."""
        return {
            name: t.to(dtype if t.is_floating_point() else t.dtype, copy=True)
            for name, t in self.fixed.items()
        }

    def dtype_for(self, x: Tensor) -> torch.dtype:
        """The dtype of the inputs; for whole-number inputs (tokens) the dtype of the weights."""
        return x.dtype if x.is_floating_point() else next(iter(self.trainable.values())).dtype

    def n_weights(self) -> int:
        """Number of trainable weights."""
        return sum(w.numel() for w in self.trainable.values())

    def outputs(self, weights: NamedTensors, x: Tensor) -> Any:
        """What the module returns at the given weights, constants in their dtype; inside `evaluation()`."""
        if not weights:
            raise InputError("weights: expected the trainable parameters by name, got none.")
        constants = self.constants(next(iter(weights.values())).dtype)
        return torch.func.functional_call(self.module, {**constants, **weights}, (x,))

    def flatten(self, vector: NamedTensors) -> Float[Tensor, " p"]:
        """A vector in weight space as one tensor, in the order of `named_parameters()`."""
        if missing := [name for name in self.trainable if name not in vector]:
            raise InputError(f"vector: expected every trainable parameter, {missing[0]!r} is missing.")
        return torch.cat([vector[name].flatten() for name in self.trainable])

    def unflatten(self, vector: Float[Tensor, "*m p"]) -> NamedTensors:
        """The inverse of `flatten`, for one vector or for several along leading axes."""
        if vector.ndim < 1 or vector.shape[-1] != self.n_weights():
            raise InputError(
                f"vector: expected [..., {self.n_weights()}] numbers, got shape {tuple(vector.shape)}."
            )
        pieces = vector.split([w.numel() for w in self.trainable.values()], dim=-1)
        return {
            name: piece.reshape(*vector.shape[:-1], *w.shape)
            for (name, w), piece in zip(self.trainable.items(), pieces, strict=True)
        }

    def check_inputs(self, x: Tensor, other: Tensor | None = None) -> None:
        """That inputs are finite, not empty, of one shape and dtype, and on the network's device.

        Whole numbers (tokens) are good inputs here, unlike in a Gram matrix.

        Raises:
            InputError: If they are not.
        """
        if x.device != self.device:
            raise InputError(
                f"Inputs are on {x.device}, the module on {self.device}; move one of them with .to()."
            )
        if other is not None and x.dtype != other.dtype:
            raise InputError(
                f"x1 and x2: expected one dtype, got {x.dtype} and {other.dtype}; convert one of them."
            )
        if x.is_floating_point():
            check_point_sets(x, other)
        else:
            check_point_sets(x.double(), None if other is None else other.double())


def functional_module(module: nn.Module, params: SavedWeights = None) -> FunctionalModule:
    """A private copy of a module, in eval mode, with its own or the given weights.

    Args:
        module: Any module; parameters with `requires_grad=False` count as constants.
        params: A state dict, or the path of one saved with `torch.save` (read with `weights_only=True`); None
            keeps the module's weights.

    Returns:
        The module as a function.

    Raises:
        InputError: If nothing is trainable, parameters are lazy, complex, or on several dtypes or devices,
            batch norm has no running statistics, or params do not fit the module.

    >>> net = nn.Linear(3, 2)
    >>> functional_module(net).n_weights(), net.training
    (8, True)
    """
    lazy = [name for name, p in module.named_parameters() if isinstance(p, UninitializedParameter)]
    if lazy:
        raise InputError(
            f"Parameter {lazy[0]!r} is lazy and has no shape yet; run the module once on an input first."
        )
    try:
        private = copy.deepcopy(module)
    except Exception as error:  # a module may hold anything
        raise InputError(f"{type(module).__name__} cannot be copied (copy.deepcopy): {error}") from error
    if params is not None:
        _load(private, params)
    private.eval()
    _check_parameters(private)
    for name, part in private.named_modules():
        if isinstance(part, BATCH_NORMS) and part.running_mean is None:
            raise InputError(
                f"Layer {name!r} ({type(part).__name__}) has no running statistics, so its output for one "
                "input depends on the others; use track_running_stats=True."
            )
    named = dict(private.named_parameters())
    trainable = {name: p.detach() for name, p in named.items() if p.requires_grad}
    others = {
        **{name: p for name, p in named.items() if not p.requires_grad},
        **dict(private.named_buffers()),
    }
    return FunctionalModule(private, trainable, {name: t.detach() for name, t in others.items()})


@contextmanager
def evaluation() -> Iterator[None]:
    """One evaluation at a time, with attention spelled out: its fused forms have no forward derivatives."""
    with _ONE_AT_A_TIME, torch.inference_mode(False), torch.enable_grad():
        fast = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)


@contextmanager
def eval_mode(module: nn.Module) -> Iterator[None]:
    """Eval mode without gradients; afterwards every part of the module is in the mode it was in.

    >>> net = nn.Dropout()
    >>> with eval_mode(net):
    ...     net(torch.ones(2)).tolist()
    [1.0, 1.0]
    >>> net.training
    True
    """
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, mode in modes:
            part.training = mode


def _load(module: nn.Module, params: Mapping[str, Tensor] | str | os.PathLike[str]) -> None:
    if isinstance(params, Mapping):
        weights = check_weights(params, "params")
    else:
        weights = read_weights(Path(params), "params")
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"params do not fit the module: {error}") from error


def _check_parameters(module: nn.Module) -> None:
    named = dict(module.named_parameters())
    trainable = {name: p for name, p in named.items() if p.requires_grad}
    if not trainable:
        raise InputError(
            f"{type(module).__name__} has no parameter with requires_grad=True ({len(named)} parameters in "
            "all); call requires_grad_(True) on those the kernel is about."
        )
    for name, p in trainable.items():
        if not p.is_floating_point():
            raise InputError(f"Parameter {name!r} is {p.dtype}; expected real floating-point parameters.")
    for what in ("dtype", "device"):
        kinds = sorted({str(getattr(p, what)) for p in trainable.values()})
        if len(kinds) > 1:
            raise InputError(f"Expected parameters of one {what}, got {', '.join(kinds)}; use module.to().")


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


@checked
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
    with user_errors(f"The module cannot be evaluated on inputs of shape {list(x.shape)}, {x.dtype}: it"):
        out = network.outputs(weights, x)
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
