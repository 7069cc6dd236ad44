"""Only plain gradient descent has a closed form: the rest is refused, not drawn wrongly."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope import InputError
from symscope.data.synthetic import permuted_cube
from symscope.linear._plain_descent import active_layers, plain_learning_rate
from symscope.linear.tracker import AsymmetryTracker
from symscope.networks.architectures import mlp


def trained(net, optimiser, steps=2):
    toy = permuted_cube(4, 1).completed()
    tracker = AsymmetryTracker(net, toy.features, toy.group)
    for _ in range(steps):
        optimiser.zero_grad()
        nn.functional.mse_loss(net(toy.features), toy.targets[:, None]).backward()
        optimiser.step()
        tracker.record()
    return tracker, toy


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: torch.optim.Adam(p, lr=0.01), "got Adam"),
        (lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9), "got momentum=0.9"),
        (lambda p: torch.optim.SGD(p, lr=0.01, weight_decay=0.1), "got weight_decay=0.1"),
        (lambda p: torch.optim.SGD(p, lr=0.01, maximize=True), "got maximize=True"),
        (lambda p: torch.optim.SGD(p[:2], lr=0.01), "'3.weight' is not"),
        (
            lambda p: torch.optim.SGD([{"params": p[:2], "lr": 0.1}, {"params": p[2:], "lr": 0.2}]),
            r"one learning rate, got \[0.1, 0.2\]",
        ),
    ],
)
def test_other_training_is_refused(make, words):
    net = mlp((3, 5, 1), seed=0)
    tracker, toy = trained(net, make(list(net.parameters())), steps=0)
    with pytest.raises(InputError, match=words):
        tracker.predict(toy.features, toy.targets, optimiser=make(list(net.parameters())), loss="mean")


def test_plain_descent_is_predicted_from_the_optimiser():
    net = mlp((3, 5, 1), seed=0)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
    assert plain_learning_rate(optimiser, net) == 0.01
    tracker, toy = trained(net, optimiser)
    ours = tracker.predict(toy.features, toy.targets, optimiser=optimiser, loss="mean")
    assert ours == tracker.predict(toy.features, toy.targets, learning_rate=0.01, loss="mean")
    assert ours[-1].asymmetry == pytest.approx(tracker.records[-1].asymmetry, rel=0.05)
    for rates in ({}, {"learning_rate": 0.01, "optimiser": optimiser}):
        with pytest.raises(InputError, match="either a learning rate or an optimiser"):
            tracker.predict(toy.features, toy.targets, loss="mean", **rates)


def test_parameters_that_were_left_out_are_seen_without_the_optimiser():
    net = mlp((3, 5, 1), seed=0)
    tracker, toy = trained(net, torch.optim.SGD(net[1].parameters(), lr=0.01))
    with pytest.raises(InputError, match=r"'3\.weight' has not moved"):
        tracker.predict(toy.features, toy.targets, learning_rate=0.01, loss="mean")
    net[3].requires_grad_(False)
    tracker, toy = trained(net, torch.optim.SGD(net[1].parameters(), lr=0.01))
    assert len(tracker.predict(toy.features, toy.targets, learning_rate=0.01, loss="mean")) == 3


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.BatchNorm1d(5)])
def test_layers_that_depend_on_chance_or_the_batch_are_refused(layer):
    net = nn.Sequential(nn.Linear(3, 5), layer, nn.Linear(5, 1)).double()
    tracker, toy = trained(net, torch.optim.SGD(net.parameters(), lr=0.01))
    net.eval()  # too late: training has seen it
    with pytest.raises(InputError, match=f"no closed form: {type(layer).__name__} in train mode"):
        tracker.predict(toy.features, toy.targets, learning_rate=0.01, loss="mean")
    still, toy = trained(net, torch.optim.SGD(net.parameters(), lr=0.01))
    assert active_layers(net) == []
    assert len(still.predict(toy.features, toy.targets, learning_rate=0.01, loss="mean")) == 3
