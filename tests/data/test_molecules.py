"""Molecules of the Chemical Component Dictionary: what they are, and what mirrors do to handed ones."""

from __future__ import annotations

import sys

import pytest
import torch

from symscope import InputError
from symscope.auditing import data_symmetry
from symscope.data import LabelledData, as_samples
from symscope.data import molecules as source
from symscope.data._charges import NUMBERS
from symscope.data.molecules import Molecules, handed_samples, molecules, signed_volumes
from symscope.data.point_clouds import point_flip, point_rotation
from symscope.groups.polyhedral import icosahedral, tetrahedral

CARBON = [(1, 1, 1), (-1, -1, 1), (-1, 1, -1), (1, -1, -1)]  # of a tetrahedron around a carbon


@pytest.fixture
def dictionary():
    pytest.importorskip("biotite", reason="needs the extra symscope[molecules]")


def test_signed_volumes_are_kept_by_rotations_and_turned_around_by_mirrors_and_swaps():
    corners = torch.tensor([CARBON], dtype=torch.float64) * torch.tensor([1.0, 1.1, 0.9], dtype=torch.float64)
    before = signed_volumes(corners)
    assert float(before.abs()) > 1
    group = icosahedral(inversion=True)
    after = signed_volumes(torch.einsum("gij,aj->gai", group.matrices, corners[0]))
    torch.testing.assert_close(after, torch.linalg.det(group.matrices) * before)
    torch.testing.assert_close(signed_volumes(corners[:, [1, 0, 2, 3]]), -before)
    torch.testing.assert_close(signed_volumes(corners + 5), before)


def test_the_mirror_is_refused_for_made_stereocentres_and_rotations_are_not():
    generator = torch.Generator().manual_seed(0)
    corners = torch.tensor(CARBON, dtype=torch.float64) + 0.1 * torch.randn(300, 4, 3, generator=generator)
    turns = torch.linalg.qr(torch.randn(300, 3, 3, generator=generator, dtype=torch.float64)).Q
    hands = 1 - 2 * (torch.arange(300) % 2)
    x = corners @ turns.mT * hands[:, None, None]  # -Q mirrors where Q turns
    data = LabelledData(x, (signed_volumes(x) < 0).long(), "made", "made")
    assert min(data.labels.bincount().tolist()) > 100
    refused = data_symmetry(data, point_flip("x"), class_names=("S", "R"))
    assert refused.recommendation == "not"
    assert data_symmetry(data, point_rotation(tetrahedral())).labels == ()


def test_priorities_follow_the_spheres_and_double_bonds_count_twice():
    # glyceraldehyde: C* with OH, CHO, CH2OH, H
    elements = [6, 8, 6, 6, 1, 1, 8, 1, 8, 1, 1, 1]
    bonds = [
        (0, 1, 1),
        (0, 2, 1),
        (0, 3, 1),
        (0, 4, 1),
        (1, 5, 1),
        (2, 6, 2),
        (2, 7, 1),
        (3, 8, 1),
        (3, 9, 1),
    ]
    bonds += [(3, 10, 1), (8, 11, 1)]
    bonded = [[(b if a == i else a, o) for a, b, o in bonds if i in (a, b)] for i in range(12)]
    spheres = {atom: source._spheres(atom, 0, bonded, elements) for atom in (1, 2, 3, 4)}
    assert sorted(spheres, key=spheres.__getitem__, reverse=True) == [1, 2, 3, 4]
    assert spheres[2][:2] == [[6], [8, 8, 1]]
    assert spheres[3][:2] == [[6], [8, 1, 1]]
    assert spheres[2][2] == [6]  # what the doubled oxygen is doubled with


def test_without_biotite_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "biotite.structure.info", None)
    with pytest.raises(InputError, match=r"pip install 'symscope\[molecules\]'"):
        source._table("chem_comp")


@pytest.mark.usefixtures("dictionary")
def test_molecules_are_whole_centred_and_in_the_order_of_names():
    known = molecules(names=["HOH", "ALA"])
    assert known.names == ("HOH", "ALA")
    assert known.elements[0].tolist() == [8, 1, 1] + [0] * 10
    assert sorted(known.elements[1].tolist()) == [1] * 7 + [6] * 3 + [7] + [8] * 2
    torch.testing.assert_close(known.positions.sum(1), torch.zeros(2, 3, dtype=torch.float64))
    bond = float((known.positions[0, 0] - known.positions[0, 1]).norm())
    assert 0.9 < bond < 1.05  # of water, in angstrom
    assert known.clouds().shape == (2, 13, 3 + 4)
    some = molecules(6, elements=("H", "C", "O"), limit=5)
    assert isinstance(some, Molecules)
    assert list(some.names) == sorted(some.names)
    assert ((some.elements > 1).sum(1) == 6).all()
    assert len(some.names) == 5
    assert len(molecules(6).names) > 100


@pytest.mark.usefixtures("dictionary")
def test_flags_of_the_dictionary_are_those_of_the_geometry_and_both_hands_are_there():
    data = handed_samples(8)
    right = signed_volumes(data.x) < 0
    assert float((right.long() == data.labels).double().mean()) > 0.97
    assert min(data.labels.bincount().tolist()) > 30
    apart = data.x.norm(dim=2)
    assert float(apart.min()) > 0.8  # bonds
    assert float(apart.max()) < 2.8


@pytest.mark.usefixtures("dictionary")
def test_the_mirror_is_refused_for_real_stereocentres_and_rotations_are_not():
    data = handed_samples(10)
    refused = data_symmetry(data, point_flip("z"), class_names=("S", "R"))
    assert refused.recommendation == "not"
    assert {refused.labels[0].first, refused.labels[0].second} == {0, 1}
    assert data_symmetry(data, point_rotation(tetrahedral())).labels == ()


@pytest.mark.usefixtures("dictionary")
def test_the_command_line_takes_both_sets_by_name():
    data, _ = as_samples("symscope.data.molecules:dipole_samples")
    assert data.targets.shape == (len(data), 3)
    assert data.x.shape[2] == 7
    assert len(as_samples("symscope.data.molecules:handed_samples", limit=50)[0]) == 50


@pytest.mark.usefixtures("dictionary")
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "a number of heavy atoms or names"),
        ({"heavy_atoms": 3, "names": ["ALA"]}, "a number of heavy atoms or names"),
        ({"names": ["nothing"]}, "'nothing' is not in the"),
        ({"names": ["CYS"]}, "CYS is charged, lacks coordinates or has elements other than H, C, N, O"),
        ({"heavy_atoms": 999}, "has 999 heavy atoms"),
        ({"heavy_atoms": 3, "elements": ("H", "U")}, "expected some of H.*got 'U'"),
    ],
)
def test_what_is_not_there_is_refused(asked, message):
    with pytest.raises(InputError, match=message):
        molecules(**asked)


def test_every_element_with_parameters_has_a_number():
    assert len(set(NUMBERS)) == len(source.NUMBER_OF) == 11
