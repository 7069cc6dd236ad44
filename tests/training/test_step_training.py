"""Steps with a schedule: against PyTorch's own optimiser and scheduler."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from symscope.errors import InputError
from symscope.training import (
    Optimiser,
    StepPlan,
    _step_training,
    module_outputs,
    seconds_per_step,
    train_steps,
)
from tests.shapes import annotations_unchecked


def problem():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, 5, generator=generator)
    return x, (x[:, 0] > 0).long() + (x[:, 1] > 1).long()


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def test_full_batches_are_adam_with_a_scheduler():
    x, y = problem()
    seen = torch.arange(4, 40)
    plan = StepPlan(25, 36, Optimiser("adam", 1e-2))
    mine, theirs = network(), network()
    losses = train_steps(mine, x, y, seen, plan, seed=0)
    optimiser = torch.optim.Adam(theirs.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, plan.rate)
    theirs.train()
    for _ in range(25):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(theirs(x[seen]), y[seen])
        loss.backward()
        optimiser.step()
        scheduler.step()
    theirs.eval()
    torch.testing.assert_close(losses[-1], loss.detach(), atol=1e-5, rtol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(module_outputs(mine, x), theirs(x), atol=1e-4, rtol=1e-4)
    assert not mine.training


def test_every_point_is_seen_once_in_a_pass_and_seeds_repeat():
    x, y = problem()
    counts = torch.zeros(40)

    class Counting(nn.Linear):
        def forward(self, rows):
            if self.training:
                for row in rows:
                    counts[int((x == row).all(1).nonzero())] += 1
            return super().forward(rows)

    plan = StepPlan(9, 12, Optimiser("sgd", 0.1))
    runs = []
    for _ in range(2):
        torch.manual_seed(0)
        net = Counting(5, 3)
        train_steps(net, x, y, torch.arange(36), plan, seed=5)
        runs.append(net.weight.detach().clone())
    assert torch.equal(*runs)
    assert counts.tolist() == [6.0] * 36 + [0.0] * 4  # three passes, twice


@given(st.integers(1, 500))
def test_rates_rise_then_fall_and_never_leave_the_range(steps):
    plan = StepPlan(steps, 4, Optimiser("sgd", 1.0))
    rates = [plan.rate(k) for k in range(steps)]
    top = rates.index(max(rates))
    assert all(0 < rate <= 1 for rate in rates)
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)


def test_a_loss_that_is_not_finite_is_told():
    x, y = problem()
    with pytest.raises(InputError, match=r"the loss is (nan|inf) at step"):
        train_steps(
            nn.Linear(5, 3), 1e30 * x, y, torch.arange(40), StepPlan(5, 40, Optimiser("sgd", 1e30)), 0
        )


def test_steps_are_timed():
    x, y = problem()
    assert 0 < seconds_per_step(network(), x, y, torch.arange(40), StepPlan(5, 8, Optimiser("sgd", 0.1))) < 60


@pytest.mark.parametrize(
    ("short_step", "long_step", "steps"),
    [
        (3600.0, 3600.0, 1 + 2 * _step_training.TRIED_STEPS),
        (0.0, 3600.0, 1 + _step_training.TRIED_STEPS),
        (0.0, 0.0, 1),
    ],
)
def test_how_often_a_step_is_measured_follows_from_the_first(monkeypatch, short_step, long_step, steps):
    monkeypatch.setattr(_step_training, "SHORT_STEP", short_step)
    monkeypatch.setattr(_step_training, "LONG_STEP", long_step)
    x, y = problem()
    module, calls = network(), []
    module.register_forward_hook(lambda *_: calls.append(1))
    seconds_per_step(module, x, y, torch.arange(40), StepPlan(5, 8, Optimiser("sgd", 0.1)))
    assert len(calls) == steps


def test_what_cannot_be_trained_on_is_refused():
    x, y = problem()
    plan = StepPlan(2, 8, Optimiser("sgd", 0.1))
    with pytest.raises(InputError, match="expected positions of one point or more"):
        train_steps(network(), x, y, torch.arange(0), plan, 0)
    with pytest.raises(InputError, match="wanted: expected a tensor of shape"), annotations_unchecked():
        train_steps(network(), x, y[:-1], torch.arange(40), plan, 0)
    with pytest.raises(InputError, match="expected arguments that fit"), annotations_unchecked():
        train_steps(network(), x, y, torch.tensor([40]), plan, 0)  # behind the last point


def test_a_network_that_fails_in_training_is_told_in_one_line():
    """Without a frame of the user's own code, too: batch norm by itself, and outputs without gradients."""

    class Detached(nn.Linear):
        def forward(self, x):
            return super().forward(x).detach()

    x, y = problem()
    one = StepPlan(2, 1, Optimiser("sgd", 0.1))
    with pytest.raises(
        InputError, match="trained on a batch of 1, raised ValueError: Expected more than 1 value"
    ):
        train_steps(network(), x, y, torch.arange(40), one, 0)
    with pytest.raises(InputError, match="does not require grad"):
        train_steps(Detached(5, 3), x, y, torch.arange(40), one, 0)
    with pytest.raises(InputError, match="the network raised RuntimeError"):
        module_outputs(network(), x[:, :4])
