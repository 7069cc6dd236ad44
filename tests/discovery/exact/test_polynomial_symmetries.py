"""Polynomial and data-dependent fields against fields known by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope import InputError
from symscope.discovery import gaussian_data, parameter_problem, verify
from symscope.discovery.exact import linear_symmetries, monomials, polynomial_symmetries
from symscope.discovery.exact._polynomial_symmetries import known_multiples
from tests.discovery.networks import two_layers
from tests.tolerances import NULL_SPACE


class _Cubic(nn.Module):
    """f = (a^3 + b^2) x: the field (2b, -3a^2) keeps it, and no linear one does."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))

    def forward(self, x):
        return (self.a**3 + self.b**2) * x


class _TwoPowers(nn.Module):
    """f = a x + b x^2: only the data-dependent field (x, -1) and its multiples keep it."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.a * x + self.b * x**2


SCALARS = gaussian_data((1,), (1,))


def test_multiples_of_a_rescaling_are_no_news():
    made = two_layers(1, 1, 1, "linear")
    known = linear_symmetries(made, seed=0).fields
    assert len(known) == 1
    for degree, data, expected in [(1, 0, 1), (2, 0, 3), (3, 0, 6), (1, 1, 2), (2, 1, 6)]:
        dictionary = monomials(2, degree, inputs=data, data_degree=data)
        result = polynomial_symmetries(made, dictionary, seed=0, known=known)
        assert (result.dimension, result.known, result.new) == (expected, expected, 0)
        multiples = known_multiples(known, dictionary)
        span = torch.linalg.qr(multiples).Q
        basis = result.null_space.basis
        assert (basis - span @ (span.T @ basis)).norm() < NULL_SPACE


def test_a_quadratic_field_is_found():
    made = parameter_problem(_Cubic(), "squared", SCALARS)
    assert linear_symmetries(made, seed=0).dimension == 0
    result = polynomial_symmetries(made, monomials(2, 2), seed=0)
    assert result.dimension == result.new == 1
    [field] = result.fields
    sample = made.random_points(3, 1, seed=1)
    a, b = sample.theta.T
    exact = torch.stack([2 * b, -3 * a**2], 1)
    values = torch.stack([field(t, x, y) for t, x, y in zip(sample.theta, sample.x, sample.y, strict=True)])
    assert torch.allclose(values / values[:, :1], exact / exact[:, :1], atol=NULL_SPACE)
    assert not field.data_dependent
    assert "b" in field.name
    assert verify(made, field, seed=0, points=6, lengths=(0.05,)).holds


def test_a_data_dependent_field_is_found_and_holds_for_one_data_point():
    made = parameter_problem(_TwoPowers(), "squared", SCALARS)
    assert polynomial_symmetries(made, monomials(2, 2), seed=0).dimension == 0
    result = polynomial_symmetries(made, monomials(2, 0, inputs=1, data_degree=1), seed=0)
    [field] = result.fields
    assert field.data_dependent
    tested = verify(made, field, seed=0, points=6, batch_sizes=(1,))
    assert tested.holds
    assert tested.data_dependence > 0.1
    assert tested.other_data_drift > 1e-3


def test_smooth_networks_have_no_polynomial_symmetry_of_low_degree():
    made = two_layers(1, 1, 2, "tanh")
    assert polynomial_symmetries(made, monomials(3, 2), seed=0).dimension == 0


def test_bad_input_is_refused():
    made = two_layers(1, 2, 2, "tanh")
    with pytest.raises(InputError, match="for 3 parameters, the network has 6"):
        polynomial_symmetries(made, monomials(3, 2), seed=0)
    with pytest.raises(InputError, match=r"have 168 unknowns, the limit is 100 .*use a lower degree"):
        polynomial_symmetries(made, monomials(6, 2), seed=0, limit=100)
