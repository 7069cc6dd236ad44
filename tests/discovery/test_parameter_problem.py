"""A network and a loss as a function of flat parameters, against plain autograd on the module itself."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from symscope import InputError
from symscope.discovery import class_data, dataset, gaussian_data, parameter_problem, token_data
from symscope.discovery.loss_derivatives import (
    point_derivatives,
    point_gradients,
    point_losses,
    point_outputs,
)
from tests.discovery.networks import Attention, chain
from tests.tolerances import ROUNDING


def _convolutional():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.GELU(), nn.Flatten(), nn.Linear(18, 3))
    return parameter_problem(net, "cross-entropy", class_data((1, 5, 5), 3))


def _tokens():
    net = nn.Sequential(nn.Embedding(7, 4), nn.Flatten(), nn.Linear(12, 3))
    return parameter_problem(net, "cross-entropy", token_data(3, 7, 3))


CASES = {
    "mlp": lambda: chain((3, 4, 2), "tanh", bias=True),
    "convolutional": _convolutional,
    "tokens": _tokens,
    "slopes": lambda: parameter_problem(
        nn.Sequential(nn.Linear(3, 4), nn.PReLU(4), nn.Linear(4, 2)), "squared", gaussian_data((3,), (2,))
    ),
    "recurrent cell": lambda: parameter_problem(nn.GRUCell(3, 2), "squared", gaussian_data((3,), (2,))),
    "attention": lambda: parameter_problem(Attention(3, 2, 2), "mse", gaussian_data((5, 3), (2,))),
    "torch attention": lambda: parameter_problem(
        nn.Sequential(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), nn.Flatten(), nn.Linear(12, 2)),
        "squared",
        gaussian_data((3, 4), (2,)),
    ),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # torch, of recurrent cells under vmap
@pytest.mark.parametrize("name", CASES)
def test_losses_outputs_and_gradients_are_those_of_the_module(name):
    made = CASES[name]()
    sample = made.random_points(2, 3, seed=5)
    losses, outputs = point_losses(made, sample), point_outputs(made, sample)
    gradients = point_gradients(made, sample)
    tangents = torch.randn(2, made.size, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    derivatives = point_derivatives(made, sample, tangents)
    for i in range(2):
        module = made.module_at(sample.theta[i])
        for j in range(3):
            module.zero_grad()
            out = module(sample.x[i, j : j + 1])
            assert torch.allclose(out.flatten(), outputs[i, j], atol=ROUNDING)
            loss = made.loss(out, sample.y[i, j : j + 1])[0]
            loss.backward()
            flat = made.layout.flat({n: p.grad for n, p in module.named_parameters()})
            assert abs(loss.item() - losses[i, j].item()) < ROUNDING
            assert torch.allclose(flat, gradients[i, j], atol=1e3 * ROUNDING)
            assert derivatives[i, j].item() == pytest.approx((flat @ tangents[i]).item(), abs=1e3 * ROUNDING)


def test_samples_repeat_with_their_seed_and_the_module_is_left_alone():
    net = nn.Linear(3, 2)
    before = [p.clone() for p in net.parameters()]
    made = parameter_problem(net, "squared", gaussian_data((3,), (2,)))
    a, b, c = (
        made.random_points(4, 2, seed=1),
        made.random_points(4, 2, seed=1),
        made.random_points(4, 2, seed=2),
    )
    assert torch.equal(a.theta, b.theta)
    assert torch.equal(a.x, b.x)
    assert not torch.equal(a.theta, c.theta)
    assert (a.count, a.batch) == (4, 2)
    assert net.training
    assert all(torch.equal(p, q) for p, q in zip(net.parameters(), before, strict=True))
    assert torch.equal(made.theta().float(), torch.cat([p.reshape(-1) for p in before]))


def test_frozen_parameters_are_constants():
    net = nn.Sequential(nn.Linear(3, 4, bias=False), nn.Linear(4, 1, bias=False))
    net[1].weight.requires_grad_(False)
    assert parameter_problem(net, "squared", gaussian_data((3,), (1,))).size == 12


class _Noisy(nn.Linear):
    def forward(self, x):
        return super().forward(x) + torch.randn(x.shape[0], 2, dtype=x.dtype)


class _Rounded(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.outer(torch.sign(self.inner(x)))


class _Centred(nn.Linear):
    def forward(self, x):
        return super().forward(x - x.mean(0))


class _Logarithm(nn.Linear):
    def forward(self, x):
        return torch.log(super().forward(x))


class _Recurrent(nn.LSTM):
    def forward(self, x):
        return super().forward(x.transpose(0, 1))[0][-1]


DATA = gaussian_data((3,), (2,))


@pytest.mark.parametrize(
    ("net", "loss", "data", "message"),
    [
        (_Noisy(3, 2), "squared", DATA, "draws random numbers in eval mode"),
        (_Rounded(), "squared", DATA, r"'inner\.weight' changes the loss but has no derivative"),
        (_Centred(3, 2), "squared", DATA, "depends on the other samples of its batch"),
        (nn.Linear(3, 2), lambda f, y: (f - y).square().mean(), DATA, r"not per-sample: expected \[3\]"),
        (nn.Linear(3, 2), lambda f, y: (f - y).square(), DATA, r"not per-sample: .* got shape \[3, 2\]"),
        (nn.Linear(3, 2), lambda f, y: (f - y).square().sum(1) / f.std(), DATA, "depends on the other"),
        (nn.Linear(3, 2), lambda f, y: (f - y).sum(1) / 0, DATA, "NaN or infinite"),
        (nn.Linear(3, 2), lambda f: f, DATA, "the loss cannot be evaluated"),
        (nn.Linear(4, 2), "squared", DATA, r"cannot be evaluated on inputs of shape \[3, 3\]"),
        (nn.Linear(3, 2), "hinge", DATA, "unknown loss 'hinge'; known: .*cross-entropy.*squared"),
        (
            nn.Linear(3, 1),
            lambda f, y: (f - y).square().mean(1),
            gaussian_data((3,), ()),
            r"\[3, 1\] and targets",
        ),
        (nn.Linear(3, 1), "squared", gaussian_data((3,), (2,)), r"outputs' shape \[3, 1\], got \[3, 2\]"),
        (nn.Linear(3, 2), "cross-entropy", DATA, r"one class number for each .* targets \[3, 2\]"),
        (nn.Linear(3, 2), "cross-entropy", gaussian_data((3,), ()), "expected whole class numbers 0 to 1"),
        (nn.Linear(3, 2, device="meta"), "squared", DATA, "on the device meta"),
        (nn.ReLU(), "squared", DATA, "has no parameters"),
        (nn.Linear(3, 2).requires_grad_(False), "squared", DATA, "all parameters of Linear are frozen"),
        (_Logarithm(3, 2), "squared", DATA, "outputs at random parameters: expected finite numbers"),
        (nn.Linear(3, 2), "squared", gaussian_data((3,), (2,), math.inf), "the data: expected finite"),
        (_Recurrent(3, 2), "squared", gaussian_data((4, 3), (2,)), "Batching rule not implemented"),
        (nn.LSTM(3, 2), "squared", gaussian_data((4, 3), (2,)), "expected the module to return one tensor"),
    ],
)
def test_problems_that_cannot_be_are_refused(net, loss, data, message):
    with pytest.raises(InputError, match=message):
        parameter_problem(net, loss, data)


@pytest.mark.parametrize("loss", ["squared", "mse"])
def test_targets_without_an_axis_are_those_with_one(loss):
    net, x, y = nn.Linear(3, 1), torch.randn(20, 3), torch.randn(20)
    flat, column = (
        parameter_problem(net, loss, dataset(x, t)).random_points(4, 5, seed=0) for t in (y, y[:, None])
    )
    made = parameter_problem(net, loss, dataset(x, y))
    assert torch.equal(point_losses(made, flat), point_losses(made, column))
    assert torch.equal(point_gradients(made, flat), point_gradients(made, column))


def test_whole_numbers_become_the_problems_dtype_unless_they_are_tokens():
    bytes_ = torch.randint(256, (20, 3), dtype=torch.uint8)
    made = parameter_problem(
        nn.Linear(3, 1), "squared", dataset(bytes_, torch.randint(9, (20,))), dtype=torch.float32
    )
    assert made.random_points(2, 2, seed=0).x.dtype == torch.float32
    drawn = parameter_problem(nn.Linear(3, 2), "cross-entropy", token_data(3, 7, 2))
    assert drawn.random_points(2, 2, seed=0).x.dtype == torch.float64
    assert _tokens().random_points(2, 2, seed=0).x.dtype == torch.int64


def test_empty_samples_are_refused():
    with pytest.raises(InputError, match="count: expected an integer of at least 1, got 0"):
        parameter_problem(nn.Linear(3, 2), "squared", DATA).random_points(0, 3, seed=0)


def test_losses_that_no_parameter_changes_are_refused():
    class Nothing(nn.Linear):
        def forward(self, x):
            return 0 * super().forward(x)

    with pytest.raises(InputError, match="expected losses that change with the parameters"):
        parameter_problem(Nothing(2, 1), "squared", gaussian_data((2,), (1,)))
    zeros = dataset(torch.zeros(4, 2).double(), torch.zeros(4, 1).double())
    with pytest.raises(InputError, match="data of 0"):
        parameter_problem(nn.Linear(2, 1, bias=False), "squared", zeros)


@pytest.mark.parametrize("scale", [1e-200, 1e160])
def test_data_must_have_squares(scale):
    x, y = torch.eye(4, 2).double(), torch.ones(4, 1).double()
    for rows in (dataset(scale * x, y), dataset(x, scale * y)):
        with pytest.raises(InputError, match=r"expected a largest number of 1e-77 to 1e\+77"):
            parameter_problem(nn.Linear(2, 1), "squared", rows)
