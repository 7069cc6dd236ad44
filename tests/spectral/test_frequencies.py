"""One of every conjugate pair of irreps."""

from __future__ import annotations

import pytest
import torch

from symscope.groups import cyclic, irreps
from symscope.spectral import frequencies
from tests.groups.strategies import frobenius
from tests.spectral.orbit_problems import GROUPS
from tests.tolerances import FOURIER


@pytest.mark.parametrize("make", [*GROUPS.values(), frobenius])
def test_the_frequencies_stand_for_all_irreps(make):
    group = make()
    found = frequencies(group)
    assert found[0].index == 0
    assert float((found[0].matrices - 1).abs().max()) < FOURIER
    assert sum(f.copies for f in found) == len(irreps(group))
    assert sum(f.weight for f in found) == pytest.approx(1, abs=1e-12)
    for one in found:
        characters = torch.einsum("gii->g", one.matrices.to(torch.complex128))
        is_real = float(characters.imag.abs().max()) < 1e-9
        assert (one.copies == 1) == is_real


def test_a_cyclic_group_needs_half():
    assert len(frequencies(cyclic(64))) == 33
    assert len(frequencies(cyclic(7))) == 4
    assert len(frequencies(GROUPS["C3xC4"]())) == 7
