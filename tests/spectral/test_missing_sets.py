"""Missing sets from masks."""

from __future__ import annotations

import inspect

import pytest
import torch

from symscope import InputError
from symscope.groups import cyclic
from symscope.spectral import class_masks
from symscope.spectral._missing_sets import missing_sets
from symscope.spectral.irrep_blocks import quotient


def test_points_are_listed_seed_by_seed():
    mask = torch.zeros(3, 4, dtype=torch.bool)
    mask[2, 1] = mask[0, 3] = mask[2, 0] = True
    (result,) = missing_sets(mask, cyclic(4), quotient(cyclic(4), None, 3))
    assert result.samples.tolist() == [0, 2, 2]
    assert result.elements.tolist() == [3, 0, 1]
    assert result.owners.tolist() == [0, 2]
    assert result.position.tolist() == [0, 1, 1]
    assert not result.one_element


def test_elements_that_give_one_point_are_one():
    points = quotient(cyclic(4), [torch.tensor([0, 2]), torch.tensor([0])], 2)
    mask = torch.zeros(2, 4, dtype=torch.bool)
    mask[0, [1, 3]] = mask[1, 3] = True
    (result,) = missing_sets(mask, cyclic(4), points)
    assert list(zip(result.samples.tolist(), result.elements.tolist(), strict=True)) == [(0, 1), (1, 3)]


def test_a_class_loses_one_element_of_each_of_its_orbits():
    masks = class_masks(torch.tensor([5, 3, 5]), cyclic(3), element=2)
    assert masks.nonzero().tolist() == [[0, 1, 2], [1, 0, 2], [1, 2, 2]]
    with pytest.raises(InputError, match="element of C3, 0 to 2, got 3"):
        class_masks(torch.tensor([0]), cyclic(3), element=3)


def test_classes_and_masks_of_another_kind_are_refused():
    # the checks of the test suite would stop these earlier
    masks = inspect.unwrap(class_masks)
    for classes, message in (
        (torch.eye(2).long(), r"whole numbers in one row, one per sample; got torch.int64 of shape \(2, 2\)"),
        (torch.tensor([0.0, 1.0]), "whole numbers in one row, one per sample; got torch.float32"),
        (torch.tensor([], dtype=torch.int64), "one sample or more, got none"),
    ):
        with pytest.raises(InputError, match=message):
            masks(classes, cyclic(4))
