from __future__ import annotations

import pytest
import torch

from symscope.data import action_errors
from symscope.data.series import shift_and_reverse
from symscope.errors import InputError


def test_shifts_and_reversals_are_a_dihedral_group():
    x = torch.randn(2, 3, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    errors = action_errors(shift_and_reverse(4), x)
    assert (errors.homomorphism, errors.identity) == (0, 0)
    assert errors.orthogonality < 1e-14
    moved = shift_and_reverse(4).act_all(x)
    assert torch.equal(moved[:, 1], x.roll(3, -1))
    assert torch.equal(moved[:, 4][..., 1:], x[..., 1:].flip(-1))
    with pytest.raises(InputError, match="divides the width 12"):
        shift_and_reverse(5).act(1, x)
