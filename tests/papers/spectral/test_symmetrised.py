"""Symmetrised errors against retraining, and against numbers of another library."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
import torch

from symscope import InputError
from symscope.spectral.dense import regression
from symscope_papers.spectral.symmetrised import mean_set_error, symmetrised_error
from tests.spectral.problems import random_gram
from tests.tolerances import LEAVE_OUT, LEAVE_OUT_ORACLE

PAIRS = Path(__file__).parents[2] / "spectral" / "fixtures" / "mlp_pairs_n8.npz"


@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_it_is_the_mean_of_two_retrainings(ridge):
    gram = random_gram(10, 3)
    labels = 1.0 - 2.0 * (torch.arange(10, dtype=torch.float64) % 2)
    errors = torch.stack(
        [1 - labels[i] * regression(gram, labels, torch.tensor([i]), ridge)[0] for i in range(10)]
    )
    torch.testing.assert_close(symmetrised_error(gram, ridge, 3), errors[6:8].mean(), rtol=0, atol=LEAVE_OUT)
    torch.testing.assert_close(symmetrised_error(gram, ridge, None), errors.mean(), rtol=0, atol=LEAVE_OUT)


def test_errors_of_rotated_digits_are_another_librarys():
    with np.load(PAIRS, allow_pickle=False) as pairs:
        grams = torch.from_numpy(pairs["n8_ntk_all"])
        expected = torch.from_numpy(pairs["n8_loo_all_reg0"])
    for gram, errors in zip(grams, expected, strict=True):
        assert float(symmetrised_error(gram, 0.0, None)) == pytest.approx(
            float(errors.mean()), rel=LEAVE_OUT_ORACLE * 1e3
        )


def test_sets_weigh_the_same_however_many_points_they_have():
    residual, label = torch.tensor([1.0, 2.0, 6.0]), torch.tensor([1.0, 1.0, -1.0])
    assert float(mean_set_error(residual, label, torch.tensor([0, 0, 4]))) == (1.5 - 6) / 2


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="even number of points"):
        symmetrised_error(random_gram(3, 0), 0.0, None)
    with pytest.raises(InputError, match="element from 0 to 1"):
        symmetrised_error(random_gram(4, 0), 0.0, 2)
    with pytest.raises(InputError, match="at least one missing point"):
        mean_set_error(torch.zeros(0), torch.zeros(0), torch.zeros(0, dtype=torch.int64))


def test_residuals_of_another_shape_are_refused():
    # the checks of the test suite would stop these earlier
    mean = inspect.unwrap(mean_set_error)
    sets = torch.tensor([0, 0, 1])
    with pytest.raises(InputError, match="residual: expected one number for each missing point"):
        mean(torch.rand(3, 2), torch.rand(3, 2), sets)
    with pytest.raises(InputError, match=r"label: expected one number .* got shape \(2,\)"):
        mean(torch.rand(3), torch.rand(2), sets)
