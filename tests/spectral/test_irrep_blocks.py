"""One of every conjugate pair of irreps; Fourier blocks against transforms and eigenvalues of the whole."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.groups import cyclic, irreps
from symscope.groups.fourier import fourier
from symscope.spectral import profile_gram
from symscope.spectral.irrep_blocks import fourier_blocks, frequencies, quotient
from tests.groups.strategies import frobenius
from tests.spectral.orbit_problems import GROUPS, random_profile
from tests.tolerances import FOURIER


@pytest.mark.parametrize("make", [*GROUPS.values(), frobenius])
def test_the_frequencies_stand_for_all_irreps(make):
    group = make()
    result = frequencies(group)
    assert result[0].index == 0
    assert float((result[0].matrices - 1).abs().max()) < FOURIER
    assert sum(f.copies for f in result) == len(irreps(group))
    assert sum(f.weight for f in result) == pytest.approx(1, abs=1e-12)
    for one in result:
        characters = torch.einsum("gii->g", one.matrices.to(torch.complex128))
        is_real = float(characters.imag.abs().max()) < 1e-9
        assert (one.copies == 1) == is_real


def test_a_cyclic_group_needs_half():
    assert len(frequencies(cyclic(64))) == 33
    assert len(frequencies(cyclic(7))) == 4
    assert len(frequencies(GROUPS["C3xC4"]())) == 7


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
    result = [
        torch.linalg.eigvalsh(block).repeat(frequency.dim * frequency.copies)
        for frequency, block in fourier_blocks(profile, group)
    ]
    whole = torch.linalg.eigvalsh(profile_gram(profile, group))
    torch.testing.assert_close(torch.cat(result).sort().values, whole, rtol=0, atol=1e-9)


def test_bad_stabilisers_are_refused():
    with pytest.raises(InputError, match="not closed"):
        quotient(cyclic(4), [torch.tensor([0, 1])], 1)
    with pytest.raises(InputError, match="one for each of 2 samples, got 1"):
        quotient(cyclic(4), [torch.tensor([0])], 2)
