"""Losses against torch's own."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from symscope import InputError
from symscope.networks import binary_cross_entropy, cross_entropy, squared_loss
from symscope.networks._losses import sample_losses
from tests.dynamics.networks import seeded


def test_losses_are_those_of_torch():
    p = 3 * torch.randn(2, 5, 4, dtype=torch.float64, generator=seeded(0))
    labels = torch.randint(4, (5,), generator=seeded(1))
    hot = functional.one_hot(labels, 4).double()
    bits = (torch.rand(5, 4, dtype=torch.float64, generator=seeded(2)) < 0.5).double()
    for k in range(2):
        assert torch.allclose(
            cross_entropy(p, hot)[k], functional.cross_entropy(p[k], labels, reduction="none")
        )
        bce = functional.binary_cross_entropy_with_logits(p[k], bits, reduction="none").mean(-1)
        assert torch.allclose(binary_cross_entropy(p, bits)[k], bce)
        mse = functional.mse_loss(p[k], hot, reduction="none").sum(-1) / 2
        assert torch.allclose(squared_loss(p, hot)[k], mse)


def test_anything_else_than_one_loss_per_sample_is_refused():
    p, y = torch.ones(3, 5, 4), torch.zeros(5, 4)
    assert sample_losses(squared_loss, p, y).shape == (3, 5)
    for loss in (
        lambda p, y: (p - y).square().mean(),
        lambda p, y: (p - y).square(),
        lambda p, y: (p - y).square().sum((0, 2)),
    ):
        with pytest.raises(InputError, match=r"one loss per sample, shape \(3, 5\), got"):
            sample_losses(loss, p, y)
