"""Following units through modules."""

from __future__ import annotations

import torch
from torch import nn

from symscope.discovery import gaussian_data, parameter_problem
from symscope.discovery.known import hidden_spaces
from symscope.discovery.known._hidden_spaces import traced_graph
from symscope.discovery.known._spaces import ActivationKind
from tests.discovery.networks import Attention


def _between(*layers):
    net = nn.Sequential(nn.Linear(2, 3), *layers, nn.Linear(3, 2))
    spaces = hidden_spaces(parameter_problem(net, "squared", gaussian_data((2,), (2,))))
    return [space.between for space in spaces]


def test_what_lies_between():
    assert _between() == [ActivationKind.LINEAR]
    assert _between(nn.Dropout(0.5)) == [ActivationKind.LINEAR]
    assert _between(nn.ReLU(), nn.LeakyReLU()) == [ActivationKind.HOMOGENEOUS]
    assert _between(nn.Tanh(), nn.Identity()) == [ActivationKind.ODD]
    assert _between(nn.ReLU(), nn.Tanh()) == [ActivationKind.ELEMENTWISE]
    assert _between(nn.Sigmoid()) == [ActivationKind.ELEMENTWISE]
    assert _between(nn.Softmax(1)) == []  # not a map of single units


def test_flattened_channels_keep_together():
    net = nn.Sequential(nn.Conv2d(1, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2))
    [space] = hidden_spaces(parameter_problem(net, "squared", gaussian_data((1, 3, 3), (2,))))
    assert space.size == 3
    weight = 3 * 4 + 3 + torch.arange(24).reshape(2, 12)
    assert (
        space.sides[1].positions[1].sort().values.tolist()
        == weight[:, 4:8].reshape(-1).sort().values.tolist()
    )


def test_units_that_reach_the_output_belong_to_no_space():
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):
            hidden = torch.relu(self.one(x))
            return hidden + self.two(hidden)

    assert hidden_spaces(parameter_problem(Residual(), "squared", gaussian_data((2,), (2,)))) == ()


def test_a_look_at_the_shape_does_not_end_the_trail():
    class Shaped(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(2, 3), nn.Linear(3, 2)

        def forward(self, x):
            hidden = torch.relu(self.one(x))
            return self.two(hidden) * (hidden.shape[-1] / hidden.size(1))

    [space] = hidden_spaces(parameter_problem(Shaped(), "squared", gaussian_data((2,), (2,))))
    assert space.between is ActivationKind.HOMOGENEOUS


def test_grouped_convolutions_are_left_out():
    net = nn.Sequential(nn.Conv1d(2, 4, 2), nn.ReLU(), nn.Conv1d(4, 2, 2, groups=2), nn.Flatten())
    assert hidden_spaces(parameter_problem(net, "squared", gaussian_data((2, 4), (4,)))) == ()


def test_data_dependent_control_flow_is_not_traced():
    class Choice(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    assert traced_graph(Choice()) is None
    assert traced_graph(Attention(2, 2, 2)) is not None
