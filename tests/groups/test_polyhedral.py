from __future__ import annotations

import math

import pytest
import torch

from symscope.groups import irreps, parse
from symscope.groups.constructions import defining
from symscope.groups.named_groups import alternating, symmetric
from symscope.groups.polyhedral import icosahedral, octahedral, tetrahedral
from symscope.groups.spin import spin
from symscope.groups.subgroups import conjugacy_classes
from symscope.testing import assert_representation

NAMES = ("T", "Th", "O", "Oh", "I", "Ih")


@pytest.mark.parametrize("name", NAMES)
def test_matrices_are_exact_orthogonal_and_multiply_as_the_group(name):
    group = parse(name)
    matrices = group.matrices
    # entries are correctly rounded: what is left is the rounding of three products
    products = torch.einsum("aij,bjk->abik", matrices, matrices)
    assert (products - matrices[group.table]).abs().max() < 4e-16
    assert len({tuple(m.flatten().tolist()) for m in matrices}) == group.order
    signs = torch.linalg.det(matrices).round()
    assert int((signs > 0).sum()) == (group.order if "h" not in name else group.order // 2)
    assert_representation(defining(group))
    assert torch.equal(group.permutations[group.table[3, 5]], group.permutations[3][group.permutations[5]])


@pytest.mark.parametrize(
    ("group", "other"),
    [(tetrahedral, alternating(4)), (octahedral, symmetric(4)), (icosahedral, alternating(5))],
)
def test_they_are_the_permutation_groups_they_are_known_to_be(group, other):
    made = group()
    assert sorted(made.element_orders.tolist()) == sorted(other.element_orders.tolist())
    assert sorted(map(len, conjugacy_classes(made))) == sorted(map(len, conjugacy_classes(other)))
    assert sorted(rho.dim for rho in irreps(made)) == sorted(rho.dim for rho in irreps(other))


def test_the_tetrahedron_is_in_the_cube_and_in_the_icosahedron():
    inside = {tuple(m.flatten().tolist()) for m in tetrahedral().matrices}
    for larger in (octahedral(), icosahedral()):
        assert inside <= {tuple(m.flatten().tolist()) for m in larger.matrices}


@pytest.mark.parametrize(("name", "exact"), [("T", 2), ("O", 3), ("I", 5)])
def test_averages_over_them_are_exact_up_to_a_degree(name, exact):
    """The first degree with an invariant beside the constant: Molien's series, 3, 4 and 6."""
    group = parse(name)
    for degree in range(1, exact + 2):
        mean = torch.stack([spin(degree)(m) for m in group.matrices]).mean(0)
        assert (mean.norm() < 1e-12) == (degree <= exact)


def test_names_say_axis_and_angle():
    o = octahedral(inversion=True)
    assert o.labels[:2] == ("e", "90° about z")
    assert o.labels[24:26] == ("inversion", "inverted 90° about z")
    quarter = o.matrices[o.labels.index("270° about x")]
    assert quarter.tolist() == [[1, 0, 0], [0, 0, 1], [0, -1, 0]]
    assert o.matrices[o.labels.index("mirror across x")].diagonal().tolist() == [-1, 1, 1]
    assert len(set(icosahedral(inversion=True).labels)) == 120
    for name, matrix in zip(icosahedral().labels[1:], icosahedral().matrices[1:], strict=True):
        angle = math.radians(float(name.partition("°")[0]))  # rounded to a degree
        assert abs(float(matrix.trace()) - 1 - 2 * math.cos(angle)) < 1e-12
