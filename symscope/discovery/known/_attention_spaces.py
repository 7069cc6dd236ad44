"""Hidden spaces of torch's own attention: queries with keys, values with the output, head by head."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from symscope.discovery._parameter_layout import ParameterLayout
from symscope.discovery.known._spaces import ActivationKind, HiddenSide, HiddenSpace


def attention_spaces(name: str, module: nn.MultiheadAttention, layout: ParameterLayout) -> list[HiddenSpace]:
    """For every head: `Q -> A Q, K -> A^-T K` and `V -> A V, O -> O A^-1`, biases included.

    Args:
        name: Name of the module.
        module: Module, torch's own attention.
        layout: Layout of the whole network's parameters.

    Returns:
        Two spaces a head; none where the projections are frozen or of different sizes.
    """
    stem = f"{name}." if name else ""
    weight, bias = f"{stem}in_proj_weight", f"{stem}in_proj_bias"
    out, out_bias = f"{stem}out_proj.weight", f"{stem}out_proj.bias"
    if weight not in layout.names or out not in layout.names:
        return []
    if module.in_proj_bias is not None and bias not in layout.names:
        return []
    rows = layout.indices(weight)
    biases = layout.indices(bias) if bias in layout.names else None
    if biases is not None:
        rows = torch.cat([rows, biases[:, None]], 1)
    query, key, value = rows.chunk(3)
    columns = layout.indices(out).T
    spaces, size = [], module.head_dim
    for head in range(module.num_heads):
        part = slice(head * size, (head + 1) * size)
        where = f"head {head} of {name or 'the attention'}"
        pair = (HiddenSide(weight, query[part], False), HiddenSide(weight, key[part], True))
        spaces.append(HiddenSpace(f"queries and keys of {where}", pair, ActivationKind.LINEAR))
        pair = (HiddenSide(weight, value[part], False), HiddenSide(out, columns[part], True))
        shifts: tuple[tuple[Tensor, Tensor | None], ...] = ()
        if biases is not None and out_bias in layout.names:
            own = biases.chunk(3)[2][part, None]
            shifts = ((own, None), (columns[part], layout.indices(out_bias)))
        spaces.append(HiddenSpace(f"values of {where}", pair, ActivationKind.LINEAR, shifts))
    return spaces


def unit_rows(name: str, module: nn.Module, layout: ParameterLayout) -> Tensor | None:
    """Positions `[out, in (+ 1)]` of a layer by output unit, its bias last; None where a part is frozen."""
    stem = f"{name}." if name else ""
    if f"{stem}weight" not in layout.names:
        return None
    weight = layout.indices(f"{stem}weight")
    rows = weight.reshape(weight.shape[0], -1)
    if getattr(module, "bias", None) is None:
        return rows
    if f"{stem}bias" not in layout.names:
        return None
    return torch.cat([rows, layout.indices(f"{stem}bias")[:, None]], 1)
