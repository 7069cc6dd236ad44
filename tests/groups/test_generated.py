from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import from_generators
from symscope.testing import assert_group_laws


def turn(angle: float) -> torch.Tensor:
    c, s = math.cos(angle), math.sin(angle)
    return torch.tensor([[c, -s], [s, c]], dtype=torch.float64)


@given(st.lists(st.permutations(range(5)), min_size=1, max_size=3))
def test_permutations_generate_a_group_that_divides_s5(perms):
    group = from_generators(perms)
    assert_group_laws(group)
    assert 120 % group.order == 0
    listed = {tuple(p) for p in group.permutations.tolist()}
    assert {tuple(p) for p in perms} <= listed


@given(st.integers(1, 40))
def test_a_rotation_matrix_generates_a_cyclic_group(n):
    group = from_generators([turn(2 * math.pi / n)])
    assert group.order == n
    assert group.is_abelian
    assert_group_laws(group)


def test_matrices_are_kept_in_the_order_of_the_elements():
    mirror = torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64))
    group = from_generators([turn(2 * math.pi / 5), mirror], name="pentagon")
    assert group.order == 10
    products = torch.einsum("aij,bjk->abik", group.matrices, group.matrices)
    assert torch.allclose(products, group.matrices[group.table], atol=1e-12)
    assert group.labels[0] == "e"
    assert group.name == "pentagon"


def test_complex_generators():
    pauli = [
        torch.tensor([[0, 1], [1, 0]]),
        torch.tensor([[0, -1j], [1j, 0]]),
        torch.tensor([[1, 0], [0, -1]]),
    ]
    group = from_generators([p.to(torch.complex128) for p in pauli])
    assert group.order == 16  # {1, i, -1, -i} x {1, X, Y, Z}


def test_not_finite_says_so():
    with pytest.raises(InputError, match="at most 500 elements; the generators reach more"):
        from_generators([turn(1.0)], max_order=500)
    shear = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    with pytest.raises(InputError, match="the generators reach more"):
        from_generators([shear], max_order=100)
    with pytest.raises(InputError, match="determinants have modulus 1"):
        from_generators([torch.diag(torch.tensor([2.0, 1.0]))])


def test_size_limit_for_permutations_points_to_permutation_groups():
    cycle, swap = [*range(1, 9), 0], [1, 0, *range(2, 9)]
    with pytest.raises(InputError, match="use PermutationGroup"):
        from_generators([cycle, swap], max_order=1000)


@pytest.mark.parametrize(
    ("generators", "message"),
    [
        ([[0, 0, 1]], "expected permutations of 0 to 2; number 0 is"),
        ([[1, 0], [0, 1, 2]], "generators of one shape"),
        ([], "generators of one shape"),
        ([torch.eye(3).long()], r"as floats; got integers of shape \(1, 3, 3\): give .* dtype=torch.float64"),
        (torch.zeros(1, 2, 3), "square matrices"),
        (torch.full((1, 2, 2), float("nan")), "NaN or infinite"),
    ],
)
def test_bad_generators(generators, message):
    with pytest.raises(InputError, match=message):
        from_generators(generators)


def test_generators_of_low_precision_are_refused():
    rough = turn(2 * math.pi / 7).round(decimals=5)
    rough = rough / torch.linalg.det(rough).abs().sqrt()
    with pytest.raises(InputError, match=r"full float64 precision|reach more"):
        from_generators([rough], max_order=200)
