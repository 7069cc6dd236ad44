"""Risks against sums written out."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope.dynamics import TrainingProblem, declare_network
from symscope.dynamics.layer_steps import batch_normalisation
from symscope.dynamics.layer_vectors import gaussian_weights, project
from symscope.dynamics.risks import (
    augmented_risk,
    equivariant_risk,
    feature_average,
    feature_averaged_risk,
    monte_carlo_risk,
    nominal_risk,
)
from symscope.groups import cyclic, permutation, symmetric, trivial
from symscope.networks.losses import half_squared_loss
from symscope.testing import assert_equivariant
from tests.dynamics.networks import networks, problem, seeded
from tests.tolerances import MONTE_CARLO_SIGMAS, ROUNDING


@pytest.mark.parametrize("name", networks())
def test_risks_are_the_sums_they_stand_for(name):
    given = problem(name)
    net = given.network
    weights = gaussian_weights(net, seeded(3), runs=(2,))
    alone = [w[1] for w in weights]
    predicted = torch.stack([net.forward(alone, x[None])[0] for x in given.x])
    plain = (predicted - given.y).square().sum(1).mean() / 2
    assert torch.allclose(nominal_risk(given, weights)[1], plain)
    assert torch.allclose(equivariant_risk(given, alone), nominal_risk(given, project(net, alone)))
    total = 0.0
    for g in net.group.elements:
        moved, labels = given.x @ net.sources[0](g).T, given.y @ net.output(g).T
        total += float((net.forward(alone, moved) - labels).square().sum(1).mean() / 2)
    for over in ("data", "layers"):
        result = augmented_risk(given, weights, over=over)
        assert result.shape == (2,)
        assert abs(float(result[1]) - total / net.group.order) < ROUNDING * total


@pytest.mark.parametrize("name", networks())
def test_feature_averages_are_equivariant_and_bounded_by_augmentation(name):
    given = problem(name)
    net = given.network
    weights = gaussian_weights(net, seeded(3))
    assert_equivariant(
        lambda x: feature_average(net, weights, x), net.sources[0], net.output, given.x, tolerance=1e-10
    )
    gap = float(augmented_risk(given, weights) - feature_averaged_risk(given, weights))
    assert gap > 1e-3  # Jensen, strict for layers off E: the paper's Eq. 3 is not an equality
    inside = project(net, weights)
    assert torch.allclose(augmented_risk(given, inside), feature_averaged_risk(given, inside))


def test_normalisation_sees_one_batch_per_element():
    g = cyclic(4)
    v = permutation(g)
    net = declare_network([v, 2 * v, trivial(g)], [(batch_normalisation(), "tanh"), ()])
    x, y = (torch.randn(5, d, dtype=torch.float64, generator=seeded(d)) for d in (4, 1))
    given = TrainingProblem(net, half_squared_loss, x, y)
    weights = gaussian_weights(net, seeded(0), runs=(3,))
    data, layers = (augmented_risk(given, weights, over=over) for over in ("data", "layers"))
    assert torch.allclose(data, layers, atol=ROUNDING)


def test_monte_carlo_agrees_with_the_exact_average():
    given = problem("S4")
    weights = gaussian_weights(given.network, seeded(3), runs=(2,))
    result = monte_carlo_risk(given, weights, 200, seeded(4))
    exact = augmented_risk(given, weights)
    assert bool(((result.value - exact).abs() < MONTE_CARLO_SIGMAS * result.standard_error).all())
    assert bool((result.standard_error < 0.2 * exact).all())
    assert result.passes == 200


def test_bad_input():
    given = problem("C5")
    weights = gaussian_weights(given.network, seeded(0))
    with pytest.raises(InputError, match=r"y as floating-point numbers \[..., n, 5\].*one-hot"):
        replace(given, y=torch.zeros(6, dtype=torch.int64)[:, None].expand(6, 5))
    with pytest.raises(InputError, match=r"expected x .*flatten"):
        replace(given, x=torch.zeros(6, 2, 3))
    with pytest.raises(InputError, match="as many targets as samples"):
        replace(given, y=given.y[:3])
    with pytest.raises(InputError, match="finite x"):
        replace(given, x=given.x / 0)
    with pytest.raises(InputError, match="one loss per sample"):
        nominal_risk(replace(given, loss=torch.nn.functional.mse_loss), weights)
    with pytest.raises(InputError, match="data or layers, got 'both'"):
        augmented_risk(given, weights, over="both")
    with pytest.raises(InputError, match="at least one group element"):
        augmented_risk(given, weights, [])
    with pytest.raises(InputError, match="at least two passes"):
        monte_carlo_risk(given, weights, 1, seeded(0))
    g = symmetric(10)
    net = declare_network([permutation(g), trivial(g)])
    large = TrainingProblem(net, half_squared_loss, torch.eye(10), torch.ones(10, 1))
    with pytest.raises(InputError, match="S10 has 3628800"):
        augmented_risk(large, [torch.ones(1, 10)])


def test_losses_of_runs_are_kept_apart():
    given = problem("C5")
    weights = gaussian_weights(given.network, seeded(0), runs=(3,))
    assert feature_averaged_risk(given, weights).shape == (3,)
    averaged = replace(given, loss=lambda p, y: (p - y).square().mean())
    with pytest.raises(InputError, match=r"one loss per sample, shape \(3, 6\), got \(\)"):
        feature_averaged_risk(averaged, weights)


def test_no_elements_and_other_dtypes_are_refused():
    given = problem("C5")
    weights = gaussian_weights(given.network, seeded(0))
    for risk in (
        lambda: augmented_risk(given, weights, [], over="layers"),
        lambda: feature_averaged_risk(given, weights, []),
        lambda: feature_average(given.network, weights, given.x, []),
    ):
        with pytest.raises(InputError, match="at least one group element"):
            risk()
    single = [w.float() for w in weights]
    for function in (nominal_risk, augmented_risk, equivariant_risk, feature_averaged_risk):
        with pytest.raises(InputError, match=r"layer 0 is torch.float32 on cpu, samples are torch.float64"):
            function(given, single)


def test_a_module_is_refused_with_what_to_give_instead():
    given = object.__new__(TrainingProblem)  # the suite checks the types of arguments, users do not
    object.__setattr__(given, "network", torch.nn.Sequential(torch.nn.Linear(2, 2)))
    with pytest.raises(InputError, match=r"declare_network, got Sequential.*layer_equivariance"):
        given.__post_init__()
