"""Steps without an optimiser object: those of PyTorch's optimisers, bit for bit where these are fused too."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.training import Optimiser, StepPlan, train_steps
from symscope.training._optimiser_steps import optimiser_steps
from tests.tolerances import SINGLE


@pytest.mark.parametrize(
    "optimiser",
    [Optimiser("adam", 1e-2, betas=(0.7, 0.9)), Optimiser("sgd", 0.1), Optimiser("sgd", 0.1, momentum=0.9)],
)
def test_steps_are_those_of_pytorch_also_where_weights_are_idle_or_frozen(optimiser):
    torch.manual_seed(0)
    mine = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)])
    mine[2].requires_grad_(False)
    theirs = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
    theirs.load_state_dict(mine.state_dict())
    theirs[2].requires_grad_(False)
    step, built = optimiser_steps(optimiser, mine.parameters()), optimiser.build(theirs.parameters())
    for k in range(5):
        x = torch.rand(4, 3)
        for nets in (mine, theirs):
            y = nets[2](nets[0](x))
            (nets[1](y) if k >= 2 else y).square().sum().backward()  # the second is idle at first
        step(0.1 / (k + 1))
        built.param_groups[0]["lr"] = 0.1 / (k + 1)
        built.step()
        built.zero_grad()
        for one, other in zip(mine.parameters(), theirs.parameters(), strict=True):
            assert (one - other).abs().max() <= SINGLE * other.abs().max()
            assert optimiser.kind == "adam" or torch.equal(one, other)


def test_steps_of_adam_are_fused_and_those_of_pytorch_to_the_last_bit():
    torch.manual_seed(0)
    mine, theirs = nn.Linear(3, 3), nn.Linear(3, 3)
    theirs.load_state_dict(mine.state_dict())
    rule = Optimiser("adam", 1e-2, betas=(0.7, 0.9))
    step = optimiser_steps(rule, mine.parameters())
    built = torch.optim.Adam(theirs.parameters(), betas=rule.betas, fused=True)
    for k in range(5):
        x = torch.rand(4, 3)
        for net in (mine, theirs):
            net(x).square().sum().backward()
        step(0.1 / (k + 1))
        built.param_groups[0]["lr"] = 0.1 / (k + 1)
        built.step()
        built.zero_grad()
        assert torch.equal(mine.weight, theirs.weight)
        assert torch.equal(mine.bias, theirs.bias)


def test_frozen_networks_are_refused():
    with pytest.raises(InputError, match="all of its weights are frozen"):
        optimiser_steps(Optimiser("adam", 1e-3), [torch.ones(1)])


def test_a_training_on_a_cpu_makes_no_optimiser_which_would_load_the_compiler(monkeypatch):
    monkeypatch.setattr(torch.optim.Optimizer, "__init__", lambda *_: pytest.fail("two seconds"))
    points, plan = torch.rand(4, 2), StepPlan(2, 2, Optimiser("adam", 1e-3))
    train_steps(nn.Linear(2, 2), points, torch.tensor([0, 1, 0, 1]), torch.arange(4), plan, 0)


def test_complex_weights_which_fused_steps_refuse_are_trained():
    weight = torch.tensor([1.0 + 2.0j, -3.0j]).requires_grad_()
    other = weight.detach().clone().requires_grad_()
    step = optimiser_steps(Optimiser("adam", 1e-2), [weight])
    built = torch.optim.Adam([other], lr=0.1)
    for one in (weight, other):
        (one * (1 - 2j)).abs().sum().backward()
    step(0.1)
    built.step()
    assert torch.equal(weight, other)
