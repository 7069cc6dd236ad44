"""Rotation of square images by cubic splines: the numbers of `scipy.ndimage.rotate`, batched in torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
import torch
from jaxtyping import Float64, Int64
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import cosdg, sindg
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from symscope.data._action import gather_points
from symscope.errors import InputError
from symscope.numerics import check_count, check_memory, checked, shortened

BLOCK = 2**18  # pixels turned at a time, so that they stay in a processor's cache


@lru_cache(maxsize=64)
def prefilter(size: int) -> Float64[Tensor, "size size"]:
    """The matrix from pixel values to cubic B-spline coefficients along one axis.

    The inverse of interpolation at the pixels, `x_i = c_(i-1)/6 + 4 c_i/6 + c_(i+1)/6`, with coefficients
    mirrored about the first and the last pixel.

    >>> (prefilter(4) @ torch.ones(4, dtype=torch.float64)).round(decimals=12).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    interpolation = np.zeros((size, size))
    for offset, weight in ((-1, 1 / 6), (0, 4 / 6), (1, 1 / 6)):
        np.add.at(interpolation, (np.arange(size), _mirrored(np.arange(size) + offset, size)), weight)
    return torch.from_numpy(np.linalg.inv(interpolation))


@lru_cache(maxsize=256)
def spline_taps(size: int, degrees: float) -> tuple[Int64[Tensor, "16 pixels"], Float64[Tensor, "16 pixels"]]:
    """The 16 spline coefficients, and their weights, that make up each pixel of the rotated image.

    Output pixel p looks at `A (p - c) + c` in the input, `A = [[cos, sin], [-sin, cos]]`, c the centre;
    what lies outside the image counts as 0.
    """
    cos, sin = float(cosdg(degrees)), float(sindg(degrees))  # exact at multiples of 90 degrees
    turn = np.array([[cos, sin], [-sin, cos]])
    centre = np.full(2, (size - 1) / 2)
    offset = centre - turn @ centre
    row, column = np.divmod(np.arange(size * size), size)
    # summed in scipy's order: a last-bit difference decides whether a border pixel counts as outside
    y, x = (turn[axis, 0] * row + turn[axis, 1] * column + offset[axis] for axis in (0, 1))
    inside = (y >= 0) & (y <= size - 1) & (x >= 0) & (x <= size - 1)
    y_taps, y_weights = _axis_taps(np.where(inside, y, 0.0), size)
    x_taps, x_weights = _axis_taps(np.where(inside, x, 0.0), size)
    taps = (y_taps[:, None] * size + x_taps).reshape(16, -1)
    weights = (y_weights[:, None] * x_weights * inside).reshape(16, -1)
    return torch.from_numpy(taps), torch.from_numpy(weights)


@checked
def spline_matrix(size: int, degrees: float) -> Float64[Tensor, "pixels pixels"]:
    """The rotation as a matrix on flattened images.

    >>> turn = spline_matrix(3, 90.0)
    >>> image = torch.arange(9.0, dtype=torch.float64)
    >>> (turn @ image).reshape(3, 3).round(decimals=9).tolist()
    [[2.0, 5.0, 8.0], [1.0, 4.0, 7.0], [0.0, 3.0, 6.0]]
    """
    size = check_count("size", size)
    check_memory(f"a matrix on images of {shortened(size)} pixels a side", 8 * size**4, "take smaller images")
    taps, weights = spline_taps(size, degrees)
    pixels = size * size
    gathered = torch.zeros(pixels, pixels, dtype=torch.float64)
    rows = torch.arange(pixels).expand(16, pixels)
    gathered.index_put_((rows, taps), weights, accumulate=True)
    once = prefilter(size)
    return torch.einsum("pab,ai,bj->pij", gathered.reshape(pixels, size, size), once, once).reshape(
        pixels, pixels
    )


def quarter_turns(size: int) -> Int64[Tensor, "4 pixels"]:
    """Sources of rotation by 0, 90, 180, 270 degrees, counter-clockwise: row q gives `rot90(x, q)`."""
    index = torch.arange(size * size).reshape(size, size)
    return torch.stack([torch.rot90(index, q).reshape(-1) for q in range(4)])


