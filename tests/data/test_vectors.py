from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import groups
from symscope.data import custom_action, rotation
from symscope.data import vectors as vectors
from symscope.data.images import shift
from symscope.data.nodes import node_permutation
from symscope.data.point_clouds import point_rotation
from symscope.data.vectors import linear_action, representation_of
from symscope.errors import InputError
from symscope.groups import cyclic, parse, symmetric
from symscope.groups.compact import so
from symscope.groups.constructions import defining, regular
from tests.tolerances import ROUNDING

OCTAHEDRAL = groups.from_matrices(groups.polyhedral.octahedral(), groups.polyhedral.octahedral().matrices)


@given(g=st.integers(0, 23), seed=st.integers(0, 1000))
def test_multiplies_by_the_matrix(g: int, seed: int) -> None:
    x = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    expected = torch.stack([OCTAHEDRAL.matrices[g] @ v for v in x])
    assert torch.allclose(linear_action(OCTAHEDRAL).act(g, x), expected, rtol=0, atol=ROUNDING)
    assert torch.allclose(linear_action(OCTAHEDRAL).act_all(x)[:, g], expected, rtol=0, atol=ROUNDING)
    mixed = linear_action(OCTAHEDRAL).act(torch.tensor([g, 0, 1, g, 2]), x)
    assert torch.allclose(mixed[3], expected[3], rtol=0, atol=ROUNDING)


def test_complex_matrices_act_on_complex_vectors() -> None:
    phases = torch.polar(torch.ones(3, dtype=torch.float64), 2 * torch.pi * torch.arange(3).double() / 3)
    action = linear_action(groups.from_matrices(groups.cyclic(3), phases[:, None, None]))
    assert torch.allclose(action.act(1, torch.ones(2, 1).cdouble()), phases[1].expand(2, 1))
    with pytest.raises(InputError, match="expected complex vectors"):
        action.act(1, torch.ones(2, 1))


def test_large_representations_act_without_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    rep = regular(groups.dihedral(5))
    x = torch.randn(4, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    listed = linear_action(rep).act_all(x)
    monkeypatch.setattr(vectors, "LARGEST_LISTED", 10)
    lazy = linear_action(rep)
    assert not isinstance(lazy.transform, vectors.MatrixAction)
    assert torch.equal(lazy.act_all(x), listed)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="expected vectors of length 3, got shape"):
        linear_action(OCTAHEDRAL).act(1, torch.zeros(2, 4))
    with pytest.raises(InputError, match=r"expected floating-point vectors.*torch.int64"):
        linear_action(OCTAHEDRAL).act(1, torch.zeros(2, 3, dtype=torch.int64))
    with pytest.raises(InputError, match=r"listed finite group.*Use a finite subgroup"):
        linear_action(defining(so(2)))


@pytest.mark.parametrize(
    ("action", "shape", "permutes"),
    [
        (rotation(4), (3, 3), True),
        (rotation(4), (2, 3, 3), True),
        (rotation(8, "orthogonal"), (6, 6), False),
        (shift(4), (1, 8), True),
        (point_rotation(parse("T")), (5, 3), False),
        (node_permutation(symmetric(3)), (3, 3), True),
        (node_permutation(symmetric(3), "features"), (3, 2), True),
    ],
    ids=str,
)
def test_an_action_is_the_representation_on_its_numbers_in_a_row(action, shape, permutes):
    rep = representation_of(action, shape)
    x = torch.randn(4, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert rep.unitary
    assert (rep.permutation is not None) == permutes
    for g in action.group.elements:
        expected = action.act(g, x).flatten(1)
        torch.testing.assert_close(rep.act(g, x.flatten(1)), expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(x.flatten(1) @ rep(g).T, expected, rtol=0, atol=1e-12)
        if permutes:
            moved = torch.empty_like(expected)
            moved[:, rep.permutation(g)] = x.flatten(1)
            assert torch.equal(moved, expected)
    twisted = rep.act(1, torch.complex(x, 2 * x).flatten(1))
    torch.testing.assert_close(twisted.imag, 2 * twisted.real)


def test_what_is_no_representation_is_refused():
    with pytest.raises(InputError, match=r"45° after 45° is not 90°.*rotation:orthogonal"):
        representation_of(rotation(8), (6, 6))
    with pytest.raises(InputError, match="expected a linear map"):
        representation_of(custom_action(cyclic(2), lambda g, x: x.abs() if g else x, 1), (3,))
    with pytest.raises(InputError, match="no representation of C4"):
        representation_of(custom_action(cyclic(4), lambda g, x: x.roll(g * g, -1), 1), (5,))
