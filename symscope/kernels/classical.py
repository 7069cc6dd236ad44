"""The classical kernels: linear, polynomial, RBF, arc-cosine, behind the same interface as networks.

Inputs of any shape are flattened: an image is the vector of its pixels. Every kernel computes in the dtype of
its inputs; `symscope.kernels.gram` makes that float64 unless another is asked for.
"""

from __future__ import annotations

import math
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.kernels._kernel import Kernel
from symscope.numerics import checked, explained

__all__ = [
    "arc_cosine_kernel",
    "linear_kernel",
    "median_length_scale",
    "polynomial_kernel",
    "rbf_kernel",
]


# Below this fraction of |x|^2 + |y|^2 the expanded square |x|^2 + |y|^2 - 2 x.y loses more than two digits.
_CLOSE = 1e-2
_SERIES_TERMS = 12  # of the arc-cosine forms near opposite inputs: the first one left out is below 1e-19


@explained
def linear_kernel() -> Kernel:
    """The linear kernel, the inner product of two inputs.

    `k(x, y) = x . y`

    Returns:
        The kernel.

    >>> x = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64)
    >>> linear_kernel().blocks(x[None], None)[0].tolist()
    [[5.0, 1.0], [1.0, 10.0]]
    """
    return Kernel("linear", inner_products, partial(_polynomial_diagonal, 1, 0.0), partial(_entry_bytes, 2))


@checked
def polynomial_kernel(degree: int, offset: float) -> Kernel:
    """The polynomial kernel.

    `k(x, y) = (x . y + offset)^degree`

    Args:
        degree: Whole power of at least 1.
        offset: Constant of at least 0; a negative one would not be positive semi-definite.

    Returns:
        The kernel.

    Raises:
        InputError: If degree or offset is out of range.

    >>> x = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64)
    >>> polynomial_kernel(2, 1.0).blocks(x[None], None)[0].tolist()
    [[36.0, 4.0], [4.0, 121.0]]
    """
    if isinstance(degree, bool) or int(degree) != degree or degree < 1:
        raise InputError(f"polynomial_kernel: expected a whole degree of at least 1, got {degree}.")
    if not (math.isfinite(offset) and offset >= 0):
        raise InputError(
            f"polynomial_kernel: expected a finite offset of at least 0, got {offset}; "
            "a negative offset is not positive semi-definite."
        )
    return Kernel(
        f"polynomial(degree={degree}, offset={offset:g})",
        partial(_polynomial, int(degree), float(offset)),
        partial(_polynomial_diagonal, int(degree), float(offset)),
        partial(_entry_bytes, 3),
    )


@checked
def rbf_kernel(length_scale: float) -> Kernel:
    """The radial basis function (Gaussian) kernel.

    `k(x, y) = exp(-|x - y|^2 / (2 length_scale^2))`

    A kernel written `exp(-gamma^2 r^2)` has `length_scale = 1 / (sqrt(2) gamma)`; one written `exp(-gamma
    r^2)` (scikit-learn) has `length_scale = 1 / sqrt(2 gamma)`. Distances of close points are taken from
    differences of coordinates, so that nothing cancels.

    Args:
        length_scale: Positive; `median_length_scale(x)` is a common choice.

    Returns:
        The kernel.

    Raises:
        InputError: If length_scale is not a positive number.

    >>> x = torch.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=torch.float64)
    >>> round(rbf_kernel(5.0).blocks(x[None], None)[0, 0, 1].item(), 12) == round(math.exp(-0.5), 12)
    True
    """
    if not (math.isfinite(length_scale) and length_scale > 0):
        raise InputError(f"rbf_kernel: expected a positive finite length_scale, got {length_scale}.")
    return Kernel(
        f"rbf(length_scale={length_scale:g})",
        partial(_rbf, float(length_scale)),
        _ones,
        partial(_entry_bytes, 5),
    )


