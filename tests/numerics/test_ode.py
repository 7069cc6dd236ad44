"""Flows with known solutions, and those that cannot be followed."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.numerics import ode_flow

FINE = {"rtol": 1e-11, "atol": 1e-12}


@given(st.integers(1, 5), st.integers(0, 1000), st.floats(-2.0, 2.0).filter(lambda t: abs(t) > 1e-3))
def test_linear_flows_are_matrix_exponentials(n, seed, time):
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.randn(n, n, generator=generator, dtype=torch.float64)
    start = torch.randn(n, 2, generator=generator, dtype=torch.float64)
    path = ode_flow(lambda x: matrix @ x, start, [0.0, time / 3, time], **FINE)
    assert torch.equal(path.states[0], start)
    for at, state in zip((time / 3, time), path.states[1:], strict=True):
        expected = torch.linalg.matrix_exp(at * matrix) @ start
        torch.testing.assert_close(state, expected, rtol=1e-8, atol=1e-8)


def test_tolerances_decide_how_often_the_velocity_is_evaluated():
    start = torch.tensor([1.0, 0.0], dtype=torch.float64)
    calls = []

    def turn(x):
        calls.append(x.shape)
        return torch.stack([-x[1], x[0]])

    loose = ode_flow(turn, start, [0.0, 20.0], rtol=1e-3, atol=1e-3)
    assert loose.evaluations == len(calls)
    tight = ode_flow(turn, start, [0.0, 20.0], **FINE)
    assert tight.evaluations > loose.evaluations
    exact = torch.tensor([20.0], dtype=torch.float64)
    torch.testing.assert_close(tight.states[-1], torch.cat([exact.cos(), exact.sin()]), rtol=0, atol=1e-9)


def test_dtype_and_gradients_of_the_start_are_kept_out_of_the_solver():
    start = torch.ones(2, 1, 3, requires_grad=True)
    path = ode_flow(lambda x: -x, start, [0.0, 1.0], rtol=1e-6, atol=1e-6)
    assert path.states.dtype == torch.float32
    assert path.states.shape == (2, 2, 1, 3)
    assert not path.states.requires_grad


@pytest.mark.parametrize("times", [[], [0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.5], [0.0, float("inf")]])
def test_times_out_of_order(times):
    with pytest.raises(InputError, match="times: expected two or more, increasing or decreasing"):
        ode_flow(lambda x: x, torch.ones(1), times, **FINE)


def test_flows_that_cannot_be_followed():
    one = torch.ones(1, dtype=torch.float64)
    with pytest.raises(InputError, match=r"growth could not be followed to time 2 .*without bound"):
        ode_flow(torch.square, one, [0.0, 2.0], name="growth", **FINE)
    with pytest.raises(InputError, match=r"the flow came to time .* of 1 in 50 evaluations: look earlier"):
        ode_flow(
            lambda x: -torch.sign(x - 0.5), one, [0.0, 1.0], evaluations=50, remedy="look earlier", **FINE
        )
    with pytest.raises(InputError, match="not finite at its start"):
        ode_flow(torch.log, -one, [0.0, 1.0], **FINE)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_states_stay_on_their_device():
    start = torch.ones(3, dtype=torch.float64, device="cuda")
    path = ode_flow(lambda x: -x, start, [0.0, 1.0], **FINE)
    assert path.states.device == start.device
    torch.testing.assert_close(path.states[-1].cpu(), torch.full((3,), -1.0).double().exp())
