"""Hidden spaces of attention: queries with keys, values with the output, head by head."""

from __future__ import annotations

import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from symscope.discovery.layout import Layout
from symscope.discovery.spaces import Between, HiddenSpace, Side


def attention_spaces(name: str, module: nn.MultiheadAttention, layout: Layout) -> list[HiddenSpace]:
    """For every head: `Q -> A Q, K -> A^-T K` and `V -> A V, O -> O A^-1`, biases included.

    Args:
        name: Of the module.
        module: torch's own attention.
        layout: Of the whole network.

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
        pair = (Side(weight, query[part], False), Side(weight, key[part], True))
        spaces.append(HiddenSpace(f"queries and keys of {where}", pair, Between.LINEAR))
        pair = (Side(weight, value[part], False), Side(out, columns[part], True))
        shifts: tuple[tuple[Tensor, Tensor | None], ...] = ()
        if biases is not None and out_bias in layout.names:
            own = biases.chunk(3)[2][part, None]
            shifts = ((own, None), (columns[part], layout.indices(out_bias)))
        spaces.append(HiddenSpace(f"values of {where}", pair, Between.LINEAR, shifts))
    return spaces


def product_spaces(graph: fx.Graph, named: dict[str, nn.Module], layout: Layout) -> list[HiddenSpace]:
    """Queries and keys of attention written out: two linear layers whose outputs only meet in a product.

    Found are `q @ k.transpose(...)`, `q @ k.mT` and `scaled_dot_product_attention(q, k, v)` where q and k
    come straight from `nn.Linear`.
    """
    spaces = []
    for node in graph.nodes:
        pair = _factors(node)
        if pair is None:
            continue
        layers = [_linear(end, named) for end in pair]
        first, second = layers
        if first is None or second is None or first == second:
            continue
        sides = [_rows(n, named[n], layout) for n in (first, second)]
        left, right = sides
        if left is None or right is None or left.shape[0] != right.shape[0]:
            continue
        both = (Side(f"{first}.weight", left, False), Side(f"{second}.weight", right, True))
        spaces.append(HiddenSpace(f"products of {first} and {second}", both, Between.LINEAR))
    return spaces


def _factors(node: fx.Node) -> tuple[fx.Node, fx.Node] | None:
    """The two factors of a product over units, each used nowhere else."""
    args = node.args
    if node.target is functional.scaled_dot_product_attention and len(args) >= 2:
        left, right = args[0], args[1]
    elif (
        getattr(node.target, "__name__", node.target) in ("matmul", "bmm")
        and len(args) == 2
        and isinstance(args[1], fx.Node)
        and _transposes(args[1])
    ):
        left, right = args[0], args[1].args[0]
        if len(args[1].users) != 1:
            return None
    else:
        return None
    if not isinstance(left, fx.Node) or not isinstance(right, fx.Node):
        return None
    return (left, right) if len(left.users) == 1 and len(right.users) == 1 else None


def _transposes(node: fx.Node) -> bool:
    if node.target is getattr:
        return node.args[1] in ("mT", "T")
    return node.target in ("transpose", torch.transpose, "t", torch.t)


def _linear(node: fx.Node, named: dict[str, nn.Module]) -> str | None:
    found = node.op == "call_module" and isinstance(named.get(str(node.target)), nn.Linear)
    return str(node.target) if found else None


def _rows(name: str, module: nn.Module, layout: Layout) -> Tensor | None:
    if f"{name}.weight" not in layout.names:
        return None
    rows = layout.indices(f"{name}.weight")
    if getattr(module, "bias", None) is None:
        return rows
    if f"{name}.bias" not in layout.names:
        return None
    return torch.cat([rows, layout.indices(f"{name}.bias")[:, None]], 1)
