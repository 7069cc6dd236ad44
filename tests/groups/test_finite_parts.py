from __future__ import annotations

import pytest
import torch

from symscope.errors import InputError
from symscope.groups import finite_part, haar_quadrature, parse
from symscope.groups.compact import o, so, torus


@pytest.mark.parametrize("steps", [1, 2, 7, 16])
def test_equal_steps_keep_frequencies_apart_up_to_the_limit(steps):
    part = finite_part(so(2), [steps])
    angles = 2 * torch.pi * torch.arange(steps, dtype=torch.float64) / steps
    waves = torch.stack([torch.exp(1j * k * angles) for k in range(-part.band_limit, part.band_limit + 1)])
    assert torch.allclose(waves @ waves.mH / steps, torch.eye(len(waves), dtype=waves.dtype))
    beyond = part.band_limit + 1  # indistinguishable from a lower one
    assert torch.allclose(torch.exp(1j * beyond * angles), torch.exp(1j * (beyond - steps) * angles))
    assert beyond - steps >= -beyond


@pytest.mark.parametrize(("power", "agrees"), [(2, True), (4, True), (6, False)])
def test_averages_over_the_solid_agree_with_quadrature_up_to_its_degree(power, agrees):
    part = finite_part(so(3))
    rule = haar_quadrature(so(3), power)
    finite = (part.group.matrices[:, 0, 1] ** power).mean()
    assert torch.isclose(finite, rule.average(rule.elements[:, 0, 1] ** power), rtol=1e-12) == agrees


def test_the_others():
    assert finite_part(o(3)).group.name == "Ih"
    assert finite_part(o(2)).group.name == "D16"
    assert finite_part(torus(2), (8, 6)).group.name == "C8xC6"
    assert finite_part(torus(2), (8, 6)).band_limit == 2
    with pytest.raises(InputError, match="name a finite group"):
        finite_part(parse("SO(4)"))
    with pytest.raises(InputError, match="expected 2 numbers of steps for T2, got 1"):
        finite_part(torus(2), (8,))
