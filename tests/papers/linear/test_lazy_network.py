"""Lazy networks: zero at the start, weights that move like one over alpha, and in the limit linearised."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn

from symscope import InputError
from symscope.data.synthetic import permuted_cube
from symscope.linear.linearised import linearised_network
from symscope.networks.architectures import mlp, seeded_weights
from symscope_papers.linear.lazy.network import LazyNetwork, kernel_change, lazy_loss


def smooth():
    """No kinks: what linearisation neglects is then exactly of second order."""
    with seeded_weights(4):
        return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))


def trained(alpha, steps=30, rate=0.01):
    toy = permuted_cube(10, 2).completed()
    lazy = LazyNetwork(smooth(), alpha)
    optimiser = torch.optim.SGD([w for w in lazy.parameters() if w.requires_grad], lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = (lazy(toy.features)[:, 0] - toy.targets).square().sum() / 2
        lazy_loss(loss, alpha).backward()
        optimiser.step()
    return lazy, toy


def test_weights_move_like_one_over_alpha_and_the_limit_is_linearised():
    gaps = []
    for alpha in (100.0, 10000.0):
        lazy, toy = trained(alpha)
        fresh = LazyNetwork(smooth(), alpha)
        assert float(fresh(toy.features).detach().abs().max()) == 0
        lin = linearised_network(
            fresh, toy.features, toy.targets, learning_rate=0.01 / alpha**2, loss="half sum"
        ).training(toy.features, [30])[0]
        gaps.append(float((lazy(toy.features).detach() - lin).abs().max()))
        assert kernel_change(fresh, lazy, toy.features) < 10 / alpha
    assert gaps[1] < 1e-3
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.1)  # the first neglected term is of order 1/alpha
    ratio = trained(100.0)[0].weight_change() / trained(10000.0)[0].weight_change()
    assert math.log10(ratio) == pytest.approx(2, abs=0.05)


def test_only_the_network_itself_is_trained():
    lazy, _ = trained(2.0, steps=3)
    fresh = smooth()
    for kept, before in zip(lazy.start.parameters(), fresh.parameters(), strict=True):
        assert torch.equal(kept, before)
    assert not torch.equal(lazy.module[0].weight, fresh[0].weight)
    assert set(copy.deepcopy(lazy).state_dict()) == {
        f"{part}.{name}" for part in ("module", "start") for name in fresh.state_dict()
    }


def test_kernel_change_is_the_relative_change_of_the_gram_of_gradients():
    x, before, after = permuted_cube(4, 0).features, mlp((3, 5, 1), seed=1), mlp((3, 5, 1), seed=2)

    def gram(net):
        rows = []
        for one in x:
            net.zero_grad()
            net(one[None]).sum().backward()
            rows.append(torch.cat([w.grad.flatten() for w in net.parameters()]))
        rows = torch.stack(rows)
        return rows @ rows.T

    expected = float((gram(after) - gram(before)).norm() / gram(before).norm())
    assert kernel_change(before, after, x) == pytest.approx(expected, rel=1e-10)


def test_bad_input():
    with pytest.raises(InputError, match="alpha: expected a positive"):
        LazyNetwork(nn.Linear(2, 1), 0.0)
    with pytest.raises(InputError, match="alpha: expected a positive"):
        lazy_loss(torch.tensor(1.0), math.inf)
    with pytest.raises(InputError, match="without dropout"):
        LazyNetwork(nn.Sequential(nn.Linear(2, 1), nn.Dropout(0.5)), 1.0)
    x = torch.eye(2, dtype=torch.float64)
    with pytest.raises(InputError, match="two states of one network, got 1 and 3 outputs"):
        kernel_change(nn.Linear(2, 1), nn.Linear(2, 3), x)
