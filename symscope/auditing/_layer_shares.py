"""What each layer adds to the error of the outputs, by putting right, layer after layer, what it returns.

`E_k` is the error of the outputs when the first k layers return, for `g x`, exactly what they should: their
output for x, moved by g. `E_0` is the whole error, and `E_{k-1}^2 - E_k^2` is what layer k adds by itself,
with whatever stands between it and the layer before: the parts add up to the whole. A layer whose output
moves in a way that is not known (putting it right makes the error larger) is left as it is, and counts with
the next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from jaxtyping import Float64, Shaped
from torch import Tensor, nn

from symscope.auditing._layers import LayerCall, Mover, layer_calls, layer_errors, leaves, output_mover
from symscope.auditing._subject import Subject

MOST_CALLS = 40  # of layers that are put right one by one; more are thinned out
WORSE = 1.05  # times the error before: putting right made it larger
QUIET = 1e-3  # own error of a layer that keeps the symmetry
NORMS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.LocalResponseNorm, nn.RMSNorm)


@final
@dataclass(frozen=True, eq=False)
class LayerShare:
    """What one layer adds to the error of the outputs.

    Attributes:
        layer: Name of the layer in the network; "outputs" for what stands after the last one.
        kind: Class of the layer.
        own: Its error by itself, `|L(g a) - g L(a)| / |L(a)|`; NaN where it is not known.
        added: What it adds to the squared error of each sample, over what varies between samples.
        given: Shape of its input.
        flattened: Whether its input is maps, flattened.
        mixes: Whether it has weights and mixes positions.
        inherited: Name of a layer before it that breaks the symmetry and whose part is counted here; "" for
            none.
        counted: Whether it was put right; False for one whose part is counted with the next layer.
    """

    layer: str
    kind: str
    own: float
    added: Float64[Tensor, "m"]
    given: tuple[int, ...]
    flattened: bool
    mixes: bool
    inherited: str = ""
    counted: bool = True


def layer_shares(
    subject: Subject,
    x: Shaped[Tensor, "m *s"],
    elements: Sequence[int],
    module: nn.Module | None = None,
    most: int = MOST_CALLS,
) -> tuple[LayerShare, ...]:
    """What each layer adds, in the order of the layers; the parts add up to the squared error.

    Args:
        subject: Network and actions.
        x: Samples; few are enough.
        elements: Elements, best those that act exactly.
        module: Another network than the audited one.
        most: Calls of layers that are put right one by one; of more, some.
    """
    chosen = subject.module if module is None else module
    with torch.no_grad():
        start = subject.inputs(x, chosen)
        own, _ = layer_errors(
            chosen, lambda samples: subject.inputs(samples, chosen), subject.action, list(elements), x
        )
        calls = layer_calls(chosen, start)
        movers = [output_mover(call, subject.action, x)[0] for call in calls]
        right: dict[tuple[int, int], Tensor] = {}  # what a call should return under an element
        plain = subject.call(chosen, start).double().cpu()
        spread = (plain - plain.mean(0)).flatten(1).square().sum(1).mean().clamp_min(1e-300)

        def apart(places: frozenset[int]) -> Tensor:
            """The squared error of each sample with these calls put right."""
            total = torch.zeros(len(x), dtype=torch.float64)
            for g in elements:
                inputs = subject.inputs(subject.moved(g, x), chosen)
                for k in places:
                    if (k, g) not in right and (mover := movers[k]) is not None:
                        right[k, g] = mover(g, calls[k].output)
                out = _put_right(chosen, inputs, calls, {k: right[k, g] for k in places})
                back = subject.moved_back(g, out.double().cpu())
                total += (back - plain).flatten(1).square().sum(1)
            return total / len(elements) / spread

        done: frozenset[int] = frozenset()
        before = apart(done)
        shares, last, left = [], -1, ""
        for k in _listed(calls, movers, own, most):
            after = apart(done | {k})
            if float(after.mean()) > WORSE * float(before.mean()) + 1e-12:
                skipped = _share(calls[k], own, torch.zeros_like(before), start)
                left = left or (skipped.layer if skipped.own > QUIET else "")
                shares.append(replace(skipped, mixes=False, counted=False))
                continue
            done |= {k}
            # a stride may leave maps that the group cannot move: what follows is that layer's
            unknown = next((j for j in range(last + 1, k) if movers[j] is None), k)
            shares.append(replace(_share(calls[unknown], own, before - after, start), inherited=left))
            before, last, left = after, k, ""
    rest = LayerShare("outputs", "", float("nan"), before, tuple(plain.shape[1:]), False, False, left)
    return (*shares, rest)


def _share(call: LayerCall, own: dict[str, float], added: Tensor, start: Tensor) -> LayerShare:
    rows = call.given.numel() == start.numel() and call.given.ndim == 2 and start.ndim > 2
    flattened = rows or (call.maps is not None and math.prod(call.maps[1:]) > 1)
    return LayerShare(
        call.name,
        type(call.part).__name__,
        own.get(call.name, float("nan")),
        added,
        tuple(call.given.shape[1:]),
        flattened,
        mixes_positions(call, flattened),
    )


def mixes_positions(call: LayerCall, flattened: bool) -> bool:
    """Whether a layer with weights of its own makes outputs of several positions; norms count as none."""
    if next(call.part.parameters(recurse=False), None) is None or isinstance(call.part, NORMS):
        return False
    given, out = call.given, call.output
    if given.ndim == 2:
        return flattened
    if given.ndim == 3:
        return not isinstance(call.part, nn.Linear)
    size = getattr(call.part, "kernel_size", None)
    if isinstance(size, tuple):
        return max(size) > 1
    if given.shape[2:] != out.shape[2:]:
        return True
    changed = given.clone()
    changed[..., 0, 0] += 1.0  # does another position notice?
    difference = (call.part(changed) - out).abs().sum((0, 1))
    return bool((difference > 1e-9 * difference.max()).sum() > 1)


def _listed(
    calls: list[LayerCall], movers: list[Mover | None], own: dict[str, float], most: int
) -> list[int]:
    """The calls to put right, in their order; of many, those of layers that break the symmetry, and some "
    "more."""
    known = [k for k, mover in enumerate(movers) if mover is not None]
    if len(known) <= most:
        return known
    loud = [k for k in known if own.get(calls[k].name, 0.0) > QUIET]
    if len(loud) > most:
        loud = loud[:: -(-len(loud) // most)]
    spare = max(1, most - len(loud))
    return sorted({*loud, *known[:: -(-len(known) // spare)], known[-1]})


def _put_right(module: nn.Module, inputs: Tensor, calls: list[LayerCall], right: dict[int, Tensor]) -> Tensor:
    """The outputs when some calls, by number, return what they should."""
    numbers: dict[str, list[int]] = {}
    for k, call in enumerate(calls):
        numbers.setdefault(call.name, []).append(k)
    seen: dict[str, int] = {}

    def hook(name: str) -> Callable[[nn.Module, Any, Any], Any]:
        def replaced(part: nn.Module, arguments: Any, out: Any) -> Any:
            if not (isinstance(out, Tensor) and out.ndim >= 2):
                return None
            place = seen.get(name, 0)
            seen[name] = place + 1
            mine = numbers.get(name, [])
            wanted = right.get(mine[place]) if place < len(mine) else None
            return wanted.clone() if wanted is not None and wanted.shape == out.shape else None

        return replaced

    hooks = [part.register_forward_hook(hook(name)) for name, part in leaves(module)]
    try:
        result: Tensor = module(inputs)
    finally:
        for one in hooks:
            one.remove()
    return result if result.ndim > 1 else result[:, None]
