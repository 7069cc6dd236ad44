from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import check_subgroup, cyclic, dihedral, symmetric
from symscope.groups.subgroups import as_group, conjugacy_classes, cosets, is_normal, stabiliser
from symscope.testing import assert_group_laws
from tests.groups.strategies import finite_groups


@given(finite_groups)
def test_classes_partition_and_are_closed_under_conjugation(group):
    classes = conjugacy_classes(group)
    assert sorted(torch.cat(classes).tolist()) == list(group.elements)
    for members in classes:
        g = int(members[0])
        orbit = {group.multiply(group.multiply(h, g), group.inverse(h)) for h in group.elements}
        assert orbit == set(members.tolist())


@given(finite_groups, st.data(), st.sampled_from(["left", "right"]))
def test_cosets_partition(group, data, side):
    h = group.subgroup([data.draw(st.sampled_from(list(group.elements)))])
    rows = cosets(group, h, side)
    assert sorted(rows.reshape(-1).tolist()) == list(group.elements)
    for row in rows:
        g = int(row[0])
        moved = [group.multiply(g, x) if side == "left" else group.multiply(x, g) for x in h.tolist()]
        assert set(moved) == set(row.tolist())


@given(finite_groups, st.data())
def test_orbit_stabiliser(group, data):
    point = data.draw(st.integers(0, group.permutations.shape[1] - 1))
    fixed = stabiliser(group, point)
    orbit = group.permutations[:, point].unique()
    assert len(fixed) * len(orbit) == group.order
    assert torch.equal(check_subgroup(group, fixed), fixed)


@given(finite_groups, st.data())
def test_a_subgroup_as_a_group(group, data):
    h = group.subgroup([data.draw(st.sampled_from(list(group.elements)))])
    inside = as_group(group, h)
    assert_group_laws(inside)
    assert torch.equal(h[inside.table], group.table[h][:, h])


def test_normality():
    s4 = symmetric(4)
    klein = s4.subgroup([s4.labels.index("(0 1)(2 3)"), s4.labels.index("(0 2)(1 3)")])
    assert is_normal(s4, klein)
    assert not is_normal(s4, s4.subgroup([s4.labels.index("(0 1)")]))


def test_bad_input():
    with pytest.raises(InputError, match=r"\[0, 1\] is not closed and generates 4 elements"):
        check_subgroup(cyclic(4), [0, 1])
    with pytest.raises(InputError, match="'left' or 'right', got 'up'"):
        cosets(cyclic(4), [0, 2], "up")
    with pytest.raises(InputError, match="expected a point from 0 to 3"):
        stabiliser(dihedral(4), 4)
