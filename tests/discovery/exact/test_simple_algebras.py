"""Names of simple algebras."""

from __future__ import annotations

import pytest
import torch

from symscope.discovery.exact._simple_algebras import simple_ideals, simple_name, sum_name


@pytest.mark.parametrize("k", [3, 5, 7, 12])
def test_special_linear(k):
    assert simple_name(k * (k + 1) // 2 - 1, k * (k - 1) // 2).startswith(f"sl({k})")


@pytest.mark.parametrize(("p", "q"), [(5, 0), (4, 1), (6, 3), (5, 5)])
def test_orthogonal(p, q):
    name = simple_name(p * q, p * (p - 1) // 2 + q * (q - 1) // 2)
    assert (f"so({p},{q})" if q else f"so({p})") in name


def test_ambiguous_and_unknown_ones_say_so():
    assert simple_name(12, 9) == "so(4,3) or sp(6)"  # not isomorphic, but alike in dimension and signature
    assert simple_name(3, 5) == "simple of dimension 8 (3, 5)"


def test_the_cross_product_is_one_ideal():
    cross = torch.zeros(3, 3, 3, dtype=torch.float64)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        cross[i, j, k], cross[j, i, k] = 1, -1
    assert simple_ideals(cross) == ["so(3)"]
    assert simple_ideals(torch.zeros(0, 0, 0).double()) == []
    both = torch.zeros(6, 6, 6, dtype=torch.float64)
    both[:3, :3, :3], both[3:, 3:, 3:] = cross, 2 * cross
    assert simple_ideals(both) == ["so(3)", "so(3)"]


def test_sums():
    assert sum_name(["so(4,4)"], 0) == "so(4,4)"
    assert sum_name(["so(3)"], 1) == "so(3) + R"
    assert sum_name([], 0) == "0"
