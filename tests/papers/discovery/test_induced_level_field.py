"""Level fields: orthogonal to every gradient of the batch, and one dimension less for every sample."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.discovery.fields import field_values
from symscope.discovery.loss_derivatives import point_derivatives
from symscope.discovery.sampling import ParameterPoints
from symscope_papers.discovery.induced.level_field import level_field
from tests.discovery.networks import chain


def test_they_keep_every_loss_of_the_batch_and_span_all_but_its_gradients():
    made = chain((2, 2, 1), "tanh")
    sample = made.random_points(1, 3, seed=0)
    columns = []
    for direction in torch.eye(made.size, dtype=torch.float64):
        values = field_values(level_field(made, direction), sample)
        assert point_derivatives(made, sample, values).abs().max() < 1e-12
        columns.append(values[0])
    assert torch.linalg.matrix_rank(torch.stack(columns), atol=1e-9) == made.size - 3
    other = ParameterPoints(sample.theta, sample.x + 1, sample.y)
    assert not torch.allclose(field_values(level_field(made, direction), other)[0], columns[-1])


def test_bad_directions_are_refused():
    with pytest.raises(InputError, match="expected 6 numbers, one a parameter, got 5"):
        level_field(chain((2, 2, 1), "tanh"), torch.ones(5))
