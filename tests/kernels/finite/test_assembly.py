from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.kernels.finite._assembly import assembled_matrix, evaluations, inner_of_rows
from tests.kernels.networks import inputs
from tests.tolerances import ROUNDING

sizes = {
    "batch": st.integers(1, 3),
    "n1": st.integers(1, 7),
    "n2": st.none() | st.integers(1, 7),
    "at_once": st.integers(2, 30),
}


@given(**sizes, whole=st.booleans())
def test_any_number_at_once_gives_the_same_and_evaluations_are_counted(batch, n1, n2, at_once, whole):
    """Rows are [n, c = 2, p = 3] tensors themselves, so the whole is a plain sum."""
    x1 = inputs(batch * n1, (2, 3)).unflatten(0, (batch, n1))
    x2 = None if n2 is None else inputs(batch * n2, (2, 3), seed=1).unflatten(0, (batch, n2))
    asked = []

    def kept(x: torch.Tensor) -> dict[str, torch.Tensor]:
        asked.append(x.shape[0] * x.shape[1])
        return {"first": x[..., :1].contiguous(), "others": x[..., 1:].contiguous()}

    pairs = (2, 2) if whole else ()
    result = assembled_matrix(kept, lambda a, b: inner_of_rows(a, b, whole), x1, x2, at_once, pairs, x1)
    y = x1 if x2 is None else x2
    expected = torch.einsum("siap,sjbp->sijab" if whole else "siap,sjap->sij", x1, y)
    assert torch.allclose(result, expected, rtol=ROUNDING, atol=ROUNDING)
    if x2 is None:
        mirror = result.transpose(1, 2)
        assert torch.equal(result, mirror.transpose(3, 4) if whole else mirror)
    assert max(asked) <= max(at_once, 2)
    assert sum(asked) == evaluations(batch, n1, n2, at_once)
