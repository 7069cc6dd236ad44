from __future__ import annotations

import pytest
import torch

from symscope.errors import InputError
from symscope.networks._initialisation import seeded_weights


def drawn(seed: int) -> torch.Tensor:
    with seeded_weights(seed):
        return torch.randn(5)


def test_the_seed_alone_decides():
    torch.manual_seed(1)
    first = drawn(4)
    torch.manual_seed(2)
    assert torch.equal(first, drawn(4))
    assert not torch.equal(first, drawn(5))


def test_nothing_outside_moves():
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    drawn(0)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_default_dtype() == torch.float32


def test_the_default_dtype_comes_back_after_a_failure():
    with pytest.raises(ZeroDivisionError), seeded_weights(0):
        _ = 1 / 0
    assert torch.get_default_dtype() == torch.float32


def test_bad_seeds():
    with pytest.raises(InputError, match="seed: expected a non-negative integer, got -1"), seeded_weights(-1):
        pass
