"""Separation and density of orbits against circles, where both are known."""

from __future__ import annotations

import inspect
import math

import pytest
import torch

from symscope import InputError
from symscope.spectral import orbit_radii, orbit_separations
from symscope.spectral.geometry import orbit_centres, orbit_densities
from tests.tolerances import ROUNDING


def circle(radius: float, centre: tuple[float, float, float], n: int = 7) -> torch.Tensor:
    angle = 2 * math.pi * torch.arange(n, dtype=torch.float64) / n
    flat = torch.stack([radius * angle.cos(), radius * angle.sin(), torch.zeros(n)], dim=1)
    return flat + torch.tensor(centre, dtype=torch.float64)


def test_circles_have_their_own_centres_radii_and_distances():
    points = torch.stack([circle(2.0, (1, 0, 0)), circle(0.5, (1, 3, 4)), circle(1.5, (0, 0, 0))])
    assert torch.allclose(orbit_radii(points), torch.tensor([2.0, 0.5, 1.5]).double(), atol=ROUNDING)
    assert torch.allclose(orbit_centres(points)[1], torch.tensor([1.0, 3, 4]).double(), atol=ROUNDING)
    separations = orbit_separations(points)
    assert float(separations[0, 1]) == pytest.approx(25, abs=1e-12)
    assert float(separations[0, 2]) == pytest.approx(1, abs=1e-12)
    assert torch.equal(separations, separations.T)
    assert float(orbit_densities(points)[0, 1]) == pytest.approx(1 / 1.25, abs=1e-12)


def test_samples_may_have_several_axes():
    points = torch.randn(2, 5, 3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(orbit_radii(points), orbit_radii(points.flatten(2)))
    torch.testing.assert_close(orbit_separations(points), orbit_separations(points.flatten(2)))


def test_bad_input_is_refused():
    with pytest.raises(InputError, match=r"samples \[1\] are fixed by the whole group"):
        orbit_densities(torch.stack([circle(1.0, (0, 0, 0)), circle(0.0, (1, 0, 0))]))
    with pytest.raises(InputError, match="expected orbits"):
        orbit_radii(torch.zeros(0, 3, 2))
    with pytest.raises(InputError, match="not finite"):
        orbit_separations(torch.full((1, 2, 2), float("nan")))


def test_whole_numbers_are_refused():
    # the checks of the test suite would stop these earlier
    with pytest.raises(InputError, match=r"floating-point numbers, got torch\.int64"):
        inspect.unwrap(orbit_centres)(torch.ones(2, 4, 3).long())
