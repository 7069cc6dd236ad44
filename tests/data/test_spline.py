from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.data._spline import SplineRotation, prefilter, quarter_turns, spline_matrix
from symscope.errors import InputError
from tests.tolerances import ROUNDING


@given(size=st.integers(1, 30), n=st.integers(1, 40), seed=st.integers(0, 1000), data=st.data())
def test_same_numbers_as_scipy(size: int, n: int, seed: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n - 1))
    images = np.random.default_rng(seed).standard_normal((2, size, size))
    expected = scipy.ndimage.rotate(images, 360 * k / n, axes=(1, 2), reshape=False)
    ours = SplineRotation(n)(torch.tensor(k), torch.from_numpy(images))
    assert np.abs(ours.numpy() - expected).max() < ROUNDING


@pytest.mark.parametrize("n", [6, 8, 12, 24, 64])
def test_same_numbers_as_scipy_where_grid_points_meet_the_border(n: int) -> None:
    images = np.random.default_rng(n).standard_normal((2, 28, 28))
    ours = SplineRotation(n)(torch.arange(n), torch.from_numpy(images)[:, None])
    for k in range(n):
        expected = scipy.ndimage.rotate(images, 360 * k / n, axes=(1, 2), reshape=False)
        assert np.abs(ours[:, k].numpy() - expected).max() < ROUNDING


def test_prefilter_is_scipys() -> None:
    for size in (2, 3, 9, 28):
        expected = scipy.ndimage.spline_filter1d(np.eye(size), order=3, axis=0, mode="mirror")
        assert np.abs(prefilter(size).numpy() - expected).max() < ROUNDING


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_quarter_turns_are_rot90_to_the_bit(k: int) -> None:
    x = torch.randn(3, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = torch.rot90(x, k, (-2, -1))
    assert torch.equal(SplineRotation(16)(torch.tensor(4 * k), x), expected)
    assert torch.equal(x.flatten(1)[:, quarter_turns(5)[k]].reshape(x.shape), expected)


def test_matrix_is_the_transform() -> None:
    x = torch.randn(4, 7, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    turned = SplineRotation(10)(torch.tensor(3), x).flatten(1)
    assert torch.allclose(x.flatten(1) @ spline_matrix(7, 108.0).T, turned, rtol=0, atol=ROUNDING)


def test_smooth_images_turn_as_functions_do() -> None:
    """A smooth bump off the centre lands where the plane rotation puts it."""
    size, angle = 41, 2 * np.pi * 3 / 16
    row, column = torch.meshgrid(*[torch.arange(size, dtype=torch.float64) - 20] * 2, indexing="ij")

    def bump(x: float, y: float) -> torch.Tensor:  # x to the right, y up
        return torch.exp(-((column - x) ** 2 + (-row - y) ** 2) / 18)

    turned = SplineRotation(16)(torch.tensor(3), bump(7.0, 1.5))
    x, y = 7.0 * np.cos(angle) - 1.5 * np.sin(angle), 7.0 * np.sin(angle) + 1.5 * np.cos(angle)
    assert float((turned - bump(x, y)).abs().max()) < 1e-3


def test_half_precision_is_computed_in_single() -> None:
    x = torch.rand(2, 6, 6, generator=torch.Generator().manual_seed(0)).half()
    turned = SplineRotation(8)(torch.tensor(1), x)
    assert turned.dtype == torch.float16
    assert torch.equal(turned, SplineRotation(8)(torch.tensor(1), x.float()).half())


def test_refuses_what_it_cannot_turn() -> None:
    turn = SplineRotation(8)
    with pytest.raises(InputError, match=r"expected square images \[..., h, h\].*\(2, 3, 4\)"):
        turn(torch.tensor(1), torch.zeros(2, 3, 4))
    with pytest.raises(InputError, match=r"expected floating-point pixels.*torch.uint8.*x.double\(\) / 255"):
        turn(torch.tensor(1), torch.zeros(3, 3, dtype=torch.uint8))
    for bad in (float("nan"), float("inf")):
        x = torch.zeros(2, 3, 3)
        x[1, 2, 0] = bad
        with pytest.raises(InputError, match=r"expected finite pixels; pixel \[1, 2, 0\] is (nan|inf)"):
            turn(torch.tensor(1), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("g", "batch"),
    [
        (torch.tensor(3), (5,)),
        (torch.arange(8), (2, 1)),
        (torch.tensor([[1], [2]]), (4,)),
        (torch.arange(3), (2, 3)),
    ],
)
def test_sparse_products_equal_the_taps_that_gradients_follow(g, batch, dtype):
    x = torch.rand(*batch, 9, 9, dtype=dtype, generator=torch.Generator().manual_seed(3))
    followed = x.clone().requires_grad_()
    by_taps = SplineRotation(8)(g, followed)
    assert torch.equal(SplineRotation(8)(g, x), by_taps.detach())
    by_taps.sum().backward()
    assert float(followed.grad.abs().max()) > 0


def test_derivatives_and_vmap_pass_through_a_rotation():
    x, turn = torch.rand(4, 6, 6, dtype=torch.float64), SplineRotation(8)
    tangent = torch.rand(4, 6, 6, dtype=torch.float64)
    value, slope = torch.func.jvp(lambda y: turn(torch.tensor(1), y), (x,), (tangent,))
    assert torch.equal(value, turn(torch.tensor(1), x))
    assert torch.allclose(slope, turn(torch.tensor(1), tangent), atol=1e-14)  # a rotation is linear
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, tangent)
        moved = torch.autograd.forward_ad.unpack_dual(turn(torch.tensor(1), dual)).tangent
        assert torch.allclose(moved, slope, atol=1e-14)


@pytest.mark.parametrize("n", [5, 8])
def test_one_element_turns_as_it_does_among_others(n):
    """A single number takes a way of its own: quarter turns without a spline, taps without a tensor."""
    images = torch.rand(3, 9, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    turn = SplineRotation(n)
    among = turn(torch.arange(n)[:, None], images.requires_grad_())  # gradients follow the taps
    for k in range(n):
        for x in (images, images.detach()):
            assert torch.allclose(turn(torch.tensor(k), x), among[k], rtol=0, atol=ROUNDING)


def test_large_finite_pixels_are_turned_though_their_sum_is_not_finite():
    image = torch.full((2, 4, 4), 3e38)
    assert torch.equal(SplineRotation(4)(torch.tensor(1), image), image)
