"""Fourier blocks against the group's own transform and the whole matrix's eigenvalues."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.groups import cyclic
from symscope.groups.fourier import fourier
from symscope.spectral import fourier_blocks, profile_gram, quotient
from tests.spectral.orbit_problems import GROUPS, random_profile
from tests.tolerances import FOURIER


@given(st.sampled_from(sorted(GROUPS)), st.integers(1, 3), st.integers(0, 99))
def test_blocks_are_the_groups_transform(name, m, seed):
    group = GROUPS[name]()
    profile = random_profile(group, m, seed)
    theirs = fourier(profile, group)
    for memory in ("2GB", 10):
        for frequency, block in fourier_blocks(profile, group, memory=memory):
            whole = theirs[frequency.index].permute(0, 2, 1, 3).reshape(block.shape)
            torch.testing.assert_close(block.to(whole.dtype), whole, rtol=0, atol=FOURIER)
            assert block.is_complex() != frequency.is_real


@given(st.sampled_from(sorted(GROUPS)), st.integers(1, 3), st.integers(0, 99))
def test_blocks_hold_the_eigenvalues_of_the_whole_matrix(name, m, seed):
    group = GROUPS[name]()
    profile = random_profile(group, m, seed)
    found = [
        torch.linalg.eigvalsh(block).repeat(frequency.dim * frequency.copies)
        for frequency, block in fourier_blocks(profile, group)
    ]
    whole = torch.linalg.eigvalsh(profile_gram(profile, group))
    torch.testing.assert_close(torch.cat(found).sort().values, whole, rtol=0, atol=1e-9)


def test_bad_stabilisers_are_refused():
    with pytest.raises(InputError, match="not closed"):
        quotient(cyclic(4), [torch.tensor([0, 1])], 1)
    with pytest.raises(InputError, match="one for each of 2 seeds, got 1"):
        quotient(cyclic(4), [torch.tensor([0])], 2)
