"""Points as a network sees them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope.forecasting._orbit_points import standardise_points
from symscope.forecasting._question import as_question
from symscope.forecasting._resample import draw_resample
from tests.forecasting.problems import blobs


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e-3, 1e160, 1e300])
def test_how_large_the_numbers_are_does_not_matter(scale):
    data = blobs()
    scales = torch.ones(len(data), 1, 1, dtype=torch.float64)
    scales[::2] = scale  # each sample has its own size
    usual = draw_resample(as_question(data, "C4"), 2, seed=0)
    result = draw_resample(as_question(replace(data, x=scales * data.x), "C4"), 2, seed=0)
    torch.testing.assert_close(result.points, usual.points, rtol=0, atol=1e-12)
    assert result.stabilisers is None
    assert usual.stabilisers is None
    assert bool(result.images.square().sum().isfinite())


@pytest.mark.parametrize("scale", [1e-200, 1e160])
def test_numbers_that_stay_as_they_are_must_have_squares(scale):
    data = blobs()
    with pytest.raises(InputError, match=r"largest number is 1e-77 to 1e\+77.*; multiply the data"):
        as_question(replace(data, x=scale * data.x), "C4", standardise=False)


def test_constant_points_are_refused_by_number():
    images = torch.randn(3, 2, 5, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    images[2, 1] = 7.5
    with pytest.raises(InputError, match="digits: sample 2 of those drawn is constant"):
        standardise_points(images, True, "digits")
    images[1] = 0
    with pytest.raises(InputError, match="sample 1"):
        standardise_points(images, True, "digits")
    assert torch.equal(standardise_points(images, False, "digits"), images)


def test_a_constant_item_is_named_by_its_place_in_the_user_s_data():
    data = blobs()
    blank = data.x.clone()
    blank[[5, 7]] = 0.25
    with pytest.raises(InputError, match=r"blobs: sample (5|7) is constant"):
        draw_resample(as_question(replace(data, x=blank), "C4"), 4, 0)
    few = replace(data, x=blank).take(torch.tensor([7, 0, 1, 8, 9]))
    with pytest.raises(InputError, match=r"blobs: sample 7 is constant"):
        as_question(replace(few, labels=torch.tensor([0, 0, 1, 1, 1])), "C4")
