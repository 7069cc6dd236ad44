"""Losses against torch's own with reduction='none'."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from symscope import InputError
from symscope.networks.losses import (
    LOSSES,
    binary_cross_entropy_loss,
    half_squared_loss,
    named_loss,
    sample_losses,
    soft_cross_entropy_loss,
)
from tests.dynamics.networks import seeded
from tests.tolerances import ROUNDING


def test_losses_of_a_batch_are_those_of_torch():
    f, y = (torch.randn(5, 3, generator=seeded(k), dtype=torch.float64) for k in range(2))
    classes = torch.tensor([0, 2, 1, 1, 0])
    assert torch.allclose(named_loss("squared")(f, y), functional.mse_loss(f, y, reduction="none").sum(1))
    assert torch.allclose(named_loss("mse")(f, y), functional.mse_loss(f, y, reduction="none").mean(1))
    own = named_loss("cross-entropy")(f, classes)
    assert torch.allclose(own, functional.cross_entropy(f, classes, reduction="none"), atol=ROUNDING)


def test_losses_with_leading_axes_are_those_of_torch():
    p = 3 * torch.randn(2, 5, 4, dtype=torch.float64, generator=seeded(0))
    labels = torch.randint(4, (5,), generator=seeded(1))
    hot = functional.one_hot(labels, 4).double()
    bits = (torch.rand(5, 4, dtype=torch.float64, generator=seeded(2)) < 0.5).double()
    for k in range(2):
        assert torch.allclose(
            soft_cross_entropy_loss(p, hot)[k], functional.cross_entropy(p[k], labels, reduction="none")
        )
        bce = functional.binary_cross_entropy_with_logits(p[k], bits, reduction="none").mean(-1)
        assert torch.allclose(binary_cross_entropy_loss(p, bits)[k], bce)
        mse = functional.mse_loss(p[k], hot, reduction="none").sum(-1) / 2
        assert torch.allclose(half_squared_loss(p, hot)[k], mse)


@pytest.mark.parametrize("name", ["squared", "mse"])
def test_targets_are_never_broadcast(name):
    f, y = torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 5.0])
    for outputs, targets in ((f, y), (f[:, 0], y[:, None]), (f, y[:, None])):
        assert named_loss(name)(outputs, targets).tolist() == [0.0, 9.0]
    for outputs, targets in ((f, y[:1]), (f, torch.ones(2, 2)), (torch.ones(2, 3), y)):
        with pytest.raises(InputError, match="expected targets of the outputs' shape"):
            named_loss(name)(outputs, targets)


def test_named_losses_agree_where_they_mean_the_same():
    f = torch.randn(5, 3, generator=seeded(0), dtype=torch.float64)
    classes = torch.tensor([0, 2, 1, 1, 0])
    hot = functional.one_hot(classes, 3).double()
    assert torch.allclose(LOSSES["squared"](f, hot), 2 * LOSSES["half-squared"](f, hot))
    assert torch.allclose(LOSSES["cross-entropy"](f, classes), LOSSES["soft-cross-entropy"](f, hot))


def test_unknown_losses_are_refused():
    with pytest.raises(InputError, match="did you mean 'squared'"):
        named_loss("sqared")


def test_anything_else_than_one_loss_per_sample_is_refused():
    p, y = torch.ones(3, 5, 4), torch.zeros(5, 4)
    assert sample_losses(half_squared_loss, p, y).shape == (3, 5)
    for loss in (
        lambda p, y: (p - y).square().mean(),
        lambda p, y: (p - y).square(),
        lambda p, y: (p - y).square().sum((0, 2)),
    ):
        with pytest.raises(InputError, match=r"one loss per sample, shape \(3, 5\), got"):
            sample_losses(loss, p, y)
