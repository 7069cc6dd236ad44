"""One rule per PyTorch module or function: which operations of a wide network it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from symscope.kernels.activations import ChannelNorm
from symscope.kernels.infinite._operations import (
    AdaptivePool,
    Conv,
    Dense,
    Flatten,
    GlobalPool,
    LayerWeights,
    Normalise,
    Operation,
    Pad,
    Pool,
    Unflatten,
    UnsupportedLayer,
)
from symscope.kernels.infinite._sliding_windows import Window

WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_IDENTITY = (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)
_POOLS = {nn.AvgPool1d: 1, nn.AvgPool2d: 2, nn.AvgPool3d: 3}
_ADAPTIVE = {nn.AdaptiveAvgPool1d: 1, nn.AdaptiveAvgPool2d: 2, nn.AdaptiveAvgPool3d: 3}
_PADS: dict[type[nn.Module], str] = {
    nn.ZeroPad1d: "zeros",
    nn.ZeroPad2d: "zeros",
    nn.ZeroPad3d: "zeros",
    nn.CircularPad1d: "circular",
    nn.CircularPad2d: "circular",
    nn.CircularPad3d: "circular",
    nn.ReflectionPad1d: "reflect",
    nn.ReflectionPad2d: "reflect",
    nn.ReplicationPad1d: "replicate",
    nn.ReplicationPad2d: "replicate",
}

_REASONS: list[tuple[Any, str]] = [
    (
        (
            *(nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d),
            *(nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.AdaptiveMaxPool3d),
        ),
        "the covariance of a maximum over positions has no closed form; average pooling has",
    ),
    (
        (
            *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm),
            *(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d),
        ),
        "it normalises over the batch or over one channel, not over many channels; LayerNorm has a rule",
    ),
    (nn.MultiheadAttention, "softmax attention does not become a kernel of its input"),
    (
        (nn.Softmax, nn.LogSoftmax, nn.Softmin, nn.Softmax2d),
        "softmax mixes channels; read out its logits instead",
    ),
    (
        (nn.Embedding, nn.EmbeddingBag),
        "its input is an index, not a vector; give one-hot vectors to a Linear layer",
    ),
    ((nn.RNN, nn.LSTM, nn.GRU), "recurrent layers use their weights many times"),
    (
        (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d),
        "transposed convolutions have no rule here",
    ),
    (nn.PReLU, "its slope is trained; LeakyReLU has a rule"),
]


def reason_against(module: nn.Module) -> str | None:
    """Why a module has no infinite-width form, where that is known."""
    return next((reason for kinds, reason in _REASONS if isinstance(module, kinds)), None)


def module_operations(
    module: nn.Module, name: str, weights: LayerWeights | None, channels_last: int
) -> list[Operation]:
    """The operations of one module; none for the identity.

    Dropout is the identity: kernels describe the network in evaluation mode. Trained scales and shifts of
    norms are taken as fixed at one and zero.

    Args:
        module: The module, not an activation.
        name: Its qualified name, for messages.
        weights: What its weights do to kernels, for `WEIGHTED` modules.
        channels_last: Number of axes of positions if the channels come after them, else 0.

    Raises:
        UnsupportedLayer: There is no rule.

    >>> module_operations(nn.AvgPool2d(2), "pool", None, 0)[0].divisor
    4.0
    """
    kind = type(module).__name__
    if isinstance(module, _IDENTITY):
        return []
    if weights is not None:
        return _weighted(module, name, weights, channels_last)
    if isinstance(module, nn.Flatten):
        if (module.start_dim, module.end_dim) != (1, -1):
            raise UnsupportedLayer(name, kind, "only Flatten() of everything but the batch has a rule")
        return [Flatten()]
    if isinstance(module, nn.Unflatten):
        if module.dim not in (1, -1):
            raise UnsupportedLayer(name, kind, "only Unflatten(1, ...) has a rule")
        return [Unflatten(tuple(int(n) for n in module.unflattened_size))]
    for pool, axes in _POOLS.items():
        if isinstance(module, pool):
            return [_pool(name, kind, axes, vars(module))]
    for adaptive, axes in _ADAPTIVE.items():
        if isinstance(module, adaptive):
            return [_adaptive(module.output_size, axes)]
    if type(module) in _PADS:
        return [_pad(module.padding, _PADS[type(module)])]
    if isinstance(module, nn.LayerNorm | nn.RMSNorm | nn.GroupNorm | ChannelNorm):
        return [_norm(module, name, kind, channels_last)]
    raise UnsupportedLayer(name, kind, reason_against(module) or "there is no rule for it")


def _weighted(module: nn.Module, name: str, weights: LayerWeights, channels_last: int) -> list[Operation]:
    if isinstance(module, nn.Linear):
        if channels_last:  # at every position alone: a convolution of one tap
            return [Conv(module.in_features, module.out_features, (Window(1),) * channels_last, weights)]
        return [Dense(module.in_features, module.out_features, weights)]
    assert isinstance(module, nn.Conv1d | nn.Conv2d | nn.Conv3d)
    if module.groups != 1:
        raise UnsupportedLayer(
            name, type(module).__name__, f"groups={module.groups}: a group is not infinitely wide"
        )
    reach = [d * (k - 1) for d, k in zip(module.dilation, module.kernel_size, strict=True)]
    if module.padding == "same":
        pads = [(r // 2, r - r // 2) for r in reach]
    elif module.padding == "valid":
        pads = [(0, 0)] * len(reach)
    else:
        pads = [(int(p), int(p)) for p in module.padding]
    before: list[Operation] = []
    if module.padding_mode in ("reflect", "replicate"):
        before = [Pad(tuple(a for a, _ in pads), tuple(b for _, b in pads), module.padding_mode)]
        pads = [(0, 0)] * len(reach)
    circular = module.padding_mode == "circular"
    windows = tuple(
        Window(k, s, d, a, b, circular)
        for k, s, d, (a, b) in zip(module.kernel_size, module.stride, module.dilation, pads, strict=True)
    )
    return [*before, Conv(module.in_channels, module.out_channels, windows, weights)]


def _pool(name: str, kind: str, axes: int, settings: dict[str, Any]) -> Pool:
    if settings.get("ceil_mode"):
        raise UnsupportedLayer(name, kind, "ceil_mode has no rule; pad the input instead")
    size = _each(settings["kernel_size"], axes)
    stride = _each(settings.get("stride") or settings["kernel_size"], axes)
    padding = _each(settings.get("padding", 0), axes)
    windows = tuple(Window(k, s, 1, p, p) for k, s, p in zip(size, stride, padding, strict=True))
    taps = 1.0
    for k in size:
        taps *= k
    covered = any(padding) and not settings.get("count_include_pad", True)
    return Pool(windows, settings.get("divisor_override") or (None if covered else taps))


def _each(value: Any, axes: int) -> tuple[int, ...]:
    values = (value,) * axes if isinstance(value, int) else tuple(value)
    return values * axes if len(values) == 1 else values


def _adaptive(output_size: Any, axes: int) -> GlobalPool | AdaptivePool:
    sizes = tuple(output_size) if isinstance(output_size, tuple | list) else (output_size,) * axes
    return GlobalPool(True, axes) if set(sizes) == {1} else AdaptivePool(sizes)


def _pad(padding: Any, mode: str) -> Pad:
    pairs = [(padding[i], padding[i + 1]) for i in range(0, len(padding), 2)][::-1]  # last axis comes first
    return Pad(tuple(int(a) for a, _ in pairs), tuple(int(b) for _, b in pairs), mode)


def _norm(module: nn.Module, name: str, kind: str, channels_last: int) -> Normalise:
    if isinstance(module, ChannelNorm):
        return Normalise("channels", module.eps)
    if isinstance(module, nn.GroupNorm):
        if module.num_groups == module.num_channels:
            raise UnsupportedLayer(name, kind, "a group of one channel is not infinitely wide")
        return Normalise("all", module.eps)
    assert isinstance(module, nn.LayerNorm | nn.RMSNorm)
    centred = isinstance(module, nn.LayerNorm)
    return _layer_norm(name, kind, tuple(module.normalized_shape), module.eps, centred, channels_last)


def _layer_norm(
    name: str, kind: str, shape: tuple[int, ...], eps: float | None, centred: bool, channels_last: int
) -> Normalise:
    eps = torch.finfo(torch.float64).eps if eps is None else eps  # as RMSNorm does; kernels are in float64
    if channels_last and len(shape) == 1:
        return Normalise("channels", eps, None, centred)
    if channels_last:
        raise UnsupportedLayer(
            name, kind, "over positions with the channels last; move the channels back first"
        )
    return Normalise("all", eps, shape, centred)


def norm_function(
    target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str, channels_last: int
) -> list[Operation] | None:
    """The operation of `F.layer_norm` or `F.rms_norm` called on a tensor; None for other functions.

    Raises:
        UnsupportedLayer: A shape that is computed, or a scale or shift.

    >>> norm_function(F.rms_norm, ((8,),), {"eps": 0.1}, "norm", 0)
    [Normalise(over='all', eps=0.1, shape=(8,), centred=False)]
    """
    if target not in (F.layer_norm, F.rms_norm):
        return None
    centred = target is F.layer_norm
    names = ("normalized_shape", "weight", *(["bias"] if centred else []), "eps")
    settings = dict(zip(names, args, strict=False)) | kwargs
    shape = settings["normalized_shape"]
    if not isinstance(shape, tuple | list) or not all(isinstance(n, int) for n in shape):
        raise UnsupportedLayer(name, target.__name__, "its shape is computed; write it as numbers")
    if settings.get("weight") is not None or settings.get("bias") is not None:
        raise UnsupportedLayer(
            name, target.__name__, "it has a scale or shift; nn.LayerNorm has a rule, which takes 1 and 0"
        )
    eps = settings.get("eps", 1e-5 if centred else None)
    return [_layer_norm(name, target.__name__, tuple(shape), eps, centred, channels_last)]


def functional_operation(
    target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str
) -> list[Operation] | None:
    """The operations of a function or tensor method called on a tensor; None if there is no rule.

    Args:
        target: The function, or the name of the method.
        args: Arguments after the tensor.
        kwargs: Keyword arguments.
        name: What messages call it.

    >>> functional_operation(torch.flatten, (1,), {}, "flatten")
    [Flatten(features=None)]
    """
    for targets, rule in _FUNCTIONS:
        if target in targets:
            return rule(args, kwargs, name)
    return None


def _flatten(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> list[Operation] | None:
    start = args[0] if args else kwargs.get("start_dim", 0)
    end = args[1] if len(args) > 1 else kwargs.get("end_dim", -1)
    return [Flatten()] if (start, end) == (1, -1) else None


def _view(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> list[Operation] | None:
    sizes = args[0] if len(args) == 1 and isinstance(args[0], tuple | list) else args
    numbers = [n for n in sizes[1:] if isinstance(n, int)]
    if len(sizes) == 2 and (isinstance(sizes[0], torch.fx.Node) or sizes[0] == -1):
        last = sizes[1]
        return [Flatten(last if isinstance(last, int) and last > 0 else None)]
    if len(numbers) == len(sizes) - 1 and len(sizes) > 2 and min(numbers) > 0:
        return [Unflatten(tuple(numbers))]
    return None


def _mean(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> list[Operation] | None:
    dim = args[0] if args else kwargs.get("dim")
    keep = args[1] if len(args) > 1 else kwargs.get("keepdim", False)
    dims = (dim,) if isinstance(dim, int) else tuple(dim or ())
    spatial = {(2,), (-1,), (2, 3), (-2, -1), (2, 3, 4), (-3, -2, -1)}
    return [GlobalPool(bool(keep), len(dims))] if tuple(sorted(dims)) in spatial else None


def _avg_pool(axes: int) -> Callable[[tuple[Any, ...], dict[str, Any], str], list[Operation] | None]:
    names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")

    def rule(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> list[Operation] | None:
        return [_pool(name, f"avg_pool{axes}d", axes, dict(zip(names, args, strict=False)) | kwargs)]

    return rule


def _adaptive_pool(axes: int) -> Callable[[tuple[Any, ...], dict[str, Any], str], list[Operation] | None]:
    def rule(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> list[Operation] | None:
        size = args[0] if args else kwargs["output_size"]
        return [_adaptive(size, axes)]

    return rule


def _pad_function(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> list[Operation] | None:
    settings = dict(zip(("pad", "mode", "value"), args, strict=False)) | kwargs
    mode = settings.get("mode", "constant")
    if mode == "constant" and settings.get("value"):
        return None
    return [_pad(settings["pad"], "zeros" if mode == "constant" else mode)]


def _dropout(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> list[Operation] | None:
    settings = dict(zip(("p", "training"), args, strict=False)) | kwargs
    if settings.get("training", True) and settings.get("p", 0.5):
        reason = "without training= it drops in evaluation too; give it training=self.training"
        raise UnsupportedLayer(name, "dropout", reason)
    return []


def _identity(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> list[Operation] | None:
    return []


_FUNCTIONS: list[tuple[tuple[Any, ...], Callable[..., list[Operation] | None]]] = [
    ((torch.flatten, "flatten"), _flatten),
    ((torch.reshape, "view", "reshape"), _view),
    ((torch.mean, "mean"), _mean),
    ((F.avg_pool1d,), _avg_pool(1)),
    ((F.avg_pool2d,), _avg_pool(2)),
    ((F.avg_pool3d,), _avg_pool(3)),
    ((F.adaptive_avg_pool1d,), _adaptive_pool(1)),
    ((F.adaptive_avg_pool2d,), _adaptive_pool(2)),
    ((F.adaptive_avg_pool3d,), _adaptive_pool(3)),
    ((F.pad,), _pad_function),
    ((F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout), _dropout),
    (("contiguous",), _identity),
]
