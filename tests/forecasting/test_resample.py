"""Points as a network sees them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope.forecasting._question import as_question
from symscope.forecasting._resample import draw_resample, standardise_points
from tests.forecasting.problems import blobs


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e160, 1e300])
def test_how_large_the_numbers_are_does_not_matter(scale):
    images = torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    flat = images.flatten(2)
    usual = (flat - flat.mean(2, keepdim=True)) / flat.std(2, correction=0, keepdim=True)
    result = standardise_points(scale * images, True, "scaled").flatten(2)
    torch.testing.assert_close(result, usual, rtol=0, atol=1e-12)


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
