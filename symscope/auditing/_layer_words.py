"""Why a layer breaks a symmetry, in words: stride, padding, sizes, positions, flattening, batch norm."""

from __future__ import annotations

from typing import Any

from torch import nn

from symscope.auditing._layer_shares import QUIET, LayerShare
from symscope.auditing._subject import Subject
from symscope.data import Action

PADS = (nn.ZeroPad2d, nn.ConstantPad2d, nn.ReflectionPad2d, nn.ReplicationPad2d)


def layer_reason(share: LayerShare, subject: Subject) -> str:
    """What in a layer, or between it and the one before, breaks the symmetry, in a few words.

    Args:
        share: What the layer adds.
        subject: The network and actions.
    """
    module, action = subject.module, subject.action
    part = dict(module.named_modules()).get(share.layer) if share.kind else None
    if not share.counted:
        return "counted with the next layer: put right alone, the error is larger"
    if part is None or share.own <= QUIET:
        return _between_reason(share, subject, part)
    if isinstance(part, nn.Linear) and share.flattened:
        return "flatten + linear: every position has weights of its own"
    if isinstance(part, nn.modules.batchnorm._BatchNorm) and share.flattened:
        return "batch norm with statistics of its own for every position"
    if isinstance(part, nn.LayerNorm) and len(part.normalized_shape) > 1:
        return "a norm with scales of its own for every position"
    if isinstance(part, PADS):
        left, right = part.padding[:2]
        if left != right:
            return f"padding of {left} on one side and {right} on the other"
    if hasattr(part, "kernel_size"):
        return _window_reason(share, part, action)
    sizes = share.given[-2:]
    if any(tuple(one.shape[-2:]) == sizes and max(sizes) > 1 for one in part.parameters(recurse=False)):
        return "weights of its own for every position"
    return "it is not equivariant by itself"


def _between_reason(share: LayerShare, subject: Subject, part: nn.Module | None) -> str:
    """Why what comes before a layer breaks the symmetry: a layer counted here, positions, or a function."""
    if part is None and subject.target is None and len(share.given) > 1:
        return "the outputs have positions; if these should move with the samples, say target_action='image'"
    if share.inherited and part is None:
        return f"the part of layer {share.inherited!r} before it counts here"
    if share.inherited:
        return f"it keeps the symmetry itself: the part of layer {share.inherited!r} before it counts here"
    where = "it" if part is not None else "the outputs"
    held = positional_tensors(subject.module, share.given)
    if held:
        return f"positions enter before {where}: {held[0]} has values of its own for every position"
    return (
        f"the forward does something before {where} that is not equivariant: positions that are added, "
        "coordinates, a reshape, or a function with a stride or padding"
    )


def positional_tensors(module: nn.Module, shape: tuple[int, ...]) -> list[str]:
    """Names of tensors that parts with layers of their own hold, with a value for every position of maps."""
    if len(shape) < 2:
        return []
    sides = tuple(shape[-2:]) if len(shape) > 2 else (shape[0],)  # of maps, or of tokens
    result = []
    for name, part in module.named_modules():
        if next(part.children(), None) is None:
            continue
        own = (*part.named_parameters(name, recurse=False), *part.named_buffers(name, recurse=False))
        for called, tensor in own:
            sizes = tuple(tensor.shape[-2:]) if len(shape) > 2 else tuple(tensor.shape[-2:-1])
            if sizes == sides and max(sides) > 1:
                result.append(called)
    return result


def _window_reason(share: LayerShare, part: nn.Module, action: Action) -> str:
    kernel, stride, padding = (_last(part, key) for key in ("kernel_size", "stride", "padding"))
    size, shifted = share.given[-1], action.name.startswith("shift")
    reasons = []
    if stride > 1 and shifted:
        reasons.append(f"stride {stride}: shifts by other numbers of positions fall between its windows")
    left = (size + 2 * padding - kernel) % stride
    if not shifted and left:
        reasons.append(
            f"windows of {kernel} in steps of {stride} on {size} positions leave {left} over on one side"
        )
    if padding and shifted and getattr(part, "padding_mode", "zeros") != "circular":
        reasons.append(f"zero padding of {padding} shows where the edge is")
    if not reasons and kernel % 2 == 0 and stride == 1:
        reasons.append(f"an even size, {kernel}, has no centre")
    if not reasons:
        named = action.name.partition(":")[0]
        reasons.append(f"its filters are not symmetric under {named}")
    return "; ".join(reasons)


def _last(part: nn.Module, key: str) -> int:
    value: Any = getattr(part, key, 0 if key == "padding" else 1)
    if value == "same":
        return (_last(part, "kernel_size") - 1) // 2
    if value == "valid":
        return 0
    value = value[-1] if isinstance(value, (tuple, list)) else value
    return _last(part, "kernel_size") if value is None else int(value)
