from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import groups
from symscope.data.images import flip, flip_both, pixel_permutation, shift, shift_both
from symscope.errors import InputError

IMAGES = torch.arange(2 * 6 * 4).reshape(2, 6, 4)


@given(rows=st.integers(1, 4), columns=st.integers(1, 4), scale=st.integers(1, 3), data=st.data())
def test_shifts_are_rolls(rows: int, columns: int, scale: int, data: st.DataObject) -> None:
    x = torch.arange(2 * rows * scale * columns * 2).reshape(2, rows * scale, columns * 2)
    a, b = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    both = torch.roll(x, (a * scale, b * 2), dims=(1, 2))
    assert torch.equal(shift_both(rows, columns).act(a * columns + b, x), both)
    assert torch.equal(shift(rows, "y").act(a, x), torch.roll(x, a * scale, dims=1))
    assert torch.equal(shift(columns, "x").act(b, x), torch.roll(x, b * 2, dims=2))


def test_shift_group_is_indexed_row_major() -> None:
    action = shift_both(3, 4)
    assert action.group.cyclic_factors == (3, 4)
    assert torch.equal(
        action.act(5, torch.arange(12).reshape(3, 4)), torch.arange(12).reshape(3, 4).roll((1, 1), (0, 1))
    )


def test_flips_are_numpys() -> None:
    assert np.array_equal(flip("x").act(1, IMAGES).numpy(), np.flip(IMAGES.numpy(), 2))
    assert np.array_equal(flip("y").act(1, IMAGES).numpy(), np.flip(IMAGES.numpy(), 1))
    expected = [IMAGES, IMAGES.flip(2), IMAGES.flip(1), IMAGES.flip(1).flip(2)]
    for g in range(4):
        assert torch.equal(flip_both().act(g, IMAGES), expected[g])


def test_pixels_go_where_they_are_sent() -> None:
    group = groups.symmetric(3)
    action = pixel_permutation(group, group.permutations)
    x = torch.tensor([[10, 20, 30]])
    for g in group.elements:
        moved = action.act(g, x)
        for i in range(3):
            assert moved[0, int(group.permutations[g, i])] == x[0, i]


def test_pixels_agree_with_rolls() -> None:
    index = torch.arange(12).reshape(3, 4)
    sent = torch.stack(
        [torch.roll(index, -k, 1).reshape(-1) for k in range(4)]
    )  # pixel i goes k to the right
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(pixel_permutation(groups.cyclic(4), sent).act(3, x), torch.roll(x, 3, 2))


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"divides the width 4 \(1, 2, 4\), got 3"):
        shift(3).act(1, IMAGES)
    with pytest.raises(InputError, match=r"divides the height 6 \(1, 2, 3, 6\), got 4"):
        shift_both(4, 2).act(1, IMAGES)
    with pytest.raises(InputError, match=r"expected axis 'x'.*got 'z'"):
        shift(2, "z")
    with pytest.raises(InputError, match=r"expected axis 'x'.*got 'left'"):
        flip("left")
    with pytest.raises(InputError, match="expected an integer from 1"):
        shift(0)


def test_pixels_refuse_what_is_no_action() -> None:
    with pytest.raises(InputError, match=r"expected permutations .2, pixels."):
        pixel_permutation(groups.cyclic(2), torch.tensor([0, 1]))
    with pytest.raises(InputError, match="expected 2 permutations"):
        pixel_permutation(groups.cyclic(2), torch.tensor([[0, 1]]))
    with pytest.raises(InputError, match="permutation"):
        pixel_permutation(groups.cyclic(2), torch.tensor([[0, 1], [1, 1]]))
    with pytest.raises(InputError, match="multiply as C2 does"):
        pixel_permutation(groups.cyclic(2), torch.tensor([[0, 1, 2], [1, 2, 0]]))
