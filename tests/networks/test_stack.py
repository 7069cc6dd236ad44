from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.networks import stack_networks
from symscope.networks.architectures import conv_net, digit_mlp, mlp, vit
from tests.tolerances import ROUNDING

CPU = torch.device("cpu")


def inputs(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(7))


@pytest.mark.parametrize("build", [digit_mlp, conv_net, vit], ids=["mlp", "conv", "vit"])
@pytest.mark.parametrize("seeds", [[4], [4, 0, 9]], ids=["one", "three"])
def test_a_stack_is_its_copies(build, seeds):
    stack = stack_networks(build, seeds, torch.float64, CPU)
    x = inputs(len(seeds), 2, 1, 28, 28)
    expected = torch.stack([build(seed).eval()(x[i]) for i, seed in enumerate(seeds)])
    torch.testing.assert_close(stack.outputs(x), expected, rtol=ROUNDING, atol=ROUNDING)
    last = len(seeds) - 1
    torch.testing.assert_close(stack.copy(last)(x[last]), expected[last], rtol=ROUNDING, atol=ROUNDING)


def test_a_copy_is_a_module_of_its_own():
    stack = stack_networks(lambda seed: mlp((2, 3, 1), seed=seed), [0, 1], torch.float64, CPU)
    own = stack.copy(1)
    own[1].weight.data.zero_()
    assert stack.weights["1.weight"][1].abs().min() > 0


def test_frozen_weights_stay_frozen():
    def build(seed: int) -> nn.Module:
        net = mlp((2, 3, 1), seed=seed)
        net[1].weight.requires_grad_(False)
        return net

    weights = stack_networks(build, [0, 1], torch.float64, CPU).weights
    assert not weights["1.weight"].requires_grad
    assert weights["3.weight"].requires_grad


class Shifted(nn.Module):
    """A network whose constant depends on the seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.line = nn.Linear(2, 1)
        self.register_buffer("shift", torch.tensor(float(seed)))


@pytest.mark.parametrize(
    ("build", "seeds", "message"),
    [
        (lambda seed: mlp((2, 1), seed=seed), [], "seeds: expected one seed per copy"),
        (lambda seed: mlp((2, 1 + seed)), [0, 1], "the network of seed 1 has other weights"),
        (lambda seed: nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), [0, 1], "Train them one at a time"),
        (Shifted, [0, 1], "shift of seed 1 does"),
    ],
)
def test_networks_that_do_not_stack(build, seeds, message):
    with pytest.raises(InputError, match=message):
        stack_networks(build, seeds, torch.float64, CPU)


def test_shapes_that_do_not_fit():
    stack = stack_networks(conv_net, [0], torch.float64, CPU)
    assert stack.output_shape(inputs(2, 1, 28, 28)) == (10,)
    with pytest.raises(InputError, match=r"does not take inputs of shape \(3, 28, 28\)"):
        stack.output_shape(inputs(2, 3, 28, 28))
    with pytest.raises(InputError, match=r"does not take inputs of shape \(1, 20, 28\)"):
        stack.output_shape(inputs(2, 1, 20, 28))
    with pytest.raises(InputError, match="expected a copy from 0 to 0, got 1"):
        stack.copy(1)
    flat = stack_networks(lambda seed: nn.Sequential(nn.Linear(2, 2), nn.Flatten(0)), [0], torch.float64, CPU)
    with pytest.raises(InputError, match=r"keeps the axis of inputs; for 1 input it gave \(2,\)"):
        flat.output_shape(inputs(3, 2))


def test_running_statistics_are_noticed():
    for layer, expected in (
        (nn.BatchNorm1d(2), True),
        (nn.LayerNorm(2), False),
        (nn.InstanceNorm1d(2), False),
    ):
        stack = stack_networks(
            lambda _, layer=layer: nn.Sequential(nn.Linear(2, 2), layer), [0], torch.float64, CPU
        )
        assert stack.keeps_statistics == expected
