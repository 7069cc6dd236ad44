"""Shifts of digits: pixels, files, and products on a GPU."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.data import mnist_sample
from symscope_papers.dynamics.translation import translations
from symscope_papers.dynamics.translation.config import Translation
from symscope_papers.dynamics.translation.measure import digit_problem, shifted_points
from tests.papers.dynamics.strategy_cases import DIGITS, HERE

CUDA = pytest.param(
    "cuda",
    marks=[
        pytest.mark.cuda,
        pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    ],
)


def test_points_move_as_images_do():
    image = torch.arange(25.0).reshape(5, 5) ** 1.5
    moved = torch.empty(25)
    moved[shifted_points(5)[2 * 5 + 1]] = image.flatten()
    assert torch.equal(moved.reshape(5, 5), image.roll((2, 1), (0, 1)))


def test_digits_are_means_of_pixels():
    problem = digit_problem(replace(DIGITS, size=14), 0, torch.float64, "cpu")
    image = mnist_sample().x[6]
    block = image[4:6, 10:12].mean() - 0.5
    assert float(problem.x[1, 1].reshape(14, 14)[2, 5] - block) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("precision", ["single", "mixed"])
@pytest.mark.parametrize("device", ["cpu", CUDA])
def test_lower_precisions_follow_double(device, precision):
    config = replace(DIGITS, size=7, channels=(4, 4), images=50, batch=25, precision=precision)
    rows = translations.measure(config, {"part": "precision", "first": 0}, replace(HERE, device=device))
    table = pd.DataFrame(rows["precision"]).query("strategy != 'equivariant'")
    assert (table[f"drift_{precision}"] / table["drift_double"] - 1).abs().max() < 1e-3


def test_bad_input_is_refused(tmp_path):
    with pytest.raises(InputError, match="a divisor of 28"):
        Translation(size=5)
    with pytest.raises(InputError, match="channels: expected 1 or more"):
        Translation(channels=(3, 0))
    with pytest.raises(InputError, match="images: expected at most 2000"):
        digit_problem(replace(DIGITS, images=3000), 0, torch.float64, "cpu")
    with pytest.raises(InputError, match=r"needs all of MNIST.*t10k-images"):
        translations.cells(replace(DIGITS, mnist=str(tmp_path)))
