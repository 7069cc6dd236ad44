"""Missing sets from masks."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.groups import cyclic
from symscope.spectral import class_masks, quotient
from symscope.spectral.missing import missing_sets


def test_points_are_listed_seed_by_seed():
    mask = torch.zeros(3, 4, dtype=torch.bool)
    mask[2, 1] = mask[0, 3] = mask[2, 0] = True
    (found,) = missing_sets(mask, cyclic(4), quotient(cyclic(4), None, 3))
    assert found.seeds.tolist() == [0, 2, 2]
    assert found.elements.tolist() == [3, 0, 1]
    assert found.owners.tolist() == [0, 2]
    assert found.position.tolist() == [0, 1, 1]
    assert not found.one_element


def test_elements_that_give_one_point_are_one():
    points = quotient(cyclic(4), [torch.tensor([0, 2]), torch.tensor([0])], 2)
    mask = torch.zeros(2, 4, dtype=torch.bool)
    mask[0, [1, 3]] = mask[1, 3] = True
    (found,) = missing_sets(mask, cyclic(4), points)
    assert list(zip(found.seeds.tolist(), found.elements.tolist(), strict=True)) == [(0, 1), (1, 3)]


def test_a_class_loses_one_element_of_each_of_its_orbits():
    masks = class_masks(torch.tensor([5, 3, 5]), cyclic(3), element=2)
    assert masks.nonzero().tolist() == [[0, 1, 2], [1, 0, 2], [1, 2, 2]]
    with pytest.raises(InputError, match="element of C3, 0 to 2, got 3"):
        class_masks(torch.tensor([0]), cyclic(3), element=3)
