"""Blocks of inverses, both ways."""

from __future__ import annotations

import pytest
import torch

from symscope.spectral._irrep_parts import SingularBlockError, cholesky, inverse_blocks
from tests.spectral.problems import random_gram
from tests.tolerances import LEAVE_OUT


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("columns", [[[3]], [[0, 2, 5], [1, 6, 7], [3, 4]]])
def test_both_ways_give_the_blocks_of_the_inverse(complex, columns):
    gram = random_gram(8, 1).to(torch.complex128 if complex else torch.float64)
    if complex:
        turn = torch.polar(torch.ones(8).double(), torch.arange(8).double())
        gram = turn[:, None] * gram * turn.conj()
    expected = torch.linalg.inv(gram + 0.1 * torch.eye(8, dtype=torch.float64))
    result = inverse_blocks(cholesky(gram, 0.1, "a"), [torch.tensor(c) for c in columns])
    for block, c in zip(result, columns, strict=True):
        torch.testing.assert_close(block, expected[c][:, c], rtol=0, atol=LEAVE_OUT)


def test_a_singular_block_is_named():
    with pytest.raises(SingularBlockError, match="irrep 2b with ridge 0 is singular"):
        cholesky(torch.ones(3, 3, dtype=torch.float64), 0.0, "2b")