@checked
def arc_cosine_kernel(order: int) -> Kernel:
    """The arc-cosine kernel: infinitely many units `max(0, z)^order` (Cho and Saul 2009, eq. 3-6).

    `k(x, y) = |x|^n |y|^n J_n(a) / pi`, with a the angle between x and y, `J_0 = pi - a`,
    `J_1 = sin a + (pi - a) cos a`, `J_2 = 3 sin a cos a + (pi - a)(1 + 2 cos^2 a)`. The angle is
    `2 atan2(|u - v|, |u + v|)` for unit vectors, exact to rounding near 0 and pi.

    Args:
        order: 0, 1 or 2. Order 1 is twice the covariance of a ReLU layer with unit normal weights.

    Returns:
        The kernel. Order 0 needs the direction of every input and raises `InputError` on a zero vector.

    Raises:
        InputError: If order is not 0, 1 or 2.

    >>> x = torch.tensor([[2.0, 0.0], [0.0, 3.0]], dtype=torch.float64)
    >>> round(arc_cosine_kernel(1).blocks(x[None], None)[0, 0, 1].item() * math.pi, 12)
    6.0
    """
    if order not in (0, 1, 2):
        raise InputError(f"arc_cosine_kernel: expected order 0, 1 or 2, got {order}.")
    return Kernel(
        f"arc_cosine(order={order})",
        partial(_arc_cosine, order),
        partial(_arc_cosine_diagonal, order),
        partial(_entry_bytes, 8),
    )


@checked
def median_length_scale(x: Float[Tensor, "n *s"]) -> float:
    """The median heuristic for `rbf_kernel`: the median distance between two different inputs.

    `median of |x_i - x_j| over i < j`

    Args:
        x: Inputs, at least two.

    Returns:
        The length scale.

    Raises:
        InputError: If there are fewer than two inputs, or more than half of the pairs coincide.

    >>> median_length_scale(torch.tensor([[0.0], [1.0], [3.0]], dtype=torch.float64))
    2.0
    """
    if x.shape[0] < 2:
        raise InputError(f"median_length_scale: expected at least 2 inputs, got {x.shape[0]}.")
    if not torch.isfinite(x).all():
        raise InputError("median_length_scale: expected finite inputs, got NaN or infinity.")
    distances = torch.pdist(x.flatten(1)).sort().values
    middle = (len(distances) - 1) // 2, len(distances) // 2  # torch's median is the lower of the two
    median = float(distances[middle[0]] + distances[middle[1]]) / 2
    if median == 0:
        raise InputError(
            "median_length_scale: more than half of the pairs of inputs coincide, so their median distance "
            "is 0; "
            "remove the duplicates or choose the length scale yourself."
        )
    return median


def inner_products(
    x1: Float[Tensor, "b n1 *s"], x2: Float[Tensor, "b n2 *s"] | None
) -> Float[Tensor, "b n1 n2"]:
    """Inner products of flattened inputs, `out[i] = x1[i] @ x2[i]^T`; exactly symmetric when x2 is None."""
    a = x1.flatten(2)
    if x2 is not None:
        return a @ x2.flatten(2).mT
    product = a @ a.mT
    return (product + product.mT) / 2


