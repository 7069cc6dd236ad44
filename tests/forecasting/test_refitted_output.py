"""The last layer of a network fitted to its end."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch import nn
from torch.nn.utils import parametrizations

from symscope.forecasting._refitted_output import DECAY, fitted_layer, output_layer, refitted_output


def problem(seed: int, points: int = 40, width: int = 3, classes: int = 4):
    """Inputs of a layer, classes and a start, none of them symmetric."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(points, width, generator=generator, dtype=torch.float64) + 0.3
    weight = torch.randn(classes, width, generator=generator, dtype=torch.float64)
    bias = torch.linspace(-0.5, 1.0, classes, dtype=torch.float64)
    labels = torch.randint(0, classes, (points,), generator=generator)
    return inputs, labels, weight, bias


def objective(inputs, labels, start, weight, bias):
    """What the layer minimises, written out."""
    logits = inputs @ weight.mT + bias
    log_shares = logits - logits.logsumexp(1, keepdim=True)
    return -log_shares[torch.arange(len(labels)), labels].mean() + DECAY * ((weight - start) ** 2).sum()


@given(st.integers(0, 10**6))
def test_no_other_layer_has_a_lower_objective(seed):
    inputs, labels, weight, bias = problem(seed)
    fitted, offset = fitted_layer(inputs, labels, weight, bias)
    reached = float(objective(inputs, labels, weight, fitted, offset))

    def value(flat):
        both = torch.from_numpy(flat).reshape(4, 4)
        return float(objective(inputs, labels, weight, both[:, :3], both[:, 3]))

    start = torch.cat([fitted, offset[:, None]], 1).flatten().numpy()
    assert reached <= float(objective(inputs, labels, weight, weight, bias)) + 1e-12
    assert reached - minimize(value, start, method="BFGS").fun < 1e-4


def test_a_layer_without_bias_gets_none():
    inputs, labels, weight, _ = problem(3)
    fitted = fitted_layer(inputs, labels, weight)
    assert [one.shape for one in fitted] == [(4, 3)]


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Flatten(), nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 5)
    ).eval()


def clouds(points: int = 90):
    generator = torch.Generator().manual_seed(5)
    labels = torch.arange(points) % 3
    centres = torch.randn(3, 2, 3, generator=generator)
    return centres[labels] + 0.3 * torch.randn(points, 2, 3, generator=generator), labels


def test_only_the_rows_of_the_classes_of_the_last_layer_change():
    net, (x, labels) = network(), clouds()
    before = copy.deepcopy(net)
    columns = torch.tensor([0, 2, 4])
    after = refitted_output(net, x, labels, columns)
    assert after is net
    assert float((after(x)[:, columns].argmax(1) == labels).double().mean()) > 0.95
    assert float((before(x)[:, columns].argmax(1) == labels).double().mean()) < 0.7
    torch.testing.assert_close(after[4].weight[[1, 3]], before[4].weight[[1, 3]], rtol=0, atol=0)
    for name, old in before[:4].state_dict().items():
        torch.testing.assert_close(after[:4].state_dict()[name], old, rtol=0, atol=0)


class Tied(nn.Module):
    """A network that uses the weights of its last layer before it, too."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)
        self.last.weight = self.first.weight

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


class Twice(nn.Module):
    """A network that calls its last layer twice."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(4, 4)

    def forward(self, x):
        return self.last(torch.relu(self.last(x)))


@pytest.mark.parametrize(
    "make",
    [
        Tied,
        Twice,
        lambda: nn.Sequential(nn.Linear(4, 4), nn.LogSoftmax(1)),
        lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), parametrizations.weight_norm(nn.Linear(8, 4))),
        lambda: nn.Sequential(
            nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 4, 3), nn.AdaptiveAvgPool1d(1), nn.Flatten()
        ),
    ],
)
def test_a_network_without_a_last_layer_of_its_own_gets_a_map_of_its_outputs(make):
    torch.manual_seed(1)
    net = make().eval()
    generator = torch.Generator().manual_seed(2)
    x, labels = torch.randn(60, 4, generator=generator), torch.arange(60) % 4
    x += 2.0 * torch.eye(4)[labels]
    before = {name: one.clone() for name, one in net.state_dict().items()}
    assert output_layer(net, x) is None
    after = refitted_output(net, x, labels, torch.arange(4))
    shares = [float((one(x).argmax(1) == labels).double().mean()) for one in (net, after)]
    assert shares[1] > shares[0]
    for name, one in net.state_dict().items():
        torch.testing.assert_close(one, before[name], rtol=0, atol=0)


def test_a_wide_layer_is_fitted_to_fewer_points(monkeypatch):
    monkeypatch.setattr("symscope.forecasting._refitted_output.MOST_NUMBERS", 16 * 30)
    (x, labels), all_points, few = clouds(), network(), network()
    refitted_output(all_points, x, labels, torch.arange(3))
    refitted_output(few, x[:30], labels[:30], torch.arange(3))
    torch.testing.assert_close(all_points[4].weight, few[4].weight, rtol=0, atol=0)
