"""Declared networks as modules."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.dynamics import build_module, equivariant_weights
from symscope.dynamics.layer_vectors import equivariant_split, gaussian_weights, project
from tests.dynamics.networks import networks, seeded
from tests.tolerances import ROUNDING


@pytest.mark.parametrize("name", networks())
def test_modules_compute_the_functional_form(name):
    net = networks()[name]
    weights = gaussian_weights(net, seeded(0))
    x = torch.randn(5, net.sources[0].dim, dtype=torch.float64, generator=seeded(1))
    dense, inside = (
        build_module(net, weights, equivariant=False),
        build_module(net, weights, equivariant=True),
    )
    assert torch.allclose(dense(x), net.forward(weights, x))
    assert torch.allclose(inside(x), net.forward(project(net, weights), x))
    assert sum(p.numel() for p in dense.parameters()) == net.parameters
    assert sum(p.numel() for p in inside.parameters()) == net.equivariant_dimension


def test_training_leaves_e_only_in_the_dense_module():
    net = networks()["C5"]
    weights = equivariant_weights(net, seeded(0))
    x = torch.randn(9, 5, dtype=torch.float64, generator=seeded(1))
    y = torch.randn(9, 5, dtype=torch.float64, generator=seeded(2))
    drift = []
    for equivariant in (True, False):
        module = build_module(net, weights, equivariant=equivariant)
        optimiser = torch.optim.SGD(module.parameters(), lr=0.01)
        for _ in range(5):
            optimiser.zero_grad()
            (module(x) - y).square().mean().backward()
            optimiser.step()
        drift.append(float(equivariant_split(net, [m.detach() for m in module.matrices()]).total_residual))
    assert drift[0] < ROUNDING
    assert drift[1] > 1e-3


def test_modules_save_and_load(tmp_path):
    net = networks()["D4"]
    module = build_module(net, equivariant=True, generator=seeded(0))
    torch.save(module.state_dict(), tmp_path / "weights.pt")
    other = build_module(net, equivariant=True, generator=seeded(1))
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    x = torch.randn(3, net.sources[0].dim, dtype=torch.float64, generator=seeded(2))
    assert torch.equal(module(x), other(x))


def test_bad_input():
    net = networks()["C5"]
    with pytest.raises(InputError, match="weights, or a generator"):
        build_module(net, equivariant=True)
    with pytest.raises(InputError, match="without an axis of runs"):
        build_module(net, gaussian_weights(net, seeded(0), runs=(2,)), equivariant=False)
