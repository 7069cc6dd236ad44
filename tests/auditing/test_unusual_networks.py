"""Networks and inputs out of the ordinary: parametrized or scripted layers, mixed types, scales, nothing."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from symscope import InputError, audit
from symscope.auditing import audit_subject
from symscope.auditing._fitted_repairs import refitted
from symscope.data import rotation
from symscope.testing import assert_equivariant
from tests.auditing.test_reported import images


def mlp(last: nn.Module | None = None) -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), last or nn.Linear(8, 3))


def test_a_parametrized_last_layer_is_refitted_through_its_parametrization():
    subject = audit_subject(mlp(weight_norm(nn.Linear(8, 3))), images(60), "C4 rotation")
    made, _ = refitted(subject, subject.data, (0, 1, 2, 3))
    plain = audit_subject(mlp(), images(60), "C4 rotation")
    plain.module[1].load_state_dict(subject.module[1].state_dict())
    expected, _ = refitted(plain, plain.data, (0, 1, 2, 3))
    assert torch.allclose(made[3].weight, expected[3].weight, atol=1e-4)
    assert not torch.allclose(made[3].weight, subject.module[3].weight, atol=1e-2)
    fixed = audit_subject(mlp(spectral_norm(nn.Linear(8, 3))), images(60), "C4 rotation")
    with pytest.raises(InputError, match="parametrization that cannot take"):
        refitted(fixed, fixed.data, (0, 1, 2, 3))


def test_what_cannot_be_followed_or_copied_is_refused_at_once():
    with pytest.raises(InputError, match="TorchScript"):
        audit(torch.jit.trace(mlp(), torch.rand(2, 1, 6, 6)), images(60), "C4 rotation")
    with pytest.warns(FutureWarning):
        old = nn.utils.weight_norm(nn.Linear(8, 3))
    with pytest.raises(InputError, match=r"use torch.nn.utils.parametrizations.weight_norm"):
        audit(mlp(old), images(60), "C4 rotation")


class Mixed(nn.Module):
    """A scale in another type stands before the layers, which take inputs in theirs."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1).to(dtype), requires_grad=dtype.is_floating_point)
        self.net = mlp()

    def forward(self, x):
        return self.net(x) * self.scale


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64])
def test_inputs_have_the_type_that_the_network_takes(dtype):
    subject = audit_subject(Mixed(dtype), images(30), "C4 rotation", builder=lambda: Mixed(dtype))
    assert subject.inputs(subject.data.x[:2]).dtype == torch.float32
    fresh = subject.builder(3)
    assert [one.dtype for one in fresh.parameters()] == [one.dtype for one in subject.module.parameters()]
    assert audit(Mixed(dtype), images(30), "C4 rotation", repairs=False).causes


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_remedies_are_trained_where_gradients_are_switched_off(mode):
    with mode():
        result = audit(mlp(), images(40), "C4 rotation", seconds=20)
    tuned = {one.name: one for one in result.repairs}["fine-tuning with a penalty"]
    assert tuned.module is not None, tuned.reason


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_outputs_without_squares_are_refused_and_measured_by_the_test_tool(size):
    net = mlp().double()
    with torch.no_grad():
        net[3].weight.mul_(size)
        net[3].bias.mul_(size)
    x, _ = images(12)
    with pytest.raises(InputError, match="scale them"):
        audit_subject(net, images(12), "C4 rotation")
    error = assert_equivariant(net, rotation(4), None, x[:, None].double(), tolerance=10.0)
    assert error == pytest.approx(
        assert_equivariant(mlp(), rotation(4), None, x[:, None], tolerance=10.0), rel=1e-3
    )


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (torch.full((2, 6, 6), float("nan")), "x: "),
        (torch.zeros(0, 6, 6), "expected inputs, got none"),
        (torch.ones(2, 6, 6, dtype=torch.int64), "floating-point"),
        ((torch.ones(2, 6, 6),), "x: "),
    ],
)
def test_inputs_that_show_nothing_are_refused_in_one_line(x, words):
    with pytest.raises(InputError, match=words) as caught:
        assert_equivariant(mlp(), rotation(4), None, x)
    assert "\n" not in str(caught.value)


def test_functions_that_return_no_tensor_are_refused_in_one_line():
    with pytest.raises(InputError, match="got tuple"):
        assert_equivariant(lambda x: (x, x), rotation(4), None, torch.rand(2, 6, 6))
    with pytest.raises(AssertionError, match="not finite"):
        assert_equivariant(lambda x: x / 0, rotation(4), None, torch.rand(2, 6, 6))
