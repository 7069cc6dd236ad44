from __future__ import annotations

import pytest
import torch

from symscope.errors import InputError
from symscope.training._mini_batch import Optimiser
from tests.tolerances import ROUNDING


def test_adam_by_its_formula():
    w = torch.tensor([[1.0, -2.0]], dtype=torch.float64, requires_grad=True)
    steps = Optimiser("adam", 0.1, betas=(0.7, 0.9)).build([w])
    expected, m, v = w.detach().clone(), torch.zeros(1, 2), torch.zeros(1, 2)
    for t in range(1, 6):
        steps.zero_grad()
        (w**3).sum().backward()
        steps.step()
        g = 3 * expected**2
        m, v = 0.7 * m + 0.3 * g, 0.9 * v + 0.1 * g**2
        expected = expected - 0.1 * (m / (1 - 0.7**t)) / ((v / (1 - 0.9**t)).sqrt() + 1e-8)
    torch.testing.assert_close(w.detach(), expected, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Optimiser("adm", 1e-3), "did you mean 'adam'"),
        (lambda: Optimiser("sgd", 0.0), "learning_rate: expected a positive number, got 0.0"),
        (lambda: Optimiser("sgd", float("nan")), "learning_rate: expected a positive number, got nan"),
        (lambda: Optimiser("adam", 0.1, betas=(0.9, 1.0)), "betas: expected numbers from 0"),
        (lambda: Optimiser("sgd", 0.1, momentum=-0.1), "momentum: expected numbers from 0"),
        (lambda: Optimiser("sgd", 0.1).build([torch.ones(2)]), "all of its weights are frozen"),
    ],
)
def test_bad_choices(make, message):
    with pytest.raises(InputError, match=message):
        make()
