"""Names of irreps against character tables from the books."""

from __future__ import annotations

import pytest

from symscope.groups import cyclic, dihedral, direct_product, symmetric
from symscope.groups.named_groups import quaternion
from symscope.spectral.irrep_blocks import frequencies
from symscope_papers.spectral.group_orbits_names import contents, dimension, irrep_label, partitions

# characters of a three-cycle, from the tables of S4 and S5: not what the names are made from
THREE_CYCLE = {
    4: {"(4)": 1, "(3,1)": 0, "(2,2)": -1, "(2,1,1)": 0, "(1,1,1,1)": 1},
    5: {"(5)": 1, "(4,1)": 1, "(3,2)": -1, "(3,1,1)": 0, "(2,2,1)": -1, "(2,1,1,1)": 1, "(1,1,1,1,1)": 1},
}


@pytest.mark.parametrize("n", [4, 5])
def test_partitions_have_the_characters_of_the_books(n):
    group = symmetric(n)
    fixed = (group.permutations == group.permutations[0]).sum(1)
    [cycle, *_] = [g for g in group.elements if int(fixed[g]) == n - 3]  # moving three points: a three-cycle
    found = {}
    for frequency in frequencies(group):
        found[irrep_label(frequency, group)] = round(float(frequency.matrices[cycle].trace().real))
    assert found == THREE_CYCLE[n]


def test_every_irrep_has_its_own_name():
    for group in (symmetric(5), dihedral(8), dihedral(5), direct_product(cyclic(4), cyclic(3)), quaternion()):
        names = [irrep_label(frequency, group) for frequency in frequencies(group)]
        assert len(set(names)) == len(names)
    labels = {irrep_label(f, dihedral(8)): f.dim for f in frequencies(dihedral(8))}
    assert labels == {
        "trivial": 1,
        "turn+ mirror-": 1,
        "turn- mirror+": 1,
        "turn- mirror-": 1,
        "wave 1": 2,
        "wave 2": 2,
        "wave 3": 2,
    }


def test_dimensions_of_partitions():
    assert sum(dimension(shape) ** 2 for shape in partitions(6)) == 720
    told = {(dimension(shape), contents(shape)) for shape in partitions(6)}
    assert len(told) == 11  # so that dimension and a swap's character tell all irreps of S6 apart
    assert [contents(shape) for shape in partitions(3)] == [3, 0, -3]
