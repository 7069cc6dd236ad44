"""One forward pass: sizes by hand, and modules that are no function of one input."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.networks import forward_profile, functional_module
from tests.kernels.networks import inputs


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