@final
@dataclass(frozen=True)
class SplineRotation:
    """The transform of `rotation(n, "spline")`: element k rotates by 360 k / n degrees, in one step."""

    n: int

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        image = checked_images(x)
        size = image.shape[-1]
        one = _single(g)
        if one is not None and 4 * one % self.n == 0:  # exact where the spline is exact only to rounding
            return torch.rot90(image, 4 * one // self.n, (-2, -1)).contiguous().to(x.dtype)
        elements, numbers = _plain(g), _plain(image)
        if elements is None or numbers is None:
            turned = self._by_taps(g if one is None else one, image)
        else:
            turned = torch.from_numpy(self._by_products(elements, numbers))
        return turned.unflatten(-1, (size, size)).to(x.dtype)

    def _by_taps(self, g: Tensor | int, image: Tensor) -> Tensor:
        """Tap by tap, on any device, with gradients: all 16 together would need 16 times the memory.

        A number for g, where there is one element, which is no quarter turn: a tensor on a GPU would be read
        back for each tap.
        """
        size = image.shape[-1]
        coefficients = _coefficients(image).flatten(-2)
        taps, weights = _stacked_taps(self.n, size, image.device, image.dtype)
        turned = torch.zeros((), dtype=image.dtype, device=image.device)
        for tap in range(16):
            turned = turned + weights[tap, g] * gather_points(coefficients, taps[tap, g])
        if isinstance(g, int):
            return turned
        quarter = 4 * g % self.n == 0
        if not bool(quarter.any()):
            return turned
        # exact where the spline is exact only to rounding
        sources = quarter_turns(size).to(image.device)[torch.where(quarter, 4 * g // self.n, 0)]
        return torch.where(quarter[..., None], gather_points(image.flatten(-2), sources), turned)

    def _by_products(self, g: NDArray[np.int64], image: NDArray) -> NDArray:
        """One sparse product for each element with images side by side: rows of them are read in order."""
        *batch, size, _ = image.shape
        shape = np.broadcast_shapes(g.shape, batch)
        every, source = (
            np.broadcast_to(one, shape).reshape(-1) for one in (g, np.arange(math.prod(batch)).reshape(batch))
        )
        images = image.reshape(-1, size * size)
        coefficients = _coefficients(torch.from_numpy(image)).numpy().reshape(-1, size * size)
        turned, block = np.empty((len(every), size * size), image.dtype), BLOCK // size**2 + 1
        for k in np.unique(every).tolist():
            mine = np.nonzero(every == k)[0]
            if 4 * k % self.n == 0:  # exact where the spline is exact only to rounding
                turned[mine] = images[source[mine]][:, quarter_turns(size)[4 * k // self.n].numpy()]
                continue
            turn = _turn(self.n, k, size, image.dtype.char)
            for at in np.split(mine, range(block, len(mine), block)):
                turned[at] = (turn @ np.ascontiguousarray(coefficients[source[at]].T)).T
        return turned.reshape(*shape, size * size)


def _coefficients(image: Tensor) -> Tensor:
    once = prefilter(image.shape[-1]).to(image)
    return once @ image @ once.T


def _single(g: Tensor) -> int | None:
    """The element, where it is one; None for several, and where `vmap` follows it."""
    if g.ndim:
        return None
    try:
        return int(g)
    except RuntimeError:
        return None


def _plain(tensor: Tensor) -> NDArray | None:
    """A tensor as an array; None on another device, and where gradients or `vmap` follow it."""
    if tensor.device.type != "cpu" or unpack_dual(tensor).tangent is not None:
        return None
    try:
        return tensor.numpy()
    except RuntimeError:
        return None


def checked_images(x: Tensor) -> Tensor:
    """Square images of finite floating-point pixels, in float32 or float64.

    Raises:
        InputError: Not square, not floating point, or some pixel is not finite.
    """
    check_square(x)
    if not x.is_floating_point():
        raise InputError(
            f"expected floating-point pixels, because a rotation interpolates; got {x.dtype}. "
            "Convert first, for example with x.double() / 255."
        )
    # the sum of finite pixels is nearly always finite, and far cheaper than to look at each
    if not bool(torch.isfinite(x.sum())) and not bool(torch.isfinite(x).all()):
        bad = (~torch.isfinite(x)).nonzero()[0].tolist()
        raise InputError(
            f"expected finite pixels; pixel {bad} is {float(x[tuple(bad)])}. Remove or fill such images."
        )
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


def check_square(x: Tensor) -> None:
    """Refuse images that a quarter turn would change the shape of."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or x.shape[-1] == 0:
        raise InputError(
            f"expected square images [..., h, h] to rotate, got shape {tuple(x.shape)}. Pad or crop them "
            "to a square first."
        )


@lru_cache(maxsize=256)
def _turn(n: int, k: int, size: int, dtype: str) -> csr_array:
    """Element k of `SplineRotation(n)`, from coefficients to pixels."""
    taps, weights = spline_taps(size, 360 * k / n)
    ends = np.arange(0, taps.numel() + 1, len(taps))
    return csr_array(
        (weights.T.numpy().reshape(-1).astype(dtype), taps.T.numpy().reshape(-1), ends), shape=(size**2,) * 2
    )


@lru_cache(maxsize=16)
def _stacked_taps(
    n: int, size: int, device: torch.device, dtype: torch.dtype
) -> tuple[Int64[Tensor, "16 n pixels"], Tensor]:
    pairs = [spline_taps(size, 360 * k / n) for k in range(n)]
    taps = torch.stack([taps for taps, _ in pairs], dim=1)
    weights = torch.stack([weights for _, weights in pairs], dim=1)
    return taps.to(device), weights.to(device, dtype)


def _axis_taps(at: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Four neighbouring coefficients and their cubic B-spline weights, for each position on one axis."""
    floor = np.floor(at)
    t = at - floor
    weights = np.stack([(1 - t) ** 3, 4 - 6 * t**2 + 3 * t**3, 1 + 3 * t + 3 * t**2 - 3 * t**3, t**3]) / 6
    return _mirrored(floor.astype(np.int64) + np.arange(-1, 3)[:, None], size), weights


def _mirrored(index: np.ndarray, size: int) -> np.ndarray:
    """Indices outside `0 .. size - 1` reflected about the first and the last one."""
    period = max(2 * (size - 1), 1)
    folded = np.abs(index) % period
    return np.where(folded >= size, period - folded, folded)
