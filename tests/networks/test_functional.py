"""A module as a function of its weights: the module itself stays as it was."""

from __future__ import annotations

import copy
import pickle
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.kernels.finite._empirical_ntk import empirical_ntk, empirical_ntk_blocks
from symscope.networks import evaluation, forward_profile, functional_module
from tests.kernels.networks import MODULES, dense_jacobian, inputs, module
from tests.tolerances import ROUNDING


def snapshot(net: nn.Module) -> tuple:
    state = {name: t.clone() for name, t in net.state_dict().items()}
    flags = [part.training for part in net.modules()]
    gradients = [(p.requires_grad, p.grad) for p in net.parameters()]
    hooks = [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in net.modules()]
    return state, flags, gradients, hooks


@pytest.mark.parametrize("name", MODULES)
def test_the_module_is_left_as_it_was(name):
    net, shape = module(name)
    net.train()
    before, random_state = snapshot(net), torch.get_rng_state()
    empirical_ntk(net)(inputs(3, shape))
    after = snapshot(net)
    assert all(torch.equal(before[0][key], after[0][key]) for key in before[0])
    assert before[1:] == after[1:]
    assert torch.equal(random_state, torch.get_rng_state())


def test_training_the_module_later_does_not_change_the_kernel():
    net, shape = module("mlp")
    x = inputs(4, shape)
    kernel = empirical_ntk(net)
    before = kernel(x)
    with torch.no_grad():
        net[0].weight.add_(1.0)
    assert torch.equal(kernel(x), before)
    assert not torch.allclose(empirical_ntk(net)(x), before)


def test_evaluation_keeps_no_state_in_buffers():
    network = functional_module(module("tied")[0])
    forward_profile(network, inputs(3, (4,)))
    assert network.module.evaluations == 0


def test_weights_may_come_from_a_state_dict_or_a_file(tmp_path):
    net, other = module("mlp")[0], module("mlp", seed=1)[0]
    x = inputs(4, (4,))
    torch.save(other.state_dict(), tmp_path / "weights.pt")
    expected = empirical_ntk(other)(x)
    assert torch.equal(empirical_ntk(net, params=other.state_dict())(x), expected)
    assert torch.equal(empirical_ntk(net, params=tmp_path / "weights.pt")(x), expected)
    assert torch.equal(empirical_ntk(net, params=str(tmp_path / "weights.pt"))(x), expected)


def test_a_float32_module_is_evaluated_in_the_dtype_of_the_inputs():
    net, shape = module("mlp")
    single = copy.deepcopy(net).float()
    x = inputs(3, shape)
    rounded = copy.deepcopy(single).double()
    assert torch.equal(empirical_ntk(single)(x), empirical_ntk(rounded)(x))
    assert empirical_ntk(single).blocks(x.float()[None], None).dtype == torch.float32


def test_whole_number_inputs_are_tokens():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 2)).double()
    x = torch.tensor([[0, 3], [1, 1], [4, 3]])
    j = dense_jacobian(net, x)
    assert torch.allclose(
        empirical_ntk_blocks(net, x), torch.einsum("iap,jbp->ijab", j, j), rtol=ROUNDING, atol=ROUNDING
    )


def test_threads_may_share_one_network():
    net, shape = module("mlp")
    kernel, x = empirical_ntk(net), inputs(6, shape)
    expected = kernel.blocks(x[None], None)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: kernel.blocks(x[None], None), range(60)))
    assert all(torch.equal(result, expected) for result in results)


def test_a_network_survives_pickling_and_inference_mode():
    network = functional_module(module("conv")[0])
    x = inputs(2, (2, 4, 4))
    copied = pickle.loads(pickle.dumps(network))
    with evaluation():
        first = network.outputs(network.weights(torch.float64), x)
        assert torch.equal(first, copied.outputs(copied.weights(torch.float64), x))
    kernel = empirical_ntk(module("conv")[0])
    expected = kernel.blocks(x[None], None)
    with torch.inference_mode():
        assert torch.equal(kernel.blocks(x[None], None), expected)


def two_dtypes() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 3).double(), nn.Linear(3, 2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.ReLU(), "no parameter with requires_grad=True"),
        (
            lambda: nn.Linear(4, 2).requires_grad_(False),
            r"no parameter with requires_grad=True \(2 parameters",
        ),
        (lambda: nn.Linear(4, 2, dtype=torch.complex64), "complex64; expected real"),
        (two_dtypes, "parameters of one dtype, got torch.float32, torch.float64"),
        (lambda: nn.LazyLinear(2), "is lazy"),
        (
            lambda: nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2, track_running_stats=False)),
            "no running statistics",
        ),
        (lambda: nn.Sequential(nn.Linear(4, 2, device="meta"), nn.Linear(2, 2)), "parameters of one device"),
    ],
)
@pytest.mark.filterwarnings("ignore:Complex modules:UserWarning", "ignore:Lazy modules:UserWarning")
def test_unusable_modules_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        functional_module(make())


