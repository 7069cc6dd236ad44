from __future__ import annotations

import pytest
import torch
from hypothesis import given

from symscope.errors import InputError
from symscope.groups import irreps, isotypic_projector, multiplicities, permutation, symmetric
from symscope.groups.constructions import regular
from symscope.groups.isotypic import isotypic_part
from tests.groups.strategies import normal, simple_groups
from tests.tolerances import FOURIER


@given(simple_groups)
def test_projectors_split_the_identity(group):
    rep = regular(group) if group.order < 25 else permutation(group)
    parts = [isotypic_projector(rep, i) for i in range(len(irreps(group)))]
    eye = torch.eye(rep.dim, dtype=torch.complex128)
    assert torch.allclose(sum(parts), eye, atol=FOURIER)
    for i, p in enumerate(parts):
        assert torch.allclose(p, p.mH, atol=FOURIER)
        for j, q in enumerate(parts):
            assert torch.allclose(p @ q, p if i == j else torch.zeros_like(p), atol=FOURIER)
        rank = multiplicities(rep)[i] * irreps(group)[i].dim
        assert abs(float(torch.trace(p).real) - rank) < FOURIER * rep.dim
        for g in group.generators:
            assert torch.allclose(rep(g).to(p.dtype) @ p, p @ rep(g).to(p.dtype), atol=FOURIER)


def test_lazy_part_equals_the_projector():
    rep = permutation(symmetric(4)) * irreps(symmetric(4))[2]
    x = normal(3, rep.dim, seed=0)
    for i in range(5):
        p = isotypic_projector(rep, i)
        assert torch.allclose(isotypic_part(rep, i, x), x.to(p.dtype) @ p.T, atol=FOURIER)


def test_bad_input():
    with pytest.raises(InputError, match="irrep of S3 from 0 to 2, got 3"):
        isotypic_projector(permutation(symmetric(3)), 3)
    with pytest.raises(InputError, match="listed finite group, got S9"):
        isotypic_part(permutation(symmetric(9)), 0, torch.ones(9))
