"""The same numbers on a GPU as on the processor: moments, orbits, flow, rates."""

from __future__ import annotations

import pytest
import torch

from symscope import groups
from symscope.linear import (
    extreme_rates,
    irrep_rates,
    orbit_regression,
    regression_flow,
    second_moments,
    streamed_moments,
    weight_split,
)
from symscope.linear.weight_parts import coupling
from tests.linear.problems import draw, turned
from tests.tolerances import FOURIER, LANCZOS

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.mark.parametrize("basis", ["permutation", "turned", "matrices"])
def test_a_problem_solved_on_both(basis):
    rep = groups.permutation(groups.symmetric(4)) + groups.trivial(groups.symmetric(4))
    rep = turned(rep, 1) if basis == "turned" else rep
    there = rep.matrices.mT.cuda() if basis == "matrices" else rep
    x, y, start = draw(0, 40, 5), draw(1, 40), draw(2, 5)
    here = orbit_regression(second_moments(x, y), rep)
    pieces = zip(x.split(7), y.split(7), strict=True)
    result = orbit_regression(streamed_moments(pieces, device="cuda"), there)
    scale = float(here.k.abs().max())
    assert result.k.is_cuda
    assert (result.k.cpu() - here.k).abs().max() < FOURIER * scale
    times = torch.tensor([0.0, 1e-4, 1e-3], dtype=torch.float64)
    path = regression_flow(result.k, result.c).weights(start.cuda(), times)
    expected = regression_flow(here.k, here.c).weights(start, times)
    assert (path.cpu() - expected).abs().max() < FOURIER * (1 + float(expected.abs().max()))
    parts = weight_split(path, there).asymmetric.cpu()
    assert (parts - weight_split(expected, rep).asymmetric).abs().max() < FOURIER * (
        1 + float(expected.abs().max())
    )
    assert coupling(result.k, there).decoupled
    rates, dense = extreme_rates(result, 2, seed=0), extreme_rates(here, 2, seed=0)
    assert (rates.slowest.cpu() - dense.slowest).abs().max() < LANCZOS * scale
    if basis != "matrices":
        for ours, theirs in zip(irrep_rates(result), irrep_rates(here), strict=True):
            assert (ours.rates.cpu() - theirs.rates).abs().max() < FOURIER * scale
