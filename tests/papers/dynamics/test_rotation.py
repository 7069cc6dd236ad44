"""Quarter turns: images and masks move together, and what half turns leave behind."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope_papers.dynamics.rotation import rotations
from symscope_papers.dynamics.rotation.config import Rotation
from symscope_papers.dynamics.rotation.measure import mask_problem, turned_points
from tests.papers.dynamics.strategy_cases import SHAPES, measured


def test_half_turns_leave_drift_that_four_turns_average_away():
    config = replace(SHAPES, images=40, epochs=8, passes=25, runs=3)
    ends = measured(rotations, config)["paths"].query("epoch == 8").groupby("strategy")["drift"].mean()
    assert ends["augmented"] < 0.3 * ends["half turns"] < 0.3 * ends["nominal"]


def test_shapes_are_not_symmetric_so_there_is_something_to_average():
    problem = mask_problem(SHAPES, 0, torch.float64, "cpu")
    mean = problem.x.mean((0, 1)).reshape(4, 4)
    assert float((mean - torch.rot90(mean)).abs().max()) > 1e-3


@pytest.mark.parametrize("size", [4, 5])
def test_points_move_as_images_do(size):
    image = torch.arange(float(size * size)).reshape(size, size) ** 1.5
    for k in range(4):
        moved = torch.empty(size * size)
        moved[turned_points(size)[k]] = image.flatten()
        assert torch.equal(moved.reshape(size, size), torch.rot90(image, k))


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="channels: expected 1 or more"):
        Rotation(channels=(3, 3, 0))
    with pytest.raises(InputError, match="size: expected 2 or more"):
        Rotation(size=1)
