from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from symscope.errors import InputError
from symscope.kernels.finite._empirical_ntk import empirical_ntk, empirical_ntk_blocks
from symscope.kernels.finite._structure import Layer, structured_layers
from symscope.kernels.finite._structured import feature_products, features
from symscope.kernels.finite._structured_plan import Size, structured_plan
from symscope.networks import evaluation, forward_profile, functional_module
from tests.kernels.networks import inputs


def conv_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 12, 3), nn.ReLU(), nn.Conv2d(12, 40, 3, stride=2), nn.ReLU(), nn.Flatten(),
        nn.Linear(360, 30), nn.ReLU(), nn.Linear(30, 5),
    ).double()  # fmt: skip


def planned(whole: bool, memory: int, n: int = 12):
    network, x = functional_module(conv_net()), inputs(n, (2, 10, 10))
    with evaluation():
        layers = structured_layers(network, x, frozenset())
    seen = forward_profile(network, x)
    size = Size(1, n, None, False, seen.outputs, whole)
    return structured_plan(layers, seen, size, network.n_weights(), 8, memory), network, x


def least_memory(whole: bool) -> int:
    with pytest.raises(InputError, match="structured needs at least") as error:
        planned(whole, 10)
    return int(str(error.value).split("at least ")[1].split(" ")[0])


def test_each_layer_takes_its_cheaper_form():
    how, _, _ = planned(False, 10**9)
    # 64 positions of few channels: gradients; no or few positions of many: inputs and signals
    assert how.factored == {"2", "5", "7"}
    many_positions = Layer("m", "m.weight", None, 500, 1, 9, 4, False)
    many_weights = Layer("w", "w.weight", None, 4, 1, 900, 400, False)
    network, x = functional_module(conv_net()), inputs(2, (2, 10, 10))
    for whole in (False, True):
        size = Size(1, 50, 40, False, 10, whole)
        plan = structured_plan(
            (many_positions, many_weights), forward_profile(network, x), size, 0, 8, 10**10
        )
        assert plan.factored == {"w"}


@pytest.mark.parametrize("whole", [False, True])
def test_the_least_memory_is_enough_and_less_is_refused(whole):
    needed = least_memory(whole)
    how, _, _ = planned(whole, needed)
    assert how.inputs_at_once >= 2
    assert how.inputs_per_pass >= 1
    with pytest.raises(InputError, match="needs at least"):
        planned(whole, needed - 8)


@settings(max_examples=5, deadline=None)
@given(whole=st.booleans(), factor=st.floats(1.0, 20.0))
def test_memory_is_kept_to(whole, factor):
    memory = int(least_memory(whole) * factor)
    net, x = conv_net(), inputs(20, (2, 10, 10))
    if whole:
        used, result = peak_bytes(lambda: empirical_ntk_blocks(net, x, memory=memory, method="structured"))
    else:
        kernel = empirical_ntk(net, memory=memory, method="structured")
        used, result = peak_bytes(lambda: kernel.blocks(x[None], None))
    assert used <= memory + 8 * result.numel()


def peak_bytes(compute) -> tuple[int, torch.Tensor]:
    """The most bytes allocated for tensors at any time while a function runs."""
    with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as p:
        result = compute()
    changes = sorted(
        (e.start_ns(), e.nbytes()) for e in p.profiler.kineto_results.events() if e.name() == "[memory]"
    )
    level = peak = 0
    for _, change in changes:
        level += change
        peak = max(peak, level)
    return peak, result


def test_the_peak_is_measured():
    used, result = peak_bytes(lambda: (torch.ones(1000, 1000).exp() * 2).sum())
    assert 8_000_000 <= used <= 12_100_000
    assert result.ndim == 0


def test_features_take_what_was_planned():
    how, network, x = planned(False, 10**9)
    kept = features(how, network, x[None], torch.eye(5, dtype=torch.float64))
    assert kept.gradients.keys() | kept.columns.keys() == {"0", "2", "5", "7"}
    assert kept.columns["5"].shape == (1, 1, 12, 1, 361)
    assert kept.signals["5"].shape == (1, 1, 12, 1, 5, 30)
    assert kept.gradients["0"].shape == (1, 12, 5, 12 * 19)
    assert feature_products(how, kept, kept).shape == (1, 12, 12)
