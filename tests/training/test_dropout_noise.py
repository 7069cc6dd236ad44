"""Dropout's noise depends on its seed and epoch alone."""

from __future__ import annotations

import torch

from symscope.training._dropout_noise import dropout_noise

CPU = torch.device("cpu")


def test_noise_depends_on_its_seed_and_gives_back_the_global_one():
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    draws = []
    for seed, epoch in ((0, 3), (0, 3), (0, 4), (1, 3)):
        with dropout_noise(CPU) as start:
            start(seed, epoch)
            draws.append(torch.rand(4).tolist())
    assert draws[0] == draws[1]
    assert len({tuple(draw) for draw in draws}) == 3
    assert torch.equal(torch.rand(2), expected)