def squared_distances(
    x1: Float[Tensor, "b n1 *s"], x2: Float[Tensor, "b n2 *s"] | None
) -> Float[Tensor, "b n1 n2"]:
    """Squared Euclidean distances with a small relative error for close points too.

    Far pairs use `|a|^2 + |c|^2 - 2 a.c` on centred inputs (a matrix product); pairs in which that would
    cancel use the sum of squared differences.

    >>> x = torch.tensor([[[1e8], [1e8 + 1.0], [1e8 + 3.0]]], dtype=torch.float64)
    >>> squared_distances(x, None)[0].tolist()
    [[0.0, 1.0, 9.0], [1.0, 0.0, 4.0], [9.0, 4.0, 0.0]]
    """
    first = x1.flatten(2)
    second = first if x2 is None else x2.flatten(2)
    centre = first.mean(1, keepdim=True).detach()
    a, c = first - centre, second - centre
    sizes = a.square().sum(-1)[:, :, None] + c.square().sum(-1)[:, None, :]
    squares = sizes - 2 * (a @ c.mT)
    if x2 is None:
        squares = (squares + squares.mT) / 2
    close = squares <= _CLOSE * sizes
    # past this share of close pairs, gathering them costs more than taking all differences at once
    if close.count_nonzero() > close.numel() / 16:
        return torch.cdist(first, second, compute_mode="donot_use_mm_for_euclid_dist").square()
    batch, i, j = close.nonzero(as_tuple=True)
    # the gathered rows take no more memory than the result
    step = max(1, squares.numel() // max(1, first.shape[-1]))
    exact = [
        (first[b, p] - second[b, q]).square().sum(-1)
        for b, p, q in zip(batch.split(step), i.split(step), j.split(step), strict=True)
    ]
    return squares.index_put((batch, i, j), torch.cat(exact)) if exact else squares


def _polynomial(degree: int, offset: float, x1: Tensor, x2: Tensor | None) -> Tensor:
    return (inner_products(x1, x2) + offset) ** degree


def _polynomial_diagonal(degree: int, offset: float, x: Tensor) -> Tensor:
    return (x.flatten(1).square().sum(-1) + offset) ** degree


def _rbf(length_scale: float, x1: Tensor, x2: Tensor | None) -> Tensor:
    return torch.exp(squared_distances(x1, x2) / (-2 * length_scale**2))


def _ones(x: Tensor) -> Tensor:
    return x.new_ones(x.shape[0])


def _norms(order: int, x: Tensor) -> Tensor:
    """Norms over the last axis; order 0 forbids zero ones, whose direction it would need."""
    norms = torch.linalg.vector_norm(x, dim=-1)
    if order == 0 and (norms == 0).any():
        raise InputError(
            "arc_cosine_kernel(order=0): an input is the zero vector, which has no direction; "
            "remove it, append a constant feature, or use order 1 or 2."
        )
    return norms


def _arc_cosine(order: int, x1: Tensor, x2: Tensor | None) -> Tensor:
    first = x1.flatten(2)
    second = first if x2 is None else x2.flatten(2)
    norms1, norms2 = _norms(order, first), _norms(order, second)
    u = first / torch.where(norms1 > 0, norms1, 1)[..., None]
    v = second / torch.where(norms2 > 0, norms2, 1)[..., None]
    other = None if x2 is None else v
    minus = squared_distances(u, other).clamp(min=0).sqrt()
    plus = squared_distances(u, -v).clamp(min=0).sqrt()
    if x2 is None:
        plus = (plus + plus.mT) / 2
    supplement = 2 * torch.atan2(plus, minus)  # pi - angle, accurate where J_1 and J_2 vanish
    return (norms1[:, :, None] * norms2[:, None, :]) ** order * _angular(order, supplement) / math.pi


def _arc_cosine_diagonal(order: int, x: Tensor) -> Tensor:
    return _norms(order, x.flatten(1)) ** (2 * order) * (1, 1, 3)[order]


def _angular(order: int, d: Tensor) -> Tensor:
    """`J_n(pi - d)`: directly where nothing cancels, by its power series for small d."""
    if order == 0:
        return d
    if order == 1:
        direct, argument, first = torch.sin(d) - d * torch.cos(d), d, 1
    else:
        direct, argument, first = d * (2 + torch.cos(2 * d)) - 1.5 * torch.sin(2 * d), 2 * d, 2
    square = argument.clamp(max=2.0).square()
    series = torch.zeros_like(d)
    for k in range(first + _SERIES_TERMS - 1, first - 1, -1):
        top = 2 * k if order == 1 else k - 1
        sign = (-1) ** (k + 1) if order == 1 else (-1) ** k
        series = series * square + sign * top / math.factorial(2 * k + 1)
    return torch.where(d < 1, series * argument.clamp(max=2.0) ** (2 * first + 1), direct)


def _entry_bytes(copies: int, shape: tuple[int, ...], dtype: torch.dtype) -> float:
    return float(copies * dtype.itemsize)
