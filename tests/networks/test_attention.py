"""Attention over one tensor of queries, keys and values, against its definition."""

from __future__ import annotations

import math

import pytest
import torch

from symscope.networks._attention import attention
from tests.tolerances import ROUNDING

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def definition(qkv: torch.Tensor) -> torch.Tensor:
    q, k, v = qkv.unbind(-3)
    scores = torch.einsum("...ihd,...jhd->...hij", q, k) / math.sqrt(qkv.shape[-1])
    return torch.einsum("...hij,...jhd->...ihd", scores.softmax(-1), v)


def tokens(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_it_is_what_its_formula_says():
    qkv = tokens(2, 5, 3, 4, 8)
    torch.testing.assert_close(attention(qkv), definition(qkv), rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.cuda
@needs_cuda
@pytest.mark.parametrize(("count", "size"), [(49, 64), (64, 32), (7, 16)])
def test_the_short_kernel_is_right_to_the_rounding_of_bfloat16(count, size):
    exact = tokens(3, count, 3, 2, size).cuda().requires_grad_()
    short = exact.detach().bfloat16().requires_grad_()
    towards = tokens(3, count, 2, size).cuda()
    for qkv, out in ((exact, definition(exact)), (short, attention(short))):
        (out.double() * towards).sum().backward()
        assert qkv.grad is not None
    largest = exact.grad.abs().max()
    assert (attention(short).double() - definition(exact)).abs().max() < 2**-6
    assert (short.grad.double() - exact.grad).abs().max() < 2**-6 * largest


@pytest.mark.cuda
@needs_cuda
def test_copies_are_batched():
    qkv = tokens(2, 3, 9, 3, 2, 16).cuda().bfloat16()
    together = torch.func.vmap(attention)(qkv)
    torch.testing.assert_close(together, torch.stack([attention(one) for one in qkv]), rtol=0, atol=0)
