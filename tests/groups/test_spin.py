from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import equivariant_maps, haar_quadrature
from symscope.groups.compact import so
from symscope.groups.constructions import from_function
from symscope.groups.spin import frequency, spin
from symscope.testing import assert_representation
from tests.tolerances import ROUNDING


@settings(max_examples=8)
@given(st.integers(0, 5), st.sampled_from([None, 1, -1]))
def test_spins_are_representations(degree, parity):
    rep = spin(degree, parity)
    assert rep.dim == 2 * degree + 1
    assert_representation(rep, tolerance=1e-9)


@given(st.integers(0, 6))
def test_frequencies_are_representations(k):
    assert_representation(frequency(k))


@given(st.integers(0, 6), st.floats(0.1, 3.1))
def test_character_of_a_rotation(degree, angle):
    # chi_l(angle) = sin((2l + 1) angle / 2) / sin(angle / 2), whatever the axis
    axis = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    axis = angle * axis / torch.linalg.vector_norm(axis)
    a, b, c = axis.tolist()
    cross = torch.tensor([[0, -c, b], [c, 0, -a], [-b, a, 0]], dtype=torch.float64)
    trace = float(torch.trace(spin(degree)(torch.linalg.matrix_exp(cross))))
    assert math.isclose(trace, math.sin((degree + 0.5) * angle) / math.sin(angle / 2), abs_tol=1e-10)


def test_half_turns_where_the_rotation_vector_is_not_unique():
    half = torch.diag(torch.tensor([-1.0, 1.0, -1.0], dtype=torch.float64))
    for degree in range(4):
        matrix = spin(degree)(half)
        assert torch.allclose(matrix @ matrix, torch.eye(2 * degree + 1, dtype=torch.float64), atol=ROUNDING)
        assert math.isclose(float(torch.trace(matrix)), (-1) ** degree, abs_tol=1e-12)


def test_parity_of_the_point_reflection():
    inversion = -torch.eye(3, dtype=torch.float64)
    assert torch.equal(spin(2, parity=-1)(inversion), -torch.eye(5, dtype=torch.float64))
    assert torch.equal(spin(2, parity=1)(inversion), torch.eye(5, dtype=torch.float64))


def test_spins_are_orthogonal_under_haar():
    q = haar_quadrature(so(3), 6)
    characters = torch.stack(
        [torch.stack([torch.trace(spin(degree)(g)) for g in q.elements]) for degree in range(4)]
    )
    overlaps = q.average(torch.einsum("an,bn->nab", characters, characters))
    assert torch.allclose(overlaps, torch.eye(4, dtype=torch.float64), rtol=0, atol=1e-11)


@pytest.mark.parametrize("degree", range(4))
def test_the_same_irreps_as_e3nn(degree):
    e3nn = pytest.importorskip("e3nn.o3", reason="the extra so3 is not installed")

    def theirs(g, x):
        return x @ e3nn.Irrep(degree, 1).D_from_matrix(g.to(torch.float64)).T.to(x.dtype)

    ours = spin(degree)
    other = from_function(so(3), ours.dim, theirs, unitary=True)
    # an equivalence: averaging any matrix over the group gives a multiple of one invertible intertwiner
    q = haar_quadrature(so(3), 2 * degree)
    probe = torch.randn(ours.dim, ours.dim, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    link = q.average(torch.stack([ours(g) @ probe @ other(g).T for g in q.elements]))
    assert float(torch.linalg.svdvals(link)[-1]) > 1e-3
    for g in so(3).sample(5, torch.Generator().manual_seed(1)):
        assert torch.allclose(ours(g) @ link, link @ other(g), atol=1e-6)


def test_clebsch_gordan_multiplicities():
    for total in range(4):
        expected = 1 if 1 <= total <= 3 else 0
        assert equivariant_maps(spin(1) * spin(2), spin(total)).dimension == expected


def test_bad_input():
    with pytest.raises(InputError, match="k: expected an integer from 0 to 500, got -1"):
        frequency(-1)
    with pytest.raises(InputError, match="degree: expected an integer from 0 to 500, got -1"):
        spin(-1)
    with pytest.raises(InputError, match="parity of \\+1 or -1"):
        spin(1, parity=2)
