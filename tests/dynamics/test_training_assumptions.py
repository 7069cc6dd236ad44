"""The three assumptions: verdicts, and what is said when one fails."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope.dynamics import (
    TrainingProblem,
    check_training_assumptions,
    declare_network,
    training_assumptions,
)
from symscope.dynamics.layer_steps import batch_normalisation, norm_gate, pointwise
from symscope.groups import cyclic, permutation, symmetric, trivial
from symscope.groups.constructions import from_function
from symscope.networks.losses import half_squared_loss, soft_cross_entropy_loss
from tests.dynamics.networks import networks, plane, problem, seeded


def with_data(net, loss=half_squared_loss):
    x = torch.randn(5, net.sources[0].dim, dtype=torch.float64, generator=seeded(0))
    y = torch.rand(5, net.output.dim, dtype=torch.float64, generator=seeded(1))
    return TrainingProblem(net, loss, x, y)


@pytest.mark.parametrize("name", networks())
def test_sound_problems_pass(name):
    result = training_assumptions(problem(name))
    assert [one.number for one in result] == [1, 2, 3]
    assert all(one.holds and one.error < 1e-12 for one in result)
    check_training_assumptions(problem(name))
    assert "Assumption 2 holds" in str(result[1])


def test_large_groups_are_tested_on_samples():
    g = symmetric(10)
    v = permutation(g)
    net = declare_network([v * v, 2 * (v * v), trivial(g)], [(batch_normalisation(), "leaky_relu"), ()])
    check_training_assumptions(with_data(net), samples=6)


def test_a_nonlinearity_that_breaks_equivariance_is_named():
    net = declare_network([plane(), plane(), 2 * plane(), plane()], [norm_gate(), (norm_gate(), "tanh"), ()])
    bad = with_data(net)
    assert [one.holds for one in training_assumptions(bad)] == [True, False, True]
    with pytest.raises(InputError, match=r"tanh after layer 1 on 2 plane, element \d \(.+\).*norm_gate"):
        check_training_assumptions(bad)


def test_a_nonlinearity_with_a_place_of_its_own_is_named():
    v = permutation(cyclic(4))
    ramp = pointwise(lambda x: x * torch.arange(1.0, 5.0, dtype=x.dtype), name="ramp")
    with pytest.raises(InputError, match=r"Assumption 2 FAILS .*ramp after layer 0"):
        check_training_assumptions(with_data(declare_network([v, v, v], ramp)))


def test_a_loss_that_is_not_invariant_is_found():
    bad = with_data(declare_network([plane(), plane()]), soft_cross_entropy_loss)
    with pytest.raises(InputError, match=r"Assumption 3 FAILS .*loss is invariant.*element \d"):
        check_training_assumptions(bad)
    weighted = lambda p, y: (torch.arange(4.0) * (p - y) ** 2).sum(-1)  # noqa: E731
    v = permutation(cyclic(4))
    with pytest.raises(InputError, match="half_squared_loss"):
        check_training_assumptions(with_data(declare_network([v, v]), weighted))
    check_training_assumptions(
        with_data(declare_network([v, trivial(v.group, 4)]), weighted)
    )  # nothing moves: all are


def test_what_claims_to_be_unitary_is_measured():
    g = cyclic(2)
    shear = torch.tensor([[1.0, 0.5], [0.0, -1.0]], dtype=torch.float64)
    sheared = from_function(g, 2, lambda k, x: x @ shear.T if k else x, unitary=True, name="shear")
    rolled = from_function(g, 3, lambda k, x: x.roll(int(k), -1), unitary=True, name="wrong roll")
    for rep, message in [
        (sheared, r"changes inner products \(shear in X_1"),
        (rolled, r"does not multiply .*wrong roll"),
    ]:
        bad = with_data(declare_network([trivial(g), rep, trivial(g)], "identity"))
        with pytest.raises(InputError, match=message):
            check_training_assumptions(bad)


def test_a_loose_tolerance_is_a_choice():
    bad = replace(problem("C5"), loss=lambda p, y: (p - y).square().sum(-1) + 1e-6 * p[..., 0])
    assert not training_assumptions(bad)[2].holds
    assert training_assumptions(bad, tolerance=1e-3)[2].holds


def test_values_that_are_not_finite_are_not_forgotten():
    v = permutation(cyclic(4))
    net = declare_network([v, 2 * v, 2 * v, trivial(v.group)], [pointwise(torch.log), "tanh", ()])
    result = training_assumptions(with_data(net))
    assert [one.holds for one in result] == [True, False, True]
    assert math.isinf(result[1].error)
    with pytest.raises(
        InputError, match=r"log after layer 0 on 2 V4 gives values that are not finite.*finite"
    ):
        check_training_assumptions(with_data(net))
    logarithm = lambda p, y: (p.log() - y).square().sum(-1)  # noqa: E731
    with pytest.raises(InputError, match=r"Assumption 3 FAILS .*loss on V4 gives values that are not finite"):
        check_training_assumptions(with_data(declare_network([v, v]), logarithm))
    lost = from_function(v.group, 2, lambda k, x: x / (k != 1), unitary=True, name="lost")
    with pytest.raises(InputError, match=r"It gives values that are not finite \(lost in X_1, element 1"):
        check_training_assumptions(with_data(declare_network([v, lost], ["identity"])))


def test_a_loss_that_averages_over_samples_is_refused():
    v = permutation(cyclic(4))
    with pytest.raises(InputError, match=r"one loss per sample, shape \(5,\), got \(\)"):
        check_training_assumptions(with_data(declare_network([v, v]), torch.nn.functional.mse_loss))
