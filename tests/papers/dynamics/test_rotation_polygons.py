from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.path import Path

from symscope.errors import InputError
from symscope_papers.dynamics.rotation.polygons import CORNERS, pixel_coverage, polygons
from tests.tolerances import MONTE_CARLO_SIGMAS, SUB_PIXEL

SHAPES = polygons(600, seed=0)


def vertices(corners: int, centre: torch.Tensor, scale: float) -> np.ndarray:
    angles = math.pi / 2 + 2 * math.pi * np.arange(corners) / corners
    return centre.numpy() + scale * np.stack([np.cos(angles), np.sin(angles)], 1)


def test_shapes_and_ranges():
    assert SHAPES.images.shape == (600, 14, 14)
    assert SHAPES.masks.shape == (600, 2, 14, 14)
    assert SHAPES.images.min() == 0
    assert SHAPES.images.max() == 1
    assert set(SHAPES.masks.unique().tolist()) == {0.0, 1.0}
    assert SHAPES.scales.min() >= 0.7
    assert SHAPES.scales.max() <= 0.8
    # the circumcircle is on the canvas
    assert (SHAPES.centres.abs() + SHAPES.scales[:, None]).max() <= 2.0


def test_the_mask_of_the_other_kind_is_empty_and_the_own_one_is_the_shape():
    rows = torch.arange(600)
    assert SHAPES.masks[rows, 1 - SHAPES.kinds].abs().max() == 0
    assert torch.equal(SHAPES.masks[rows, SHAPES.kinds], (SHAPES.images >= 0.5).double())
    assert SHAPES.masks[rows, SHAPES.kinds].sum((1, 2)).min() > 5


@pytest.mark.parametrize("index", range(12))
def test_coverage_against_another_librarys_point_in_polygon(index):
    kind, scale = int(SHAPES.kinds[index]), SHAPES.scales[index].item()
    grid = 2.0 * (2 * (np.arange(14 * 8) + 0.5) / (14 * 8) - 1)
    points = np.stack(np.meshgrid(grid, -grid), -1)
    outline = Path(vertices(CORNERS[kind], SHAPES.centres[index], scale))
    inside = outline.contains_points(points.reshape(-1, 2)).reshape(14, 8, 14, 8)
    np.testing.assert_array_equal(inside.mean((1, 3)), SHAPES.images[index].numpy())


def test_areas_and_centroids_are_those_of_regular_polygons():
    pixel = (4 / 14) ** 2
    corners = torch.tensor(CORNERS)[SHAPES.kinds].double()
    area = corners / 2 * (2 * math.pi / corners).sin() * SHAPES.scales**2
    assert (SHAPES.images.sum((1, 2)) * pixel / area - 1).abs().max() < SUB_PIXEL
    middle = 2.0 * (2 * (torch.arange(14) + 0.5) / 14 - 1).double()
    mass = SHAPES.images.sum((1, 2))
    x = (SHAPES.images.sum(1) @ middle) / mass
    y = (SHAPES.images.sum(2) @ -middle) / mass
    assert (torch.stack([x, y], 1) - SHAPES.centres).abs().max() < SUB_PIXEL


@given(st.integers(3, 9), st.integers(2, 12), st.integers(0, 2**32))
def test_coverage_of_a_shape_moved_by_a_pixel_is_the_coverage_moved(corners, size, seed):
    # drawn, not chosen: no edge lies exactly on a row of points, where rounding decides
    x, y, scale = torch.rand(3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).tolist()
    pixel = 2 * 2.0 / size
    centres = torch.tensor([[x - 0.5, y - 0.5], [x - 0.5 + pixel, y - 0.5 - pixel]], dtype=torch.float64)
    scales = torch.full((2,), 0.2 + 0.7 * scale, dtype=torch.float64)
    here, there = pixel_coverage(corners, centres, scales, size, 2.0)
    assert here.sum() > 0
    assert torch.equal(here[:-1, :-1], there[1:, 1:])


def test_upright_and_never_turned():
    # a corner at the top: one narrow row above, the broad base of a triangle below
    triangle = pixel_coverage(3, torch.zeros(1, 2).double(), torch.tensor([0.9]).double(), 30, 1.0)[0]
    rows = triangle.sum(1).nonzero()[:, 0]
    widths = triangle[rows[0] : rows[-1]].sum(1)
    assert (widths.diff() >= 0).all()
    assert widths[-1] > 10 * widths[0]
    assert torch.equal(triangle, triangle.flip(1))
    assert not torch.equal(triangle, triangle.flip(0))
    # so the set is not invariant under quarter turns: images lean on their mirror image only
    centred = polygons(200, seed=1, canvas=0.8000001, scale=(0.8, 0.8))
    mean = centred.images.mean(0)
    assert (mean - mean.flip(1)).abs().max() < 0.1 < (mean - mean.rot90()).abs().max()


def test_both_kinds_and_all_places_are_equally_likely():
    shapes = polygons(4000, size=1, seed=7)
    assert abs(shapes.kinds.double().mean() - 0.5) < MONTE_CARLO_SIGMAS * 0.5 / math.sqrt(4000)
    unit = torch.cat(
        [(shapes.scales[:, None] - 0.7) / 0.1, shapes.centres / (2 - shapes.scales[:, None]) / 2 + 0.5], 1
    )
    # uniform in [0, 1]: mean 1/2, standard deviation 1/sqrt(12)
    assert (unit.mean(0) - 0.5).abs().max() < MONTE_CARLO_SIGMAS / math.sqrt(12 * 4000)
    assert (unit.std(0) - 1 / math.sqrt(12)).abs().max() < 0.01
    assert np.abs(np.corrcoef(unit.numpy().T) - np.eye(3)).max() < MONTE_CARLO_SIGMAS / math.sqrt(4000)


def test_reproducible_and_seeds_differ():
    again, other = polygons(600, seed=0), polygons(600, seed=1)
    assert torch.equal(again.images, SHAPES.images)
    assert torch.equal(again.kinds, SHAPES.kinds)
    assert not torch.equal(other.images, SHAPES.images)
    assert polygons(3, seed=0, dtype=torch.float32).images.dtype == torch.float32


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"count": 0}, "count: expected an integer of at least 1"),
        ({"size": 0}, "size: expected an integer of at least 1"),
        ({"scale": (0.8, 0.7)}, "expected 0 < smallest <= largest <= canvas"),
        ({"scale": (0.0, 0.7)}, "expected 0 < smallest"),
        ({"canvas": 0.5}, "largest <= canvas"),
        ({"canvas": math.nan}, "largest <= canvas"),
        ({"seed": -1}, "seed: expected an integer of at least 0"),
    ],
)
def test_bad_parameters(changed, message):
    with pytest.raises(InputError, match=message):
        polygons(**{"count": 2, "seed": 0, **changed})


def test_two_corners_are_no_polygon():
    with pytest.raises(InputError, match="corners: expected an integer of at least 3, got 2"):
        pixel_coverage(2, torch.zeros(1, 2).double(), torch.ones(1).double(), 4, 1.0)
