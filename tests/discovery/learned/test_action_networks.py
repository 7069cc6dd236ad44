"""Action networks: derivatives by the chain rule against torch.func, and bad input."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.func import jvp

from symscope.discovery.learned._action_networks import MLPAction, MLPCopy, check_parameter_action
from symscope.discovery.learned._parameter_action import identity_and_fields
from symscope.errors import InputError
from tests.discovery.learned.test_parameter_action import drawn, network
from tests.tolerances import ROUNDING


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("bound", [False, True])
def test_the_jet_is_what_nested_products_give(exact, bound):
    action, theta, data = network(exact), drawn(3, 4, seed=2), drawn(3, 2, seed=3)
    h, directions, identity = drawn(2, 4, 4), drawn(2, 3, 4, seed=5), torch.eye(4, dtype=torch.float64)
    if bound:
        weights = {name: 0.7 * weight for name, weight in action.named_parameters()}
        made = MLPCopy(action, weights)
    else:
        made = action
    start, fields, mixed = made.jet(h, theta, data, directions)

    def field(point, k):
        return jvp(lambda g: made(g, point, data), (identity,), (h[k],))[1]

    torch.testing.assert_close(start, made(identity, theta, data), atol=ROUNDING, rtol=0)
    for k in range(2):
        torch.testing.assert_close(fields[k], field(theta, k), atol=ROUNDING, rtol=0)
        nested = jvp(lambda point, k=k: field(point, k), (theta,), (directions[k],))[1]
        torch.testing.assert_close(mixed[k], nested, atol=ROUNDING, rtol=0)
    assert made.jet(h, theta, data)[2] is None


def test_one_hidden_layer_and_no_data():
    torch.manual_seed(0)
    action = MLPAction(3, 0, hidden=(4,)).double().requires_grad_(False)
    theta, none, h = drawn(2, 3), drawn(2, 0), drawn(1, 3, 3, seed=1)
    _, fields, mixed = action.jet(h, theta, none, drawn(1, 2, 3, seed=4))
    step = 1e-5
    moved = [action.jet(h, theta + sign * step * drawn(1, 2, 3, seed=4)[0], none)[1] for sign in (1, -1)]
    torch.testing.assert_close(mixed, (moved[0] - moved[1]) / (2 * step), atol=1e-8, rtol=0)
    assert fields.shape == (1, 2, 3)


def test_an_exact_identity_is_exact_and_leaves_the_fields_alone():
    plain, exact = network(), network(exact=True)
    theta, data, h = drawn(3, 4, seed=2), drawn(3, 2, seed=3), drawn(1, 4, 4)
    start, fields = identity_and_fields(exact, h, theta, data)
    torch.testing.assert_close(start, theta, atol=ROUNDING, rtol=0)
    torch.testing.assert_close(fields, identity_and_fields(plain, h, theta, data)[1])


def test_a_group_of_smaller_matrices_and_elements_that_differ_within_a_batch():
    action, theta, data = network(size=2), drawn(3, 4, seed=2), drawn(3, 2, seed=3)
    g = drawn(3, 2, 2, seed=4)
    for b in range(3):
        torch.testing.assert_close(action(g, theta, data)[b], action(g[b], theta, data)[b])


@pytest.mark.parametrize("bad", [{"parameters": 0}, {"data": -1}, {"size": 0}, {"hidden": ()}])
def test_impossible_networks_are_refused(bad):
    with pytest.raises(InputError, match=r"(parameters|data|size|hidden): expected"):
        MLPAction(**{"parameters": 2, "data": 1, **bad})


def test_modules_that_are_no_actions_are_refused():
    check_parameter_action(network(), 4, 4, 2)
    with pytest.raises(InputError, match=r"must take \(g \[4, 4\], theta \[b, 5\]"):
        check_parameter_action(network(), 4, 5, 2)
    with pytest.raises(InputError, match="must take"):
        check_parameter_action(nn.Linear(2, 2), 2, 2, 0)

    class Short(nn.Module):
        def forward(self, g, theta, data):
            return theta[:, :1]

    with pytest.raises(InputError, match=r"shape \[b, 4\], got \(2, 1\)"):
        check_parameter_action(Short(), 4, 4, 2)
