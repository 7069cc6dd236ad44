"""The torch.fx graph of a module, stopping at the layers the caller has rules for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from torch import fx, nn

from symscope.errors import InputError

# What torch.fx, and a forward that is given proxies instead of tensors, raise.
_FAILURES = (fx.proxy.TraceError, TypeError, RuntimeError, AttributeError, ValueError, AssertionError)


@final
class UntraceableModule(InputError):  # noqa: N818 - named for what it is about
    """A module torch.fx cannot trace, as when its control flow depends on the data.

    Attributes:
        layer: Qualified name of the part in which tracing failed; empty for the module itself.
        kind: Class name of that part.
        reason: Why, without the name of the part.
    """

    def __init__(self, layer: str, kind: str, error: Exception) -> None:
        self.layer, self.kind = layer, kind
        self.reason = f"torch.fx cannot trace it, as when its control flow depends on the data ({error})"
        super().__init__(f"layer {layer!r} ({kind}): {self.reason}")


def trace_module(module: nn.Module, is_leaf: Callable[[nn.Module], bool] | None = None) -> fx.Graph:
    """The graph of a module: one node for each of torch.nn's own layers and each function called.

    Args:
        module: The module; its own forward is always traced, even where it is one of torch.nn's layers.
        is_leaf: Says which further modules become one node instead of being traced into.

    Returns:
        The graph; targets of `call_module` nodes are names of the module's parts.

    Raises:
        UntraceableModule: The control flow depends on the data, or tracing fails for another reason.

    >>> graph = trace_module(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
    >>> [node.op for node in graph.nodes]
    ['placeholder', 'call_module', 'call_module', 'output']
    """
    tracer = _Tracer(is_leaf)
    try:
        return tracer.trace(module)
    except _FAILURES as error:
        layer, kind = tracer.inside[-1] if tracer.inside else ("", type(module).__name__)
        raise UntraceableModule(layer, kind, error) from error


@final
class _Tracer(fx.Tracer):
    """Stops at torch.nn's layers and at the caller's; remembers which part it is in."""

    def __init__(self, is_leaf: Callable[[nn.Module], bool] | None) -> None:
        super().__init__()
        self.further_leaf = is_leaf
        self.inside: list[tuple[str, str]] = []

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        further = self.further_leaf is not None and self.further_leaf(m)
        return further or super().is_leaf_module(m, module_qualified_name)

    def call_module(
        self, m: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self.inside.append((self.path_of_module(m), type(m).__name__))
        result = super().call_module(m, forward, args, kwargs)
        self.inside.pop()
        return result
