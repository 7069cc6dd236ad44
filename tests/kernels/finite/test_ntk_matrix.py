from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.kernels.finite._empirical_ntk import empirical_ntk, empirical_ntk_blocks
from symscope.kernels.finite._ntk_matrix import (
    WeightParts,
    check_method,
    tangent_matrix,
    tangent_norms,
    weight_parts,
)
from symscope.kernels.finite._structured_plan import Size
from symscope.networks import FunctionalModule, forward_profile, functional_module
from tests.kernels.networks import dense_jacobian, inputs
from tests.kernels.structured_networks import structured_network
from tests.tolerances import ROUNDING


def parts_of(
    net: nn.Module, x: torch.Tensor, whole: bool = False, memory: int = 10**9, method: str = "auto"
) -> tuple[WeightParts, FunctionalModule]:
    network = functional_module(net)
    seen = forward_profile(network, x)
    eye = torch.eye(seen.outputs, dtype=torch.float64)
    size = Size(1, len(x), None, False, len(eye), whole)
    return weight_parts(network, seen, x, size, eye, memory, method), network


@pytest.mark.parametrize("whole", [False, True])
def test_auto_is_structured_where_that_is_cheaper(whole):
    dense = nn.Sequential(nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 10)).double()
    how, _ = parts_of(dense, inputs(20, (30,)), whole)
    assert how.method == "structured"
    assert how.network is None
    conv = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 64, 10)).double()
    assert parts_of(conv, inputs(20, (1, 10, 10)), whole)[0].method == "structured"


def test_auto_is_something_else_where_nothing_has_structure():
    recurrent = nn.LSTM(3, 4, batch_first=True)
    net = nn.Sequential(recurrent).double()

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = net

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)[0][:, -1]

    how, network = parts_of(Last(), inputs(4, (5, 3)))
    assert how.layers is None
    assert how.network is network
    assert parts_of(Last(), inputs(4, (5, 3)), method="structured")[0].method == "contraction"


class Table(nn.Module):
    """Nearly all weights are in a matrix of the module's own."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(inputs(9, (40,), seed=3))
        self.last = nn.Linear(40, 1, dtype=torch.float64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last((x[:, :, None] * x[:, None]).flatten(1) @ self.table)


def test_auto_leaves_structure_alone_if_it_saves_nothing():
    net, x = Table(), inputs(3, (3,))
    how, _ = parts_of(net, x)
    assert how.method == "contraction"  # the table's Jacobian is needed anyway, and has the rest at hand
    j = dense_jacobian(net, x)
    for method in ("auto", "structured"):
        result = empirical_ntk(net, method=method)(x)
        assert torch.allclose(result, torch.einsum("iap,jap->ij", j, j), rtol=ROUNDING)


def test_other_methods_can_be_chosen():
    net, points, _ = structured_network("strided")
    for method in ("structured", "contraction", "products"):
        assert parts_of(net, points(3), True, method=method)[0].method == method


def test_weights_without_structure_are_a_part_of_their_own():
    net, points, _ = structured_network("attention")
    how, network = parts_of(net, points(3), method="structured")
    assert how.network is not None
    assert {name.split(".")[1] for name in how.network.trainable} == {"self_attn"}
    assert (
        how.network.trainable.keys() | {p for layer in how.layers.layers for p in layer.parameters}
        == network.trainable.keys()
    )


def test_a_budget_too_small_for_jacobians_may_do_for_layers():
    net = nn.Sequential(nn.Linear(200, 100), nn.ReLU(), nn.Linear(100, 10)).double()
    x = inputs(6, (200,))
    memory = 400_000  # two Jacobian rows take 700 kB, and four copies of the weights as much
    for method in ("contraction", "products"):
        with pytest.raises(InputError, match=f"{method} needs at least"):
            empirical_ntk_blocks(net, x, memory=memory, method=method)
    j = dense_jacobian(net, x)
    result = empirical_ntk_blocks(net, x, memory=memory)
    assert torch.allclose(result, torch.einsum("iap,jbp->ijab", j, j), rtol=ROUNDING, atol=ROUNDING)
    with pytest.raises(InputError, match="structured needs at least"):
        empirical_ntk_blocks(net, x, memory=1000, method="structured")
    with pytest.raises(InputError, match="needs at least"):
        empirical_ntk_blocks(net, x, memory=1000)


def test_layers_that_change_with_the_data_are_left_to_the_general_method():
    net, points, _ = structured_network("rare")
    network, x = functional_module(net), points(5)
    j = dense_jacobian(net, x)
    eye = torch.eye(2, dtype=torch.float64)
    seen = forward_profile(network, x)
    result = tangent_matrix(network, seen, x[None], None, eye, 10**9, "structured", True)[0]
    assert torch.allclose(result, torch.einsum("iap,jbp->ijab", j, j), rtol=ROUNDING, atol=ROUNDING)
    norms = tangent_norms(network, seen, x, eye, 10**9, "structured")
    assert torch.allclose(norms, j.square().sum((1, 2)), rtol=ROUNDING)


def test_an_unknown_method_is_named():
    with pytest.raises(InputError, match=r"method: expected one of .*structured.*got 'dense'"):
        check_method("dense")
