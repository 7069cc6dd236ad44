"""Steps without an optimiser object: bit for bit those of PyTorch's optimisers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.training import Optimiser, StepPlan, train_steps
from symscope.training._optimiser_steps import _Adam, optimiser_steps


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
            assert torch.equal(one, other)


def test_fused_steps_of_adam_as_on_a_gpu_are_those_of_pytorch():
    torch.manual_seed(0)
    mine, theirs = nn.Linear(3, 3), nn.Linear(3, 3)
    theirs.load_state_dict(mine.state_dict())
    rule = Optimiser("adam", 1e-2, betas=(0.7, 0.9))
    step = _Adam(rule, list(mine.parameters()), fused=True)
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
