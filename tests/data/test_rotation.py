from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.data._rotation import dihedral_action, rotation
from symscope.errors import InputError
from tests.tolerances import ROUNDING

IMAGES = torch.randn(3, 7, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@given(n=st.integers(1, 20), data=st.data())
def test_spline_rotation_is_scipys(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n - 1))
    expected = scipy.ndimage.rotate(IMAGES.numpy(), 360 * k / n, axes=(1, 2), reshape=False)
    assert np.abs(rotation(n).act(k, IMAGES).numpy() - expected).max() < ROUNDING


@given(n=st.integers(1, 20), data=st.data())
def test_dihedral_mirrors_first(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n - 1))
    flipped = IMAGES.numpy()[:, :, ::-1]
    expected = scipy.ndimage.rotate(flipped, 360 * k / n, axes=(1, 2), reshape=False)
    assert np.abs(dihedral_action(n).act(n + k, IMAGES).numpy() - expected).max() < ROUNDING
    assert torch.equal(dihedral_action(n).act(k, IMAGES), rotation(n).act(k, IMAGES))


@pytest.mark.parametrize("method", ["spline", "orthogonal"])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_quarter_turns_are_exact_in_any_dtype(n: int, method: str) -> None:
    whole = torch.arange(2 * 9).reshape(2, 3, 3).to(torch.uint8)
    for k in range(n):
        expected = np.rot90(whole.numpy(), 4 * k // n, axes=(1, 2))
        assert np.array_equal(rotation(n, method).act(k, whole).numpy(), expected)
        mirrored = np.rot90(whole.numpy()[:, :, ::-1], 4 * k // n, axes=(1, 2))
        assert np.array_equal(dihedral_action(n, method).act(n + k, whole).numpy(), mirrored)


@pytest.mark.parametrize("n", [8, 12])
def test_orthogonal_quarter_turns_are_rot90(n: int) -> None:
    for q in range(4):
        turned = rotation(n, "orthogonal").act(q * n // 4, IMAGES)
        assert float((turned - torch.rot90(IMAGES, q, (-2, -1))).abs().max()) < ROUNDING


def test_names_tell_the_methods_apart() -> None:
    names = [
        rotation(8).name,
        rotation(8, "orthogonal").name,
        rotation(4, "orthogonal").name,
        dihedral_action(8).name,
    ]
    assert names == ["rotation", "rotation:orthogonal", "rotation", "dihedral"]


def test_bad_input() -> None:
    with pytest.raises(InputError, match="positive number of steps in a full turn, got 0"):
        rotation(0)
    with pytest.raises(InputError, match="got 'splin'; did you mean 'spline'"):
        rotation(8, "splin")
    with pytest.raises(InputError, match="expected method 'spline' or 'orthogonal', got 'linear'"):
        dihedral_action(4, "linear")
    for action in (rotation(4), rotation(8), dihedral_action(4), dihedral_action(8, "orthogonal")):
        with pytest.raises(InputError, match=r"expected square images.*\(2, 3, 4\)"):
            action.act(1, torch.zeros(2, 3, 4))
    with pytest.raises(InputError, match="expected finite pixels"):
        rotation(8).act(1, torch.full((3, 3), torch.nan))
