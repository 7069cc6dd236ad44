from __future__ import annotations

import math

import pytest
import torch

from symscope.errors import InputError
from symscope.groups import haar_quadrature
from symscope.groups.compact import o, so, torus
from symscope.groups.spin import spin
from tests.tolerances import ROUNDING


@pytest.mark.parametrize("band", range(0, 9))
@pytest.mark.parametrize("group", [so(2), o(2), so(3), o(3)], ids=lambda g: g.name)
def test_weights_sum_to_one_and_nodes_are_in_the_group(group, band):
    q = haar_quadrature(group, band)
    assert abs(float(q.weights.sum()) - 1) < ROUNDING
    eye = torch.eye(group.size, dtype=torch.float64)
    assert float((q.elements @ q.elements.mT - eye).abs().max()) < ROUNDING


@pytest.mark.parametrize("band", range(1, 9))
def test_circle_is_exact_to_the_band_limit_and_no_further(band):
    q = haar_quadrature(so(2), band)
    angle = torch.atan2(q.elements[:, 1, 0], q.elements[:, 0, 0])
    for k in range(1, band + 1):
        assert abs(complex(q.average(torch.exp(1j * k * angle)))) < ROUNDING
    assert abs(complex(q.average(torch.exp(1j * (band + 1) * angle))) - 1) < ROUNDING


@pytest.mark.parametrize("band", range(1, 7))
def test_sphere_kills_every_irrep_up_to_the_band_limit(band):
    q = haar_quadrature(so(3), band)
    for degree in range(1, band + 1):
        matrices = torch.stack([spin(degree)(g) for g in q.elements])
        assert float(q.average(matrices).abs().max()) < 1e-12


@pytest.mark.parametrize("group", [so(3), o(3)], ids=lambda g: g.name)
def test_moments_of_the_cosine(group):
    # over the sphere, the mean of cos^(2k) is 1 / (2k + 1), odd moments vanish
    q = haar_quadrature(group, 8)
    for degree in range(9):
        expected = 0.0 if degree % 2 else 1 / (degree + 1)
        assert abs(float(q.average(q.elements[:, 2, 2] ** degree)) - expected) < ROUNDING
        assert abs(float(q.average(q.elements[:, 0, 1] ** degree)) - expected) < ROUNDING


def test_plane_reflections_are_in_o2():
    q = haar_quadrature(o(2), 4)
    trace = q.elements[:, 0, 0] + q.elements[:, 1, 1]
    # mean of tr^4: rotations give mean of (2 cos)^4 = 6, reflections have trace 0
    assert math.isclose(float(q.average(trace**4)), 3.0, abs_tol=ROUNDING)


def test_determinant_separates_so3_from_o3():
    det = torch.linalg.det
    assert abs(float(haar_quadrature(o(3), 3).average(det(haar_quadrature(o(3), 3).elements)))) < ROUNDING


def test_a_torus_averages_what_each_circle_does():
    rule = haar_quadrature(torus(2), 4)
    first, second = rule.elements[:, 0, 0], rule.elements[:, 3, 2]
    assert len(rule.elements) == 25
    assert math.isclose(float(rule.weights.sum()), 1, abs_tol=ROUNDING)
    assert math.isclose(float(rule.average(first**4 * second**2)), 3 / 8 / 2, abs_tol=ROUNDING)
    aliased = haar_quadrature(torus(2), 3)  # frequency 4 looks like 0
    assert abs(float(aliased.average(aliased.elements[:, 0, 0] ** 4)) - 3 / 8) > 0.1


def test_bad_input():
    with pytest.raises(InputError, match=r"expected 4 values along the first axis.*got shape \(3,\)"):
        haar_quadrature(so(2), 3).average(torch.ones(3))
    with pytest.raises(
        InputError, match=r"expected SO\(2\), O\(2\), SO\(3\), O\(3\) or a torus.*got SO\(4\)"
    ):
        haar_quadrature(so(4), 3)
    with pytest.raises(InputError, match=r"rule for T9.*smaller band limit"):
        haar_quadrature(torus(9), 30)
    with pytest.raises(InputError, match="band_limit: expected an integer of at least 0, got -1"):
        haar_quadrature(so(3), -1)
    with pytest.raises(InputError, match=r"band limit.*expected at most 2.15 GB.*smaller band limit"):
        haar_quadrature(so(3), 10_000)
    with pytest.raises(InputError, match="band_limit: expected an integer of 64 bits"):
        haar_quadrature(so(3), 10**30)
