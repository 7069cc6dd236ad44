"""Kernel logistic regression against the same descent in the space of weights, by autograd."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.numerics._randomness import seeded
from symscope_papers.forecast.quality.kernel_logistic import MOMENTUM, kernel_logistic_regression
from tests.tolerances import STACKED


def linear_problem():
    x = torch.randn(9, 4, generator=seeded(3), dtype=torch.float64)
    labels = torch.tensor([0, 1, 2, 2, 1, 0, 0, 2, 1])
    seen = torch.tensor([True, True, True, False, True, True, True, False, True])
    return x, torch.nn.functional.one_hot(labels).double(), seen


def by_weights(x, one_hot, seen, first, steps):
    """A linear model with cross-entropy summed over points and Nesterov's momentum, written for weights."""
    rate = 2.0 / float((x[seen] @ x[seen].T).abs().sum(1).max())
    weights = first.clone()
    remaining = weights.clone()
    for _ in range(steps):
        at = remaining.clone().requires_grad_()
        loss = torch.nn.functional.cross_entropy(x[seen] @ at, one_hot[seen].argmax(1), reduction="sum")
        (gradient,) = torch.autograd.grad(loss, at)
        fresh = remaining - rate * gradient
        remaining, weights = fresh + MOMENTUM * (fresh - weights), fresh
    return x @ weights


@pytest.mark.parametrize("started", [False, True])
def test_it_is_descent_of_a_linear_model(started):
    x, one_hot, seen = linear_problem()
    first = torch.zeros(4, 3, dtype=torch.float64)
    if started:
        first = torch.randn(4, 3, generator=seeded(5), dtype=torch.float64)
    result = kernel_logistic_regression(
        x @ x.T, one_hot, seen, x @ first if started else None, steps=37, tolerance=0.0
    )
    expected = by_weights(x, one_hot, seen, first, 37)
    assert result.steps == 37
    torch.testing.assert_close(result.outputs, expected[~seen], atol=STACKED, rtol=STACKED)
    loss = torch.nn.functional.cross_entropy(expected[seen], one_hot[seen].argmax(1))
    assert result.loss == pytest.approx(float(loss), abs=STACKED)


def test_labels_of_unseen_points_change_nothing():
    x, one_hot, seen = linear_problem()
    other = one_hot.clone()
    other[~seen] = other[~seen].roll(1, 1)
    first, second = (
        kernel_logistic_regression(x @ x.T, y, seen, steps=20, tolerance=0.0).outputs
        for y in (one_hot, other)
    )
    assert torch.equal(first, second)


def test_what_fits_already_is_left_alone():
    x, one_hot, seen = linear_problem()
    start = 20 * one_hot + 0.1 * x[:, :3]
    result = kernel_logistic_regression(x @ x.T, one_hot, seen, start, steps=50, tolerance=0.01)
    assert result.steps == 0
    assert torch.equal(result.outputs, start[~seen])


def test_it_stops_at_the_tolerance():
    x, one_hot, seen = linear_problem()
    gram = x @ x.T + 5 * torch.eye(9, dtype=torch.float64)
    result = kernel_logistic_regression(gram, one_hot, seen, steps=5000, tolerance=0.1)
    assert result.loss <= 0.1
    assert result.steps < 5000


@pytest.mark.parametrize("value", [True, False])
def test_all_or_nothing_seen_is_refused(value):
    x, one_hot, _ = linear_problem()
    with pytest.raises(InputError, match="some points to train on and some not to"):
        kernel_logistic_regression(x @ x.T, one_hot, torch.full((9,), value), steps=5, tolerance=0.0)


def test_no_steps_are_refused():
    x, one_hot, seen = linear_problem()
    with pytest.raises(InputError, match="steps"):
        kernel_logistic_regression(x @ x.T, one_hot, seen, steps=0, tolerance=0.0)
