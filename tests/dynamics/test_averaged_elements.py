"""Which elements averages run over."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.dynamics.averaged_elements import all_elements, drawn_elements, element_name, probes
from symscope.groups import PermutationGroup, cyclic, symmetric
from symscope.groups.compact import so
from tests.dynamics.networks import seeded


def test_all_elements_of_listed_and_generated_groups():
    assert all_elements(cyclic(5)) == [0, 1, 2, 3, 4]
    small = PermutationGroup("S4", torch.tensor([[1, 2, 3, 0], [1, 0, 2, 3]]))
    result = {tuple(g.tolist()) for g in all_elements(small)}
    assert len(result) == 24


def test_groups_too_large_offer_monte_carlo():
    with pytest.raises(InputError, match=r"S10 has 3628800: average over drawn_elements.*monte_carlo_risk"):
        all_elements(symmetric(10))
    with pytest.raises(InputError, match=r"SO\(3\) is infinite"):
        all_elements(so(3))
    with pytest.raises(InputError, match="passes: expected an integer from 1"):
        drawn_elements(cyclic(3), 0, seeded(0))


def test_probes_and_names():
    assert len(probes(cyclic(5), 64, seeded(0))) == 5
    some = probes(symmetric(10), 6, seeded(0))
    assert len(some) == 8
    assert element_name(symmetric(10), some[1]) == "[1, 0, 2, 3, 4, 5, 6, 7, 8, 9]"
    assert element_name(so(2), torch.eye(2, dtype=torch.float64)) == "[[1.0, 0.0], [0.0, 1.0]]"
