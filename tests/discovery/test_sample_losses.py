"""Losses by name, against torch's own with reduction='none'."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cross_entropy, mse_loss

from symscope import InputError
from symscope.discovery import LOSSES, named_loss
from tests.tolerances import ROUNDING


def test_losses_are_those_of_torch():
    generator = torch.Generator().manual_seed(0)
    f, y = (torch.randn(5, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    classes = torch.tensor([0, 2, 1, 1, 0])
    assert torch.allclose(named_loss("squared")(f, y), mse_loss(f, y, reduction="none").sum(1))
    assert torch.allclose(named_loss("mse")(f, y), mse_loss(f, y, reduction="none").mean(1))
    own = named_loss("cross-entropy")(f, classes)
    assert torch.allclose(own, cross_entropy(f, classes, reduction="none"), atol=ROUNDING)
    assert set(LOSSES) == {"squared", "mse", "cross-entropy"}


@pytest.mark.parametrize("name", ["squared", "mse"])
def test_targets_are_never_broadcast(name):
    f, y = torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 5.0])
    for outputs, targets in ((f, y), (f[:, 0], y[:, None]), (f, y[:, None])):
        assert named_loss(name)(outputs, targets).tolist() == [0.0, 9.0]
    for outputs, targets in ((f, y[:1]), (f, torch.ones(2, 2)), (torch.ones(2, 3), y)):
        with pytest.raises(InputError, match="expected targets of the outputs' shape"):
            named_loss(name)(outputs, targets)


def test_unknown_losses_are_refused():
    with pytest.raises(InputError, match="did you mean 'squared'"):
        named_loss("sqared")