def test_params_of_another_module_are_refused():
    with pytest.raises(InputError, match="params do not fit the module"):
        functional_module(nn.Linear(4, 2), nn.Linear(3, 2).state_dict())


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.full((3, 4), torch.nan, dtype=torch.float64), "NaN"),
        (torch.zeros(0, 4, dtype=torch.float64), "at least one point"),
        (torch.zeros(3, 4, dtype=torch.float64, device="meta"), "Inputs are on meta"),
    ],
)
def test_unusable_inputs_are_refused(x, message):
    with pytest.raises(InputError, match=message):
        functional_module(nn.Linear(4, 2)).check_inputs(x)


def test_another_precision_changes_weights_constants_and_the_private_module():
    network = functional_module(module("conv")[0].float())
    wide = network.to(torch.float64)
    assert {p.dtype for p in wide.module.parameters()} == {torch.float64}
    assert {w.dtype for w in wide.trainable.values()} == {torch.float64}
    assert all(t.dtype != torch.float32 for t in wide.fixed.values())
    with evaluation():
        x = inputs(2, (2, 4, 4))
        assert torch.equal(wide.outputs(wide.weights(torch.float64), x), wide.module(x))


def test_vectors_in_weight_space_are_cut_into_weights_and_joined_again():
    network = functional_module(nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)))
    several = torch.arange(2.0 * network.n_weights()).reshape(2, -1)
    named = network.unflatten(several)
    assert named["0.weight"].shape == (2, 2, 3)
    for a in range(2):
        assert torch.equal(network.flatten({name: t[a] for name, t in named.items()}), several[a])
        assert torch.equal(network.flatten(network.unflatten(several[a])), several[a])
    with pytest.raises(InputError, match="weights: expected the trainable parameters by name, got none"):
        network.outputs({}, torch.ones(2, 3))


def test_a_profile_has_outputs_flops_and_activations():
    network = functional_module(
        nn.Sequential(nn.Linear(4, 7, bias=False), nn.Tanh(), nn.Linear(7, 3, bias=False))
    )
    result = forward_profile(network, inputs(5, (4,)))
    assert (result.outputs, result.flops) == (3, 2 * (4 * 7 + 7 * 3))
    assert result.activations >= 7 + 7 + 3


class Noisy(nn.Linear):
    def forward(self, x):
        return super().forward(x) + torch.randn(())


class PythonNoise(nn.Linear):
    def forward(self, x):
        return super().forward(x) * random.random()


class Centred(nn.Linear):
    def forward(self, x):
        return super().forward(x - x.mean(0))


class Broken(nn.Linear):
    def forward(self, x):
        raise KeyError("missing part")


class Pair(nn.Linear):
    def forward(self, x):
        return super().forward(x), x


class Casting(nn.Linear):
    def forward(self, x):
        return super().forward(x).float()


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (Noisy(4, 2), "draws random numbers in eval mode .*randn"),
        (PythonNoise(4, 2), "draws random numbers in eval mode"),
        (
            nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 2), nn.Unflatten(1, (2, 1))),
            r"to be \[n, o\].*got \[3, 2, 1\]",
        ),
        (nn.Sequential(nn.Linear(4, 1), nn.Flatten(0)), r"to be \[n, o\] = \[3, o\], got \[3\]"),
        (Centred(4, 2), "depends on the other inputs"),
        (Broken(4, 2), "cannot be evaluated on inputs of shape .*missing part"),
        (nn.Linear(5, 2), "cannot be evaluated on inputs of shape"),
        (Pair(4, 2), "return a tensor .*got tuple"),
        (Casting(4, 2), "mixes dtypes inside"),
    ],
)
def test_modules_that_are_no_function_of_one_input_are_refused(net, message):
    with pytest.raises(InputError, match=message):
        forward_profile(functional_module(net.double()), inputs(3, (4,)))


def test_nan_outputs_are_refused():
    net = nn.Linear(4, 2).double()
    with torch.no_grad():
        net.weight[0, 0] = torch.nan
    with pytest.raises(InputError, match="NaN or infinity for finite inputs"):
        forward_profile(functional_module(net), inputs(3, (4,)))
