"""The run-time checks of annotations see what they must, or no test of a shape would mean anything."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from jaxtyping import Float
from torch import Tensor

import symscope.groups
from symscope_papers.discovery.exact.networks import family_and_sizes
from tests import shapes
from tests.shapes import annotations_checked, annotations_unchecked

pytest.importorskip("beartype")


@annotations_checked
def product(a: Float[Tensor, "n m"], b: Float[Tensor, "m k"], wanted: int) -> Float[Tensor, "n k"]:
    return (a @ b)[:wanted]


@annotations_checked
@dataclass(frozen=True)
class Later:
    other: Defined | None
    x: Float[Tensor, "n"]


class Defined:
    pass


def test_kinds_and_sizes_of_arguments_and_of_the_result():
    a, b = torch.ones(2, 3), torch.ones(3, 4)
    assert product(a, b, 2).shape == (2, 4)
    for wrong in ((a.int(), b, 2), (a, b.T, 2), (a, b, 2.0), (a, b, 1)):  # the last gives one row of two
        with pytest.raises(TypeError, match="product"):
            product(*wrong)
    assert product(torch.ones(5, 3), b, 5).shape == (5, 4)  # sizes are those of one call


def test_dataclasses_and_types_that_are_defined_further_down():
    assert Later(Defined(), torch.ones(3)).x.shape == (3,)
    with pytest.raises(TypeError):
        Later(3, torch.ones(3))
    with pytest.raises(TypeError):
        Later(None, torch.ones(3, 3))


def test_both_packages_are_checked_and_only_in_tests_that_want_it(monkeypatch):
    monkeypatch.setattr(shapes, "ALWAYS", 10**9)  # whatever other tests called before
    with pytest.raises(TypeError, match="cyclic"):
        symscope.groups.cyclic("4")
    with pytest.raises(TypeError, match="family_and_sizes"):
        family_and_sizes(4)
    with annotations_unchecked(), pytest.raises(AttributeError, match="'int' object has no attribute"):
        family_and_sizes(4)
