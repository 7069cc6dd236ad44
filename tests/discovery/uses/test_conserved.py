"""Conserved quantities: closed forms, gradient flow, and the drift of descent with its step."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.discovery.exact import linear_symmetries
from symscope.discovery.fields import linear_field
from symscope.discovery.uses import (
    ConservedQuantity,
    conservation_error,
    conserved_quantities,
    parameter_gradient_descent,
    parameter_gradient_flow,
)
from tests.discovery.networks import chain, two_layers
from tests.tolerances import ODE


def _start(made, seed=3):
    sample = made.random_points(1, 5, seed)
    return sample.theta[0], sample.x[0], sample.y[0]


def test_linear_layers_conserve_the_difference_of_their_gram_matrices():
    made = two_layers(2, 3, 2, "linear")
    quantities = conserved_quantities(linear_symmetries(made, seed=0).fields)
    assert len(quantities) == 6  # symmetric 3 x 3 matrices
    theta = made.random_points(20, 1, 1).theta
    W1, W2 = theta[:, :6].reshape(-1, 3, 2), theta[:, 6:].reshape(-1, 2, 3)
    D = W1 @ W1.mT - W2.mT @ W2
    rows, columns = torch.triu_indices(3, 3)
    closed = D[:, rows, columns]
    result = torch.stack([q(theta) for q in quantities], 1)
    for a, b in ((closed, result), (result, closed)):  # each is a combination of the others
        fit = torch.linalg.lstsq(a, b).solution
        assert (a @ fit - b).abs().max() < 1e-10


@pytest.mark.parametrize(
    ("made", "count"),
    [
        (two_layers(2, 3, 2, "relu", bias=True), 3),
        (two_layers(1, 2, 1, "linear"), 4),
        (chain((2, 2, 3), "relu", bias=True, loss="cross-entropy"), 2 + 3),
    ],
    ids=["relu", "scalar linear", "softmax"],
)
def test_gradient_flow_conserves_them(made, count):
    result = linear_symmetries(made, seed=0)
    quantities = conserved_quantities((*result.fields, *result.translations))
    assert len(quantities) == count
    theta, x, y = _start(made)
    path = parameter_gradient_flow(made, theta, x, y, 0.3, records=4)
    assert path.losses[-1] < path.losses[0]
    assert max(conservation_error(q, path) for q in quantities) < ODE
    generator = torch.Generator().manual_seed(0)
    diagonal = torch.randn(made.size, generator=generator, dtype=torch.float64)
    other = ConservedQuantity(linear_field(torch.diag(diagonal)))
    assert conservation_error(other, path) > 1e-3  # any other quantity moves
    assert quantities[0].name.startswith("conserved by ")


def test_descent_drifts_in_proportion_to_its_step():
    made = two_layers(2, 3, 2, "linear")
    quantities = conserved_quantities(linear_symmetries(made, seed=0).fields)
    theta, x, y = _start(made)
    drifts = []
    for rate in (0.02, 0.01, 0.005):
        path = parameter_gradient_descent(made, theta, x, y, rate, round(0.4 / rate))
        drifts.append(max(conservation_error(q, path) for q in quantities))
    assert drifts[0] / drifts[1] == pytest.approx(2, rel=0.15)
    assert drifts[1] / drifts[2] == pytest.approx(2, rel=0.15)


def test_rotations_conserve_nothing_and_bad_input_is_refused():
    turn = linear_field(torch.tensor([[0.0, -1.0], [1.0, 0.0]]).double())
    assert conserved_quantities([turn]) == ()
    assert conserved_quantities([]) == ()
    made = two_layers(1, 1, 1, "linear")
    theta, x, y = _start(made)
    with pytest.raises(InputError, match="positive time and at least 2 records"):
        parameter_gradient_flow(made, theta, x, y, 0.0)
    with pytest.raises(InputError, match=r"gradient flow .* 10 evaluations.*kink"):
        parameter_gradient_flow(made, theta, x, y, 1.0, evaluations=10)
    with pytest.raises(InputError, match="positive learning rate and steps"):
        parameter_gradient_descent(made, theta, x, y, -1.0, 3)
