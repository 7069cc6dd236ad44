"""Ansätze: constraints are what the fields' own derivatives say."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.discovery.exact._ansatz import Ansatz, all_linear, unit_mixing, unit_shifts
from symscope.discovery.fields import field_values
from symscope.discovery.known import hidden_spaces
from symscope.discovery.loss_derivatives import point_gradients
from tests.discovery.networks import two_layers
from tests.tolerances import ROUNDING


def _cases():
    made = two_layers(2, 3, 2, "linear", bias=True)
    [space] = hidden_spaces(made)
    pairs = [(0, 0), (1, 2), (2, 1)]
    return made, {
        "all": all_linear(made.size),
        "linear only": all_linear(made.size, affine=False),
        "some parameters": all_linear(made.size, support=torch.tensor([1, 5, 9])),
        "units": unit_mixing(made.size, space, pairs),
        "shifts": unit_shifts(made.size, space),
    }


@pytest.mark.parametrize("name", ["all", "linear only", "some parameters", "units", "shifts"])
def test_constraints_are_derivatives_along_fields(name):
    made, cases = _cases()
    ansatz: Ansatz = cases[name]
    sample = made.random_points(5, 1, seed=2)
    gradients = point_gradients(made, sample)[:, 0]
    rows = ansatz.constraints(sample.theta, gradients)
    generator = torch.Generator().manual_seed(0)
    coefficients = torch.randn(ansatz.unknowns, generator=generator, dtype=torch.float64)
    values = field_values(ansatz.field(coefficients), sample)
    assert torch.allclose(rows @ coefficients, (gradients * values).sum(1), atol=1e3 * ROUNDING)


def test_sizes_and_bad_input():
    made, cases = _cases()
    n = made.size
    sizes = [cases[k].unknowns for k in ("all", "linear only", "some parameters", "units", "shifts")]
    assert sizes == [n * (n + 1), n * n, 12, 6, 6]
    [space] = hidden_spaces(made)
    with pytest.raises(InputError, match="at least one pair"):
        unit_mixing(n, space, [])
    [bare] = hidden_spaces(two_layers(2, 3, 2, "linear"))
    with pytest.raises(InputError, match="no biases before and after"):
        unit_shifts(12, bare)
    with pytest.raises(InputError, match="no biases before and after"):
        bare.shift(0)
