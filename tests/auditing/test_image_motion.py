"""Affine maps of elements from spots that are followed, against maps that are known."""

from __future__ import annotations

import pytest
import torch

from symscope.auditing._image_motion import image_motion
from symscope.data import custom_action, dihedral_action, rotation
from symscope.data.images import flip, shift
from symscope.groups import cyclic
from tests.auditing.planted_networks import turn_about_corner_pixel


@pytest.mark.parametrize("k", range(1, 8))
def test_angles_of_rotations(k):
    motion = image_motion(rotation(8), (16, 16), k)
    assert motion.turn % 360 == pytest.approx(45 * k, abs=1.5)
    assert motion.determinant == pytest.approx(1, abs=0.05)
    assert motion.centre_distance < 0.1


@pytest.mark.parametrize("g", range(4, 8))
def test_mirrors_have_a_negative_determinant_and_the_turn_that_follows_them(g):
    motion = image_motion(dihedral_action(4), (12, 12), g)
    assert motion.determinant == pytest.approx(-1, abs=1e-6)
    assert (motion.turn - 90 * (g - 4) + 180) % 360 - 180 == pytest.approx(0, abs=0.1)
    assert motion.centre_distance < 1e-6


def test_a_turn_about_a_pixel_is_off_by_half_a_diagonal():
    action = custom_action(cyclic(4), turn_about_corner_pixel, 2)
    assert image_motion(action, (8, 8), 1).centre_distance == pytest.approx(0.5**0.5, abs=1e-3)


def test_a_mirror_beside_the_centre():
    action = custom_action(cyclic(2), lambda g, x: x.flip(-1).roll(2, -1) if g else x, 2)
    assert image_motion(action, (12, 12), 1).centre_distance == pytest.approx(1.0, abs=0.02)


def test_shifts_turn_nothing_and_permuted_pixels_are_no_motion():
    assert image_motion(shift(12), (12, 12), 1).centre_distance == 0.0
    assert image_motion(shift(12), (12, 12), 1).offset[0] == pytest.approx(1.0, abs=1e-2)
    order = torch.randperm(144, generator=torch.Generator().manual_seed(0))
    scattered = custom_action(cyclic(2), lambda g, x: x.flatten(1)[:, order].reshape(x.shape), 2)
    assert image_motion(scattered, (12, 12), 1) is None
    assert image_motion(flip("x"), (3, 3), 1) is None
