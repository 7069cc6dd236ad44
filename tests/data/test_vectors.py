from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import groups
from symscope.data import vectors as vectors
from symscope.data.vectors import linear_action
from symscope.errors import InputError
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
