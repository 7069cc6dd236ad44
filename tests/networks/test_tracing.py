"""The torch.fx graph of a module: its nodes compute what the module does, failures name the part."""

from __future__ import annotations

import pytest
import torch
from torch import fx, nn

from symscope import InputError
from symscope.networks import UntraceableModule, trace_module


class Square(nn.Module):
    def forward(self, x):
        return x * x


class Choice(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), Square(), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))


def targets(graph: fx.Graph) -> list[str]:
    return [str(node.target) for node in graph.nodes if node.op == "call_module"]


def test_a_graph_computes_what_the_module_does():
    module, x = net(), torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(fx.GraphModule(module, trace_module(module))(x), module(x))


def test_own_modules_are_traced_into_unless_they_are_leaves():
    assert targets(trace_module(net())) == ["0", "2.0", "2.1"]
    assert targets(trace_module(net(), lambda m: isinstance(m, Square))) == ["0", "1", "2.0", "2.1"]


def test_the_module_itself_is_always_traced_into():
    assert targets(trace_module(nn.Linear(3, 2))) == []
    assert targets(trace_module(Square(), lambda m: True)) == []


def test_a_failure_names_the_part_it_is_in():
    with pytest.raises(UntraceableModule, match="control flow depends on the data") as caught:
        trace_module(nn.Sequential(nn.Linear(3, 3), nn.Sequential(Choice())))
    assert (caught.value.layer, caught.value.kind) == ("1.0", "Choice")
    with pytest.raises(InputError) as at_top:
        trace_module(Choice())
    assert isinstance(at_top.value, UntraceableModule)
    assert at_top.value.layer == ""


@pytest.mark.parametrize("error", [TypeError, RuntimeError, AttributeError, ValueError])
def test_whatever_a_forward_raises_on_proxies_is_a_failure_to_trace(error):
    class Picky(nn.Module):
        def forward(self, x):
            raise error("tensors only")

    with pytest.raises(UntraceableModule, match="tensors only"):
        trace_module(Picky())
