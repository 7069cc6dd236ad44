"""The tracker: what it measures against closed forms, that training does not notice it, and bad input."""

from __future__ import annotations

import copy
import inspect

import pytest
import torch
from torch import nn

from symscope import InputError
from symscope.data import rotation
from symscope.data.synthetic import absolute_value, permuted_cube, swapped_squares
from symscope.data.vectors import linear_action
from symscope.groups import cyclic, from_matrices, haar_quadrature, permutation, symmetric, trivial
from symscope.groups.compact import so
from symscope.groups.constructions import defining
from symscope.linear._closed_flow import regression_flow
from symscope.linear._moments import second_moments
from symscope.linear._orbit_regression import orbit_regression
from symscope.linear.asymmetry import asymmetry_loss
from symscope.linear.descent import mean_loss_rate
from symscope.linear.tracker import AsymmetryTracker
from symscope.networks.architectures import mlp, pair_mlp


def layer(d, o, seed, dtype=torch.float64):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Linear(d, o, bias=False).to(dtype)


def train(net, x, y, rate, steps, tracker=None):
    optimiser = torch.optim.SGD(net.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimiser.step()
        if tracker is not None:
            tracker.record()


def close(records, theory, rel, absolute=1e-10):
    for measured, predicted in zip(records, theory, strict=True):
        assert measured.step == predicted.step
        assert measured.asymmetry == pytest.approx(predicted.asymmetry, rel=rel, abs=absolute)
        assert measured.symmetric == pytest.approx(predicted.symmetric, rel=rel, abs=absolute)
        for name, parts in measured.weights.items():
            assert parts.symmetric == pytest.approx(predicted.weights[name].symmetric, rel=rel, abs=absolute)
            other = predicted.weights[name].asymmetric
            assert parts.asymmetric == pytest.approx(other, rel=rel, abs=absolute)


def test_linear_regression_is_what_theory_says_twice():
    """Example 3.1: the linearised network and the closed form from K_G alone, at every step of a real run."""
    toy = absolute_value(30, 3)
    whole = toy.completed()
    flip = from_matrices(cyclic(2), toy.group)
    net = layer(2, 1, 1)
    tracker = AsymmetryTracker(
        net, toy.features, flip, weights={"weight": (flip, trivial(flip.group))}, every=7
    )
    w0 = net.weight.detach()[0].clone()
    train(net, whole.features, whole.targets[:, None], 0.3, 70, tracker)
    assert [r.step for r in tracker.records] == list(range(0, 71, 7))
    # by hand: f(x) = w0 + w1 x, so the asymmetric part is w1 x and the weights split into (w0, 0) and (0, w1)
    mean_x = float(toy.features[:, 1].abs().mean())
    first, last = tracker.records[0], tracker.records[-1]
    assert first.asymmetry == pytest.approx(float(w0[1].abs()) * mean_x)
    assert first.weights["weight"].symmetric == pytest.approx(float(w0[0].abs()))
    rate = 0.3 * 2 * float(toy.features[:, 1].square().mean())
    assert last.asymmetry == pytest.approx(first.asymmetry * (1 - rate) ** 70, rel=1e-6)

    close(
        tracker.records, tracker.predict(whole.features, whole.targets, learning_rate=0.3, loss="mean"), 1e-8
    )
    problem = orbit_regression(second_moments(toy.features, toy.targets[:, None]), flip, trivial(flip.group))
    half_sum = mean_loss_rate(0.3, len(whole.features), 1)
    close(
        tracker.records,
        tracker.predict_linear(regression_flow(problem.k, problem.c), learning_rate=half_sum),
        1e-8,
    )
    table = tracker.table()
    assert set(table["kind"]) == {"measured", "theory"}
    assert list(table.columns)[-2:] == ["weight symmetric", "weight asymmetric"]
    assert len(table) == 2 * 11


def test_equivariant_regression_in_float32():
    toy = swapped_squares(20, 2)
    whole, swap = toy.completed(), permutation(cyclic(2))
    x, y = whole.features.float(), whole.targets.float()
    net = layer(2, 2, 4, torch.float32)
    tracker = AsymmetryTracker(net, x, swap, outputs=swap, weights={"weight": (swap, swap)})
    train(net, x, y, 0.2, 30, tracker)
    close(tracker.records, tracker.predict(x, y, learning_rate=0.2, loss="mean"), 1e-4, 1e-5)
    (a, b), (c, d) = net.weight.detach().double().tolist()
    by_hand = (((a - d) ** 2 + (b - c) ** 2) / 2) ** 0.5
    assert tracker.records[-1].weights["weight"].asymmetric == pytest.approx(by_hand, rel=1e-5)


def test_a_wide_network_is_foretold_and_a_bias_has_parts():
    toy = permuted_cube(6, 3).completed()
    s3, net = linear_action(permutation(symmetric(3))), pair_mlp(3, 2000, seed=2)
    fresh = permuted_cube(25, 9).features
    hidden = trivial(s3.group, 2000)
    tracker = AsymmetryTracker(
        net,
        fresh,
        s3,
        every=15,
        weights={"1.weight": (permutation(symmetric(3)), hidden), "1.bias": hidden},
    )
    train(net, toy.features, toy.targets[:, None], 0.2, 30, tracker)
    theory = tracker.predict(toy.features, toy.targets, learning_rate=0.2, loss="mean")
    close(tracker.records, theory, 0.05)
    assert tracker.records[-1].weights["1.bias"].asymmetric == pytest.approx(0, abs=1e-8)
    assert theory[-1].asymmetry != theory[0].asymmetry


def test_training_does_not_notice():
    """Dropout, batch norm, modes, gradients, and torch's random numbers go on as if nobody looked."""
    x = permuted_cube(12, 0).features
    y = torch.randn(12, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    nets = []
    for watched in (True, False):
        with torch.random.fork_rng():
            torch.manual_seed(5)
            net = nn.Sequential(
                nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1)
            ).double()
            net[1].eval()  # a part that the user froze
            tracker = AsymmetryTracker(net, x, permutation(symmetric(3))) if watched else None
            train(net, x, y, 0.1, 5, tracker)
            nets.append((net, torch.rand(1)))
    (net, drawn), (other, same) = nets
    assert torch.equal(drawn, same)
    assert all(
        torch.equal(a, b) for a, b in zip(net.state_dict().values(), other.state_dict().values(), strict=True)
    )
    assert [part.training for part in net.modules()] == [part.training for part in other.modules()]
    assert not net[1].training
    assert net[0].weight.grad is not None


def test_images_compact_groups_and_samples():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Flatten(), nn.Linear(25, 3)).double()
    images = torch.rand(6, 5, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    tracker = AsymmetryTracker(net, images, rotation(4))
    with torch.no_grad():
        turned = torch.stack([net(torch.rot90(images, k, (1, 2))) for k in range(4)]).mean(0)
        expected = (net(images) - turned).norm(dim=1).mean()
    assert tracker.records[0].asymmetry == pytest.approx(float(expected))
    assert tracker.records[0].symmetric == pytest.approx(float(turned.norm(dim=1).mean()))

    points = torch.randn(20, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    group, one = so(3), layer(3, 1, 7)
    exact = AsymmetryTracker(one, points, defining(group), quadrature=haar_quadrature(group, 2)).records[0]
    assert exact.symmetric == pytest.approx(0, abs=1e-12)  # no invariant linear form on R^3
    sampled = AsymmetryTracker(one, points, defining(group), samples=200, seed=1).records[0]
    assert sampled.standard_error > 0 == exact.standard_error
    assert abs(sampled.asymmetry - exact.asymmetry) < 4 * sampled.standard_error
    swap = permutation(cyclic(2))
    both = AsymmetryTracker(layer(2, 2, 1), points[:, :2], swap, outputs=swap, samples=400).records[0]
    every = AsymmetryTracker(layer(2, 2, 1), points[:, :2], swap, outputs=swap).records[0]
    assert both.asymmetry == pytest.approx(every.asymmetry, abs=4 * both.standard_error)
    assert both.symmetric == pytest.approx(every.symmetric, rel=0.2)


def test_the_start_is_kept_for_the_theory():
    """Predicting after training is predicting before it; a tracker made later starts later."""
    toy = permuted_cube(5, 1).completed()
    net = mlp((3, 6, 1), seed=3)
    before = copy.deepcopy(net)
    tracker = AsymmetryTracker(net, toy.features, toy.group, start=100)
    train(net, toy.features, toy.targets[:, None], 0.05, 4, tracker)
    assert [r.step for r in tracker.records] == [100, 101, 102, 103, 104]
    [at_start] = tracker.predict(toy.features, toy.targets, learning_rate=0.05, loss="mean", steps=[100])
    with torch.no_grad():
        assert at_start.asymmetry == pytest.approx(float(asymmetry_loss(before, toy.features, toy.group)))
    with pytest.raises(InputError, match="steps: expected some, from 100 on"):
        tracker.predict(toy.features, toy.targets, learning_rate=0.05, loss="mean", steps=[99])


def test_figures(tmp_path):
    toy = absolute_value(10, 3)
    flip = from_matrices(cyclic(2), toy.group)
    net = layer(2, 1, 1)
    tracker = AsymmetryTracker(net, toy.features, flip, weights={"weight": (flip, trivial(flip.group))})
    train(net, toy.features, toy.targets[:, None], 0.3, 5, tracker)
    tracker.predict(toy.features, toy.targets, learning_rate=0.3, loss="mean")
    tracker.save(tmp_path / "asymmetry.png")
    tracker.save(str(tmp_path / "asymmetry.svg"))
    assert (tmp_path / "asymmetry.png").stat().st_size > 10_000
    figure = tracker.figure()
    assert len(figure.axes) == 3
    measured, predicted = figure.axes[0].get_lines()
    assert measured.get_ydata() == pytest.approx(predicted.get_ydata(), rel=1e-8)
    assert figure.axes[0].get_yscale() == "log"
    with pytest.raises(InputError, match="svg, png or pdf"):
        tracker.save(tmp_path / "asymmetry.txt")


def test_the_promise_of_five_lines():
    """The docstring's recipe uses names that exist."""
    source = inspect.getdoc(inspect.getmodule(AsymmetryTracker))
    for name in ("record", "predict", "save"):
        assert f"tracker.{name}(" in source
        assert callable(getattr(AsymmetryTracker, name))


def test_bad_input():
    swap, net = permutation(cyclic(2)), layer(2, 1, 0)
    x = torch.rand(4, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with pytest.raises(InputError, match=r"x: the module cannot be evaluated on inputs of shape \[4, 3\]"):
        AsymmetryTracker(net, x[:, [0, 1, 1]], swap)
    with pytest.raises(InputError, match="length 3"):
        AsymmetryTracker(net, x, permutation(cyclic(3)))
    with pytest.raises(InputError, match="no parameter 'wieght'; it has weight"):
        AsymmetryTracker(net, x, swap, weights={"wieght": (swap, swap)})
    with pytest.raises(InputError, match=r"expected 'weight' of shape \(2, 2\)"):
        AsymmetryTracker(net, x, swap, weights={"weight": (swap, swap)})
    with pytest.raises(InputError, match="every of at least 1"):
        AsymmetryTracker(net, x, swap, every=0)
    with pytest.raises(InputError, match="not both"):
        AsymmetryTracker(net, x, defining(so(2)), samples=5, quadrature=haar_quadrature(so(2), 2))
    tracker = AsymmetryTracker(net, x, swap)
    tracker.record(5)
    with pytest.raises(InputError, match="step: expected a number above 5"):
        tracker.record(5)
    with pytest.raises(InputError, match="gradient descent diverges"):
        tracker.predict(x, x[:, 0], learning_rate=100.0, loss="mean")
    solution = regression_flow(torch.eye(2, dtype=torch.float64), torch.zeros(2, 1, dtype=torch.float64))
    with pytest.raises(InputError, match="below 2 / lambda_max"):
        tracker.predict_linear(solution, learning_rate=3.0)
    with pytest.raises(InputError, match="bias=False"):
        AsymmetryTracker(mlp((2, 3, 1)), x, swap).predict_linear(solution, learning_rate=0.1)
