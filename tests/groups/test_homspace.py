from __future__ import annotations

import pytest
import torch
from hypothesis import given

from symscope.errors import InputError
from symscope.groups import _homspace as homspace_module
from symscope.groups import character, cyclic, dihedral, from_matrices, irreps, parse, permutation, symmetric
from symscope.groups._homspace import dense_null_space, hom_space, iterative_null_space, pair_orbits
from symscope.groups.compact import o, so
from symscope.groups.constructions import defining, regular
from symscope.groups.spin import spin
from tests.groups.strategies import normal, simple_groups
from tests.tolerances import FOURIER


def same_space(a, b, n: int) -> float:
    """The largest difference between two projections of the same matrices."""
    x = normal(4, n, seed=n)
    return float((a.project(x) - b.project(x)).abs().max())


@given(simple_groups)
def test_three_ways_agree_on_permutations(group):
    v, w = permutation(group), regular(group)
    if v.dim * w.dim > 300:
        w = v
    n = v.dim * w.dim
    orbits, dense, iterative = pair_orbits(v, w), dense_null_space(v, w), iterative_null_space(v, w)
    expected = int((character(v).conj() * character(w)).mean().real.round())
    assert orbits.dimension == dense.dimension == iterative.dimension == expected
    assert same_space(orbits, dense, n) < FOURIER
    assert same_space(orbits, iterative, n) < FOURIER


@given(simple_groups)
def test_irreps_obey_schurs_lemma(group):
    result = irreps(group)
    for i, a in enumerate(result[-3:]):
        for j, b in enumerate(result[-3:]):
            assert dense_null_space(a, b).dimension == (i == j)


@pytest.mark.parametrize(
    ("source", "target", "dimension"),
    [
        (defining(so(3)), defining(so(3)), 1),
        (defining(so(3)) * defining(so(3)), defining(so(3)), 1),  # the cross product
        (defining(o(3)) * defining(o(3)), defining(o(3)), 0),  # which reflections break
        (defining(so(2)), defining(so(2)), 2),  # complex numbers
        (defining(o(2)), defining(o(2)), 1),
        (spin(2), defining(so(3)) * defining(so(3)), 1),
        (defining(so(3)) * defining(so(3)), defining(so(3)) * defining(so(3)), 3),
        (defining(so(4)), defining(so(4)) * defining(so(4)), 0),
    ],
    ids=lambda r: repr(r),
)
def test_lie_groups(source, target, dimension):
    dense, iterative = dense_null_space(source, target), iterative_null_space(source, target)
    assert dense.dimension == iterative.dimension == dimension
    assert same_space(dense, iterative, source.dim * target.dim) < FOURIER


def test_complex_spaces():
    a, b = irreps(cyclic(5))[1] + irreps(cyclic(5))[2], irreps(cyclic(5))[2] * permutation(cyclic(5))
    dense, iterative = dense_null_space(a, b), iterative_null_space(a, b)
    assert dense.is_complex
    assert dense.dimension == iterative.dimension == 2
    assert same_space(dense, iterative, a.dim * b.dim) < FOURIER


def test_bases_are_orthonormal():
    for space in (
        pair_orbits(permutation(dihedral(5)), permutation(dihedral(5))),
        dense_null_space(defining(so(3)) * defining(so(3)), defining(so(3)) * defining(so(3))),
    ):
        eye = torch.eye(space.dimension, dtype=torch.float64)
        assert torch.allclose(space.coefficients(space.combine(eye)), eye, atol=FOURIER)


def test_the_whole_space_when_nothing_moves():
    v = irreps(parse("C1"))[0]
    big = 3 * v
    assert iterative_null_space(big, big).dimension == 9


def test_choice_of_method(monkeypatch):
    v = irreps(dihedral(3))[2]
    assert hom_space(permutation(dihedral(3)), permutation(dihedral(3))).orbit is not None
    assert hom_space(v, v).vectors is not None
    monkeypatch.setattr(homspace_module, "LARGEST_DENSE", 3)
    assert hom_space(v, v).dimension == 1
    change = torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    skew = from_matrices(dihedral(3), change @ v.matrices @ torch.linalg.inv(change))
    with pytest.raises(InputError, match="unitary representations for spaces of more than 3 unknowns"):
        hom_space(skew, skew)


def test_slow_convergence_is_an_error_not_an_answer(monkeypatch):
    monkeypatch.setattr(homspace_module, "_CG_STEPS", 2)
    with pytest.raises(ArithmeticError, match="left a residual of"):
        iterative_null_space(spin(2), spin(2))


def test_nothing_is_listed_for_large_groups():
    v = permutation(symmetric(30))
    assert pair_orbits(v * v, v).dimension == 5  # partitions of three indices: Bell number B(3)
