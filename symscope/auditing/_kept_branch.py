"""Whether some part of a network keeps a symmetry by itself, whatever kind of layer it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor, nn

from symscope.auditing._layer_shares import QUIET
from symscope.auditing._layers import map_mover
from symscope.auditing._subject import Subject

VARIES = 1e-6  # of its size: what a part returns has to differ between samples


def keeps_symmetry(
    subject: Subject, x: Shaped[Tensor, "m *s"], elements: Sequence[int], module: nn.Module
) -> bool:
    """Whether a part with weights that is given the network's inputs, mixes their positions, and keeps g.

    Parts of several layers and of several arguments count too, such as tensor products and blocks of
    equivariant libraries, in whose inside the group acts in ways of their own.

    Args:
        subject: Actions and layout of the inputs.
        x: Samples; few are enough.
        elements: Elements, best those that act exactly.
        module: The network, best with fresh weights.
    """
    with torch.no_grad():
        start = subject.inputs(x, module)
        return any(
            _is_kept(subject, x, elements, module, part, count, out)
            for part, count, out in _parts_given(module, start)
        )


def _parts_given(module: nn.Module, start: Tensor) -> list[tuple[nn.Module, int, Tensor]]:
    """Parts with weights that are given nothing but the network's inputs: how often, and what they return."""
    result: list[tuple[nn.Module, int, Tensor]] = []

    def hook(part: nn.Module, arguments: Any, out: Any) -> None:
        inputs = bool(arguments) and all(
            isinstance(one, Tensor) and one.shape == start.shape and torch.equal(one, start)
            for one in arguments
        )
        if inputs and isinstance(out, Tensor) and out.ndim >= 2:
            result.append((part, len(arguments), out))

    hooks = [
        part.register_forward_hook(hook)
        for name, part in module.named_modules()
        if name and next(part.parameters(), None) is not None
    ]
    try:
        module(start)
    finally:
        for one in hooks:
            one.remove()
    return result


def _is_kept(
    subject: Subject,
    x: Tensor,
    elements: Sequence[int],
    module: nn.Module,
    part: nn.Module,
    count: int,
    out: Tensor,
) -> bool:
    mover, word = map_mover(out, subject.action, x)
    size = float(out.norm())
    if mover is None or float((out - out.mean(0)).norm()) <= VARIES * size:
        return False
    if word == "equivariant" and not _mixes(part, subject.inputs(x, module), count, out):
        return False
    for g in elements:
        moved = subject.inputs(subject.moved(g, x), module)
        if float((part(*[moved] * count) - mover(g, out)).norm()) > QUIET * size:
            return False
    return True


def _mixes(part: nn.Module, start: Tensor, count: int, out: Tensor) -> bool:
    """Whether a change of the first position is noticed at others."""
    changed = start.clone()
    changed[..., 0, 0] += 1.0
    difference = (part(*[changed] * count) - out).abs().flatten(2).sum((0, 1))
    return bool((difference > 1e-6 * difference.max()).sum() > 1)
