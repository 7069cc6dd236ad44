from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from symscope.errors import InputError
from symscope.linear import orbit_regression, regression_flow, second_moments
from tests.linear.problems import Problem, draw, problems
from tests.tolerances import FOURIER, ODE

INFINITE = torch.tensor([math.inf], dtype=torch.float64)


def solved(problem: Problem):
    equivariant = problem.y.ndim == 2
    labels = problem.rep if equivariant else None
    result = orbit_regression(second_moments(problem.x, problem.y), problem.rep, labels)
    scale = float(torch.linalg.matrix_norm(result.k, 2))
    # one unit of time is the fastest relaxation time, so that the solver is not asked for stiff problems
    return result, regression_flow(result.k / scale, result.c / scale, 1e-10)


def integrated(k: np.ndarray, c: np.ndarray, start: np.ndarray, times: list[float]) -> np.ndarray:
    result = solve_ivp(
        lambda t, w: (c - k @ w.reshape(c.shape)).reshape(-1),
        (0.0, times[-1]),
        start.reshape(-1),
        "DOP853",
        times,
        rtol=1e-12,
        atol=1e-13,
    )
    assert result.success
    return result.y.T.reshape(len(times), *c.shape)


@pytest.mark.parametrize("equivariant", [False, True])
@given(data=st.data())
def test_the_closed_form_is_the_integrated_flow(equivariant, data):
    problem = data.draw(problems(equivariant))
    result, solution = solved(problem)
    scale = float(torch.linalg.matrix_norm(result.k, 2))
    times = [0.0, 0.7, 3.0, 11.0]
    expected = integrated(
        (result.k / scale).numpy(), (result.c / scale).numpy(), problem.start.numpy(), times
    )
    size = 1 + float(np.abs(expected).max())
    gap = solution.weights(problem.start, torch.tensor(times, dtype=torch.float64)).numpy() - expected
    assert np.abs(gap).max() < ODE * size


@pytest.mark.parametrize("equivariant", [False, True])
@given(data=st.data(), share=st.sampled_from([0.1, 0.6, 1.0, 1.7]))
def test_descent_is_gradient_descent_step_by_step(equivariant, data, share):
    problem = data.draw(problems(equivariant))
    x = torch.cat([problem.x @ g for g in problem.elements])
    y = torch.cat([problem.y @ g if equivariant else problem.y for g in problem.elements])
    result, _ = solved(problem)
    solution = regression_flow(result.k, result.c, 1e-10)
    rate = share / 2 * solution.stable_rate
    w = problem.start.clone()
    for _ in range(25):  # on the data themselves, not on their moments
        w = w + rate * x.T @ (y - x @ w)
    ours = solution.descent(problem.start, rate, torch.tensor([0, 25]))
    assert (ours[0] - problem.start).abs().max() < FOURIER * (1 + float(problem.start.abs().max()))
    assert (ours[1] - w).abs().max() < ODE * (1 + float(w.abs().max()))


@given(problem=problems())
def test_the_limit_is_a_minimum_and_keeps_what_the_data_do_not_reach(problem):
    result, solution = solved(problem)
    limit = solution.limit(problem.start)
    size = 1 + float(limit.abs().max()) + float(problem.start.abs().max())
    scale = float(torch.linalg.matrix_norm(result.k, 2)) + float(result.c.abs().max())
    assert (result.k @ limit - result.c).abs().max() < ODE * scale * size
    assert (solution.weights(problem.start, INFINITE)[0] - limit).abs().max() < FOURIER * size
    # numpy's pseudo-inverse of the data themselves, which are not squared
    x = torch.cat([problem.x @ g for g in problem.elements]).numpy()
    inverse = np.linalg.pinv(x, rcond=1e-6)
    y = problem.y.repeat(len(problem.elements)).numpy()
    start = problem.start.numpy()
    expected = inverse @ y + start - inverse @ (x @ start)
    well = solution.rates[~solution.unseen].min() > 1e-4
    assert solution.rank == np.linalg.matrix_rank(x, rtol=1e-5)
    if bool(well):
        assert np.abs(limit.numpy() - expected).max() < 1e-6 * (1 + np.abs(expected).max())


def test_rank_deficient_data_are_a_result():
    x = torch.tensor([[1.0, 2.0, 0.0]], dtype=torch.float64)
    y = torch.tensor([5.0], dtype=torch.float64)
    moments = second_moments(x, y)
    solution = regression_flow(moments.xx, moments.xy)
    assert solution.rank == 1
    start = torch.tensor([2.0, -1.0, 7.0], dtype=torch.float64)  # perpendicular to the data
    assert (solution.undecaying_part(start) - start).abs().max() < 1e-14
    assert (solution.limit(start) - torch.tensor([3.0, 1.0, 7.0])).abs().max() < 1e-13
    nothing = regression_flow(0 * moments.xx, 0 * moments.xy)
    assert nothing.rank == 0
    assert nothing.stable_rate == math.inf
    assert torch.equal(nothing.weights(start, INFINITE)[0], start)


def test_the_bound_is_where_descent_turns_to_divergence():
    k = torch.diag(torch.tensor([1.0, 4.0], dtype=torch.float64))
    solution = regression_flow(k, torch.zeros(2, dtype=torch.float64))
    start = torch.ones(2, dtype=torch.float64)
    assert solution.stable_rate == 0.5
    late = solution.descent(start, 0.4999, torch.tensor([100_000]))
    assert late.abs().max() < 1e-6
    for rate in (0.5, 0.7):
        with pytest.raises(
            InputError, match=r"below 2 / lambda_max = 0\.5, beyond which gradient descent diverges"
        ):
            solution.descent(start, rate, torch.tensor([1]))
    with pytest.raises(InputError, match="a learning rate above 0"):
        solution.descent(start, 0.0, torch.tensor([1]))


def test_bad_input():
    k, c = torch.diag(torch.tensor([1.0, 0.0], dtype=torch.float64)), torch.ones(2, dtype=torch.float64)
    with pytest.raises(InputError, match="expected C in the range of K"):
        regression_flow(k, c)
    with pytest.raises(InputError, match="expected a positive semi-definite K"):
        regression_flow(-k, 0 * c)
    with pytest.raises(InputError, match="expected a symmetric matrix K"):
        regression_flow(torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64), c)
    with pytest.raises(InputError, match="expected a finite matrix K"):
        regression_flow(k * math.nan, c)
    with pytest.raises(InputError, match="expected C with 2 rows"):
        regression_flow(k, draw(0, 3))
    solution = regression_flow(k, torch.tensor([1.0, 0.0], dtype=torch.float64))
    with pytest.raises(InputError, match="times: expected a list of times, none negative"):
        solution.weights(c, torch.tensor([-1.0]))
    with pytest.raises(InputError, match="steps: expected numbers of steps, none negative"):
        solution.descent(c, 0.1, torch.tensor([-1]))
    with pytest.raises(InputError, match=r"expected weights of shape \(2,\), got \(3,\)"):
        solution.limit(draw(0, 3))
