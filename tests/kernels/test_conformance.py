"""The laws pass on true kernels and each is seen when it alone is broken."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from symscope.kernels._kernel import Kernel
from symscope.kernels.conformance import assert_kernel_laws
from tests.kernels.toy import entry_bytes, points, polynomial, polynomial_blocks, polynomial_diagonal

X = points(7, 2, 3)


def arc_blocks(x1: Tensor, x2: Tensor | None) -> Tensor:
    """First-order arc-cosine kernel, by the textbook formula with its loss of digits near c = 1."""
    a, b = x1.flatten(2), (x1 if x2 is None else x2).flatten(2)
    norms = a.norm(dim=2)[:, :, None] * b.norm(dim=2)[:, None]
    c = (a @ b.mT / norms).clamp(-1, 1)
    return norms * ((1 - c**2).sqrt() + (math.pi - c.arccos()) * c) / math.pi


def arc_diagonal(x: Tensor) -> Tensor:
    return x.flatten(1).square().sum(1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_true_kernels_pass(dtype):
    tolerance = 1e-10 if dtype == torch.float64 else 1e-5
    for kernel in (polynomial, Kernel("arc-cosine", arc_blocks, arc_diagonal, entry_bytes)):
        assert_kernel_laws(kernel, X, tolerance=tolerance, diagonal_tolerance=tolerance**0.5, dtype=dtype)


def crooked(x1: Tensor, x2: Tensor | None) -> Tensor:
    other = x1 if x2 is None else x2
    return polynomial_blocks(x1, x2) + 0.01 * x1.flatten(2)[..., :1] + 0 * other.sum()


def negative(x1: Tensor, x2: Tensor | None) -> Tensor:
    return -polynomial_blocks(x1, x2)


def negative_diagonal(x: Tensor) -> Tensor:
    return -polynomial_diagonal(x)


def double_diagonal(x: Tensor) -> Tensor:
    return 2 * polynomial_diagonal(x)


def half_wrong(x1: Tensor, x2: Tensor | None) -> Tensor:
    return polynomial_blocks(x1, x2) * (1.01 if x2 is None else 1)


def depends_on_others(x1: Tensor, x2: Tensor | None) -> Tensor:
    """Centred over the block: what a kernel must not do."""
    block = polynomial_blocks(x1, x2)
    return block - 0.5 * block.mean((1, 2), keepdim=True)


def first_of_batch(x1: Tensor, x2: Tensor | None) -> Tensor:
    return polynomial_blocks(x1[:1], None if x2 is None else x2[:1]).expand(len(x1), -1, -1)


def no_numbers(x1: Tensor, x2: Tensor | None) -> Tensor:
    return polynomial_blocks(x1, x2) / 0 * 0


def always_float64(x1: Tensor, x2: Tensor | None) -> Tensor:
    return polynomial_blocks(x1, x2).double()


def by_count(x1: Tensor, x2: Tensor | None) -> Tensor:
    """Wrong in blocks of one row alone, as from a squeezed axis."""
    return polynomial_blocks(x1, x2) * (1.5 if x1.shape[1] == 1 else 1)


def nothing(features: tuple[int, ...], dtype: torch.dtype) -> float:
    return 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"blocks": crooked}, r"breaks 'symmetry"),
        ({"blocks": negative, "diagonal": negative_diagonal}, "is not positive semi-definite"),
        ({"diagonal": double_diagonal}, "breaks 'diagonal = the diagonal of the Gram'"),
        ({"blocks": half_wrong}, r"breaks 'blocks\(x, None\) = blocks\(x, x\)'"),
        ({"blocks": depends_on_others}, "breaks 'diagonal|breaks 'a cross Gram"),
        ({"blocks": first_of_batch}, "breaks 'a batch = a loop'"),
        ({"blocks": no_numbers}, "NaN or infinite"),
        ({"blocks": by_count}, "breaks 'tiles of 1 = one tile'"),
        ({"blocks": lambda a, b: polynomial_blocks(a, b)}, "cannot be pickled"),
        ({"entry_bytes": nothing}, "entry_bytes must be positive"),
    ],
)
def test_each_broken_law_is_seen(change, message):
    with pytest.raises(AssertionError, match=message):
        assert_kernel_laws(replace(polynomial, **change), X)


def test_a_kernel_that_ignores_the_dtype_is_seen():
    with pytest.raises(AssertionError, match=r"expected torch.float32, got torch.float64"):
        assert_kernel_laws(replace(polynomial, blocks=always_float64), X, tolerance=1e-5, dtype=torch.float32)


def test_a_diagonal_that_a_cross_block_does_not_share_is_seen():
    with pytest.raises(AssertionError, match="breaks 'a cross Gram = a block of the joint Gram'"):
        assert_kernel_laws(replace(polynomial, blocks=depends_on_others), X, diagonal_tolerance=10.0)


def test_too_few_points():
    with pytest.raises(AssertionError, match="at least four points"):
        assert_kernel_laws(polynomial, X[:3])
