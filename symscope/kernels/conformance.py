"""The laws every kernel keeps, as one assertion for those who write and test a kernel of their own."""

from __future__ import annotations

import pickle

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.kernels._gram._gram import batched_gram, gram
from symscope.kernels._kernel import Kernel
from symscope.numerics import checked

__all__ = ["assert_kernel_laws"]


@checked
def assert_kernel_laws(
    kernel: Kernel,
    x: Float[Tensor, "n *s"],
    *,
    tolerance: float = 1e-10,
    diagonal_tolerance: float = 1e-7,
    dtype: torch.dtype = torch.float64,
) -> None:
    """Raise unless the kernel keeps the laws that the rest of symscope relies on, at these points.

    Symmetry `k(x, y) = k(y, x)`; no eigenvalue of the Gram below `-n tolerance max|K|`; `diagonal` is the
    Gram's; x against None is x against x; a cross Gram is a block of the joint one; a batch is a loop; tiles
    of any size give one result; shape, dtype and finite values; it can be pickled for other processes.

    Args:
        kernel: The kernel.
        x: Points, at least four, all different, with no symmetry that could hide a fault.
        tolerance: Largest error relative to the largest entry.
        diagonal_tolerance: Largest relative error between `diagonal` and the Gram: an angle near zero keeps
            half of the digits of its cosine, so arc-cosine kernels agree there to the root of rounding only.
        dtype: The dtype it is computed in.

    Raises:
        AssertionError: Names the kernel, the law and the error.

    >>> from symscope.kernels.classical import rbf_kernel
    >>> assert_kernel_laws(rbf_kernel(1.5), torch.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0], [-1.0, 1.5]]))
    """
    assert len(x) >= 4, f"expected at least four points, got {len(x)}"
    x = x.to(dtype)
    half = len(x) // 2 + 1  # unequal parts: a transposed block would pass unnoticed between equal ones
    a, b = x[:half], x[half:]
    with torch.no_grad():
        full = kernel.blocks(x[None], x[None])
        _check_values(kernel, full, (1, len(x), len(x)), dtype)
        K = full[0]
        _check_close(kernel, "symmetry, k(x, y) = k(y, x)", K, K.mT, tolerance)
        _check_close(
            kernel, "blocks(x, None) = blocks(x, x)", kernel.blocks(x[None], None)[0], K, tolerance, half=True
        )
        diagonal = kernel.diagonal(x)
        _check_values(kernel, diagonal, (len(x),), dtype)
        _check_close(
            kernel, "diagonal = the diagonal of the Gram", diagonal, K.diagonal(), diagonal_tolerance
        )
        cross = kernel.blocks(a[None], b[None])[0]
        _check_close(kernel, "a cross Gram = a block of the joint Gram", cross, K[:half, half:], tolerance)
        joint = gram(kernel, x, dtype=dtype)
        _check_positive(kernel, joint, tolerance)
        for tile in (1, half):
            other = gram(kernel, x, tile=tile, dtype=dtype)
            _check_close(kernel, f"tiles of {tile} = one tile", other, joint, tolerance)
        _check_batches(kernel, x, tolerance, dtype)
        copy = _pickled(kernel)
        _check_close(
            kernel, "a pickled copy gives the same numbers", gram(copy, a, b, dtype=dtype), cross, tolerance
        )
        assert kernel.entry_bytes(tuple(x.shape[1:]), dtype) > 0, (
            f"{kernel.name}: entry_bytes must be positive"
        )


def _check_values(kernel: Kernel, values: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    assert tuple(values.shape) == shape, f"{kernel.name}: expected shape {shape}, got {tuple(values.shape)}"
    assert values.dtype == dtype, f"{kernel.name}: expected {dtype}, got {values.dtype}"
    assert torch.isfinite(values).all(), f"{kernel.name}: some values are NaN or infinite"


def _check_close(
    kernel: Kernel, law: str, got: Tensor, expected: Tensor, tolerance: float, half: bool = False
) -> None:
    assert got.shape == expected.shape, (
        f"{kernel.name} breaks '{law}': shapes {tuple(got.shape)}, {tuple(expected.shape)}"
    )
    if half:  # the engine reads the lower half alone
        got, expected = got.tril(-1), expected.tril(-1)
    error = float((got - expected).abs().max() / expected.abs().max().clamp_min(torch.finfo(got.dtype).tiny))
    assert error <= tolerance, f"{kernel.name} breaks '{law}': relative error {error:.1e} > {tolerance:.0e}"


def _check_positive(kernel: Kernel, K: Tensor, tolerance: float) -> None:
    values = torch.linalg.eigvalsh(K)
    bound = -tolerance * float(K.abs().max()) * len(K)
    assert values[0] >= bound, (
        f"{kernel.name} is not positive semi-definite: eigenvalue {float(values[0]):.2e} < {bound:.1e}"
    )


def _check_batches(kernel: Kernel, x: Tensor, tolerance: float, dtype: torch.dtype) -> None:
    first = torch.stack((x, x.flip(0), x.roll(1, 0)))
    second = torch.stack((x.roll(2, 0), x, x.flip(0)))[:, 1:]
    loop = torch.stack([gram(kernel, p, q, dtype=dtype) for p, q in zip(first, second, strict=True)])
    _check_close(
        kernel, "a batch = a loop", batched_gram(kernel, first, second, dtype=dtype), loop, tolerance
    )
    own = torch.stack([gram(kernel, p, dtype=dtype) for p in first])
    _check_close(kernel, "a batch = a loop", batched_gram(kernel, first, dtype=dtype), own, tolerance)


def _pickled(kernel: Kernel) -> Kernel:
    try:
        return pickle.loads(pickle.dumps(kernel))  # noqa: S301  made one line above
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"{kernel.name} cannot be pickled for other processes: {error}") from error
