"""Forecasts of numbers of each node: permuted as nodes are, asked about where nothing is said, learned."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope import forecast
from symscope.data import MeasuredData, parse_action, target_of
from symscope.errors import InputError
from symscope.forecasting._question import as_question
from symscope.training import Optimiser

NODES = 5


def graphs(count=60, numbers=1):
    """Weighted graphs, directed, and of each node the sum of what it sends; or also of what it gets."""
    generator = torch.Generator().manual_seed(4)
    x = torch.rand(count, NODES, NODES, generator=generator, dtype=torch.float64)
    x = x * torch.linspace(0.5, 1.5, NODES, dtype=torch.float64)[:, None]  # later nodes send more
    y = torch.stack([x.sum(2), x.sum(1)], 2)
    return MeasuredData(x, y[..., 0] if numbers == 1 else y, "graphs", "made")


class Sends(nn.Module):
    """`y_i = a + b sum_j x_ij + c sum_j x_ji`, the same for all nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(2, 1)

    def forward(self, x):
        return self.mix(torch.stack([x.sum(-1), x.sum(-2)], -1))[..., 0]


@pytest.mark.parametrize("group", ["C5", "D5", "S3"])
@pytest.mark.parametrize("numbers", [1, 2])
def test_numbers_of_nodes_are_permuted_as_the_nodes_are(group, numbers):
    nodes = 3 if group == "S3" else NODES
    action = parse_action("nodes", group, (nodes, nodes))
    x = torch.rand(4, nodes, nodes, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def of(graphs):
        both = torch.stack([graphs.sum(-1), graphs.sum(-2)], -1)
        return both[..., 0] if numbers == 1 else both

    target = target_of("nodes", action, (nodes, nodes), tuple(of(x).shape[1:]))
    for g in action.group.elements:
        torch.testing.assert_close(target.act(g, of(x)), of(action.act(g, x)))


@pytest.mark.parametrize("numbers", [1, 2])
def test_without_a_word_it_is_asked_and_the_data_suggests(numbers):
    with pytest.raises(InputError, match=r"as many as the 5 nodes.*Say --target-action nodes, same"):
        as_question(graphs(numbers=numbers), "C5 nodes")
    plain = as_question(graphs(), "C5 nodes", target_action="same")
    assert plain.target_action is None
    moving = as_question(graphs(numbers=numbers), "C5 nodes", target_action="nodes")
    assert moving.symmetric == "equivariant"


def test_other_actions_and_shapes_are_refused():
    with pytest.raises(InputError, match="expected permutations of nodes"):
        target_of("nodes", parse_action("rotation", "C4", (6, 6)), (6, 6), (6,))
    with pytest.raises(InputError, match=r"each of the 5 nodes, \(5,\) or \(5, d\), got .* \(4,\)"):
        target_of("nodes", parse_action("nodes", "C5", (5, 5)), (5, 5), (4,))


def test_a_network_that_treats_nodes_alike_is_predicted_to_explain_them_and_one_that_does_not_fails():
    asked = {"target_action": "nodes", "seen": "upright", "steps": 400, "batch": 16, "budget": "12s"}
    alike = forecast(Sends, graphs(), "C5 nodes", method="pilot", optimiser=Optimiser("adam", 0.03), **asked)
    own = forecast(
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(25, 5)),
        graphs(),
        "C5 nodes",
        method="pilot",
        optimiser=Optimiser("adam", 0.03),
        **asked,
    )
    assert alike.accuracy > 0.95 > own.accuracy + 0.2


def test_vectors_of_each_point_turn_with_the_cloud():
    x = torch.randn(30, 6, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    forces = x.mean(1, keepdim=True) - x
    data = MeasuredData(x, forces, "springs", "made")
    with pytest.raises(InputError, match="Say --target-action vector, same"):
        as_question(data, "T points")
    question = as_question(data, "T points", target_action="vector")
    turned = question.action.act(5, x)
    wanted = turned.mean(1, keepdim=True) - turned
    torch.testing.assert_close(question.targets.values[:, 5], wanted.flatten(1))
