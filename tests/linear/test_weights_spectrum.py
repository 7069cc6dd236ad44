"""The spectrum of the weights kernel: against dense float64, a count that must hold, and descent itself."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from symscope import InputError
from symscope.data.synthetic import permuted_cube
from symscope.kernels import weights_kernel
from symscope.linear.weights_spectrum import ewk_spectrum, slow_eigenvalue
from symscope.networks.architectures import mlp

PAPER = {"learning_rate": 1e-2, "steps": 1000, "remaining": 0.1}


@given(st.floats(1e-4, 0.5), st.integers(1, 2000), st.floats(0.01, 0.99))
def test_the_slow_eigenvalue_is_the_one_descent_leaves_the_share_of(rate, steps, remaining):
    value = slow_eigenvalue(rate, steps, remaining)
    assert (1 - rate * value) ** steps == pytest.approx(remaining, rel=1e-6)


def test_spectrum_against_dense_and_every_relu_unit_has_a_zero():
    """Scaling a unit's inputs up and its output down changes nothing: one null direction per unit."""
    x, net = permuted_cube(300, 2).features, mlp((3, 12, 1), seed=3)
    result = ewk_spectrum(net, x, **PAPER)
    dense = torch.linalg.eigvalsh(weights_kernel(net, x)).flip(0)
    assert len(result.values) == 61
    kept = result.values > 0
    assert torch.allclose(result.values[kept], dense[kept])
    assert result.zeros >= 12
    assert result.zero_share == result.zeros / 61
    below = float((dense < 0.2).double().mean())
    assert result.share_below(0.2, of_nonzero=False) == pytest.approx(below)
    assert result.share_below(0.2, of_nonzero=True) < below
    assert result.decades == pytest.approx(float((dense[0] / result.values[kept][-1]).log10()))


def test_more_weights_than_points_leaves_zeros():
    x, net = permuted_cube(4, 0).features, nn.Linear(3, 2, bias=False).double()
    assert ewk_spectrum(net, x[:2], **PAPER).zeros == 2


def test_bad_input():
    x, net = permuted_cube(4, 0).features, nn.Linear(3, 1)
    with pytest.raises(InputError, match="learning_rate: expected a positive"):
        slow_eigenvalue(0.0, 10, 0.1)
    with pytest.raises(InputError, match="at least 1 step and a remaining share"):
        slow_eigenvalue(0.1, 10, 1.0)
    with pytest.raises(InputError, match="rank_tolerance: expected a fraction"):
        ewk_spectrum(net, x, **PAPER, rank_tolerance=-1.0)
