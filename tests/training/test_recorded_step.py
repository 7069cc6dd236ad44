"""Replayed steps are the plain steps, one per call."""

from __future__ import annotations

import pytest
import torch

from symscope.training._recorded_step import ReplayedStep


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_every_call_takes_one_step():
    device = torch.device("cuda")
    target = torch.randn(7, 3, generator=torch.Generator().manual_seed(0)).to(device)

    def trained(replayed: bool) -> torch.Tensor:
        weight = torch.zeros(3, device=device, requires_grad=True)
        optimiser = torch.optim.Adam([weight], lr=0.1, fused=True, capturable=True)

        def step(index: torch.Tensor, real: torch.Tensor) -> None:
            optimiser.zero_grad()
            (((weight - target[index]) ** 2) * real[..., None]).sum().backward()
            optimiser.step()

        take = ReplayedStep(step, optimiser.zero_grad) if replayed else step
        for number in range(9):
            index = torch.tensor([[number % 7, (2 * number) % 7]], device=device)
            take(index, torch.tensor([[True, number % 2 == 0]], device=device))
        return weight.detach().cpu()

    torch.testing.assert_close(trained(True), trained(False), rtol=0, atol=0)
