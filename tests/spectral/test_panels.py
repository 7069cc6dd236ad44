"""Panels against the library's own inverse."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from symscope import InputError
from symscope.spectral._irrep_parts import SingularBlockError
from symscope.spectral.panels import (
    Panels,
    columns_of,
    empty_panels,
    flop_counts,
    inverse_block,
    invert_factor,
    panel_bytes,
    solve,
)
from tests.tolerances import LEAVE_OUT


def hermitian(n: int, seed: int, *, complex: bool) -> torch.Tensor:
    dtype = torch.complex128 if complex else torch.float64
    a = torch.randn(n, n + 4, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    return a @ a.mH / n + 0.05 * torch.eye(n, dtype=torch.float64)


def as_panels(matrix: torch.Tensor, width: int) -> Panels:
    panels = empty_panels(len(matrix), width, complex=matrix.is_complex(), device="cpu")
    for k in range(len(panels.real)):
        here = matrix[k * width :, k * width : (k + 1) * width]
        panels.real[k].copy_(here.real)
        if matrix.is_complex():
            panels.imaginary[k].copy_(here.imag)
    return panels


@given(st.integers(1, 23), st.integers(1, 25), st.booleans(), st.integers(0, 99), st.sampled_from([0.0, 0.4]))
def test_blocks_of_the_inverse_are_those_of_the_library(n, width, complex, seed, ridge):
    matrix = hermitian(n, seed, complex=complex)
    expected = torch.linalg.inv(matrix + ridge * torch.eye(n, dtype=torch.float64))
    panels = as_panels(matrix, width)
    invert_factor(panels, ridge)
    generator = torch.Generator().manual_seed(seed)
    columns = torch.randperm(n, generator=generator)[: 1 + seed % n].sort().values
    real, imaginary = inverse_block(panels, columns, real_only=False)
    wanted = expected[columns][:, columns]
    torch.testing.assert_close(real, wanted.real if complex else wanted, rtol=0, atol=LEAVE_OUT)
    if complex:
        torch.testing.assert_close(imaginary, wanted.imag, rtol=0, atol=LEAVE_OUT)
        again, none = inverse_block(panels, columns, real_only=True)
        torch.testing.assert_close(again, real, rtol=0, atol=0)
        assert none is None
    else:
        assert imaginary is None
    right = torch.randn(n, 3, generator=generator, dtype=matrix.dtype)
    torch.testing.assert_close(solve(panels, right), expected @ right, rtol=0, atol=LEAVE_OUT)


def test_the_inverse_factor_is_lower_triangular():
    matrix = hermitian(9, 1, complex=True)
    panels = as_panels(matrix, 4)
    invert_factor(panels, 0.0)
    real, imaginary = columns_of(panels, torch.arange(9))
    factor = torch.linalg.inv(torch.linalg.cholesky(matrix))
    torch.testing.assert_close(torch.complex(real, imaginary), factor, rtol=0, atol=LEAVE_OUT)


def test_bytes_are_those_of_the_tensors():
    for complex in (False, True):
        panels = empty_panels(11, 4, complex=complex, device="cpu")
        held = sum(panel.numel() * 8 for panel in (*panels.real, *panels.imaginary))
        assert panel_bytes(11, 4, complex=complex) == held


class Multiplications(TorchDispatchMode):
    """Counts the operations of matrix products, in place or not."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm_):
            left, right = args[-2:]
            self.count += 2 * left.shape[0] * left.shape[1] * right.shape[1]
        return func(*args, **(kwargs or {}))


def test_operations_are_those_counted():
    n, width = 240, 8
    panels = as_panels(hermitian(n, 0, complex=True), width)
    with Multiplications() as counter:
        invert_factor(panels, 0.0)
    counts = flop_counts(n, [], complex=True)
    # diagonal blocks are computed whole: a share of some widths / n more
    assert counter.count == pytest.approx(counts["factor"] + counts["inverse"], rel=6 * width / n)


def test_bad_matrices_are_refused():
    with pytest.raises(SingularBlockError, match=r"rows 2 \.\. 3"):
        invert_factor(
            as_panels(torch.ones(4, 4, dtype=torch.float64) + torch.diag(torch.tensor([1.0, 1, 0, 0])), 2),
            0.0,
        )
    with pytest.raises(InputError, match="size and a width"):
        empty_panels(0, 2, complex=False, device="cpu")
    panels = as_panels(hermitian(3, 0, complex=True), 2)
    with pytest.raises(InputError, match="expected a complex right-hand side"):
        solve(panels, torch.ones(3, 1, dtype=torch.float64))
