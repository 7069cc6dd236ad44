"""Actions: fields and defects against closed forms, finite differences and dense Jacobians."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from symscope.discovery.learned._action_networks import LinearAction, MLPAction
from symscope.discovery.learned._parameter_action import (
    action_field,
    bracket_defect,
    eq7_defect,
    field_derivative,
    identity_and_fields,
    integrated_defect,
)
from tests.tolerances import ROUNDING

NONE = torch.ones(3, 0, dtype=torch.float64)


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def network(exact: bool = False, size: int | None = None) -> MLPAction:
    torch.manual_seed(1)
    return MLPAction(4, 2, size, hidden=(7, 5), exact_identity=exact).double().requires_grad_(False)


def conjugation(g, theta, data):
    """A true nonlinear action of GL(2): projective maps of the line, here on three coordinates at once."""
    top = g[..., 0, 0] * theta + g[..., 0, 1]
    return top / (g[..., 1, 0] * theta + g[..., 1, 1])


def test_fields_are_the_derivative_of_the_action_at_the_identity():
    action, h, theta, data = network(), drawn(2, 4, 4), drawn(3, 4, seed=2), drawn(3, 2, seed=3)
    start, fields = identity_and_fields(action, h, theta, data)
    identity, step = torch.eye(4, dtype=torch.float64), 1e-5
    torch.testing.assert_close(start, action(identity, theta, data))
    for k in range(2):
        remaining, behind = (action(identity + sign * step * h[k], theta, data) for sign in (1, -1))
        torch.testing.assert_close(fields[k], (remaining - behind) / (2 * step), atol=1e-8, rtol=0)
        torch.testing.assert_close(action_field(action, h[k], theta, data), fields[k])


def test_field_derivative_is_the_dense_jacobian_times_the_direction():
    action, h, theta, data = network(), drawn(4, 4), drawn(3, 4, seed=2), drawn(3, 2, seed=3)
    direction = drawn(3, 4, seed=5)
    derivative = field_derivative(action, h, direction, theta, data)
    for b in range(3):
        dense = torch.autograd.functional.jacobian(
            lambda point, b=b: action_field(action, h, point[None], data[b : b + 1])[0], theta[b]
        )
        torch.testing.assert_close(derivative[b], dense @ direction[b], atol=ROUNDING, rtol=0)


@settings(max_examples=8)
@given(st.integers(0, 1000))
def test_the_bracket_condition_is_zero_on_true_actions_and_eq7_is_not(seed):
    theta = drawn(3, 3, seed=seed)
    for action, size in ((LinearAction(), 3), (conjugation, 2)):
        h1, h2 = drawn(2, size, size, seed=seed + 1)
        scale = float(field_derivative(action, h2, action_field(action, h1, theta, NONE), theta, NONE).norm())
        assert float(bracket_defect(action, h1, h2, theta, NONE).norm()) <= 100 * ROUNDING * (1 + scale)
        assert float(eq7_defect(action, h1, h1, theta, NONE).norm()) > 1e-3
    torch.testing.assert_close(
        eq7_defect(LinearAction(), h := drawn(3, 3), h, theta, NONE), theta @ (h @ h).T
    )


def test_the_bracket_condition_sees_a_right_action():
    """theta -> g^-1 theta is a right action: its defect is twice the field of the commutator."""
    h1, h2, theta = drawn(3, 3), drawn(3, 3, seed=1), drawn(3, 3, seed=2)
    right = lambda g, point, data: point @ torch.linalg.inv(g).mT  # noqa: E731
    defect = bracket_defect(right, h1, h2, theta, NONE)
    torch.testing.assert_close(defect, -2 * theta @ (h1 @ h2 - h2 @ h1).T, atol=1e-10, rtol=0)


def test_the_integrated_axiom_on_true_actions_and_its_second_order_is_the_bracket_condition():
    h1, h2, theta = 0.3 * drawn(3, 3), 0.3 * drawn(3, 3, seed=1), drawn(3, 3, seed=2)
    assert float(integrated_defect(LinearAction(), h1, h2, theta, NONE).abs().max()) < ROUNDING
    action, theta, data = network(exact=True), drawn(3, 4, seed=2), drawn(3, 2, seed=3)
    h1, h2, step = drawn(4, 4), drawn(4, 4, seed=1), 1e-3
    there = integrated_defect(action, step * h1, step * h2, theta, data)
    back = integrated_defect(action, step * h2, step * h1, theta, data)
    bracket = bracket_defect(action, h1, h2, theta, data).detach()
    torch.testing.assert_close(
        (there - back) / step**2, bracket, atol=0.02 * float(bracket.abs().max()), rtol=0
    )
