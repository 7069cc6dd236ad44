"""Projected gradients against the exact empirical NTK."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope import InputError
from symscope.kernels import empirical_ntk, projected_gradients

SEEDS = 16


def small_network(outputs: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3),
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(12, outputs),
    ).double()


@pytest.mark.parametrize(("outputs", "combinations"), [(3, 4), (6, 2)])
def test_inner_products_are_the_ntk_within_their_standard_error(outputs, combinations):
    net = small_network(outputs)
    x = torch.randn(5, 1, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    features = torch.stack(
        [projected_gradients(net, x, seed=k, count=50, combinations=combinations) for k in range(SEEDS)]
    )
    grams = features @ features.mT
    away = (grams.mean(0) - empirical_ntk(net)(x)).abs()
    error = grams.std(0) / SEEDS**0.5
    assert bool((away < 4.5 * error).all())
    assert bool((error > 0).all())


def test_more_features_are_nearer_as_the_root_of_their_number():
    net, x = small_network(2), torch.randn(4, 1, 6, 6, dtype=torch.float64)
    exact = empirical_ntk(net)(x)

    def gap(count: int) -> float:
        grams = [(f := projected_gradients(net, x, seed=k, count=count)) @ f.T for k in range(6)]
        return float(torch.stack([(gram - exact).square().mean() for gram in grams]).mean().sqrt())

    assert 2 < gap(16) / gap(256) < 8  # 4 in the limit


def test_chunks_and_saved_weights_change_nothing():
    net, x = small_network(3).float(), torch.randn(7, 1, 6, 6)
    whole = projected_gradients(net, x, seed=3, count=64)
    steps = []
    chunks = projected_gradients(
        small_network(3),
        x,
        seed=3,
        count=64,
        params=net.state_dict(),
        memory="6kB",
        progress=lambda *now: steps.append(now),
    )
    assert whole.dtype == torch.float32
    torch.testing.assert_close(whole, chunks)
    assert steps[-1] == ("gradients", 7, 7)
    assert len(steps) > 1
    assert not torch.allclose(whole, projected_gradients(net, x, seed=4, count=64))


def test_bad_input_gets_one_line():
    net, x = small_network(3), torch.randn(2, 1, 6, 6, dtype=torch.float64)
    for more, words in [
        ({"count": 2}, "at least one feature for each of 3 combinations"),
        ({"count": 0}, "count"),
        ({"combinations": 0}, "combinations"),
        ({"memory": 10}, "gradients of one input take"),
    ]:
        with pytest.raises(InputError, match=words):
            projected_gradients(net, x, seed=0, **more)
