from __future__ import annotations

import mpmath
import numpy as np
import pytest
import torch

from symscope.kernels.infinite._fused._arccosine import arccosine_coefficients
from symscope.kernels.infinite._fused._chain_source import DEGREES


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_degrees_used_reach_rounding(dtype):
    c = np.concatenate([np.linspace(0, 1, 997, endpoint=False), 1 - np.logspace(-16, -1, 40)])
    t = 2 * c - 1
    value = np.zeros_like(t)
    for a in reversed(arccosine_coefficients(DEGREES[dtype])):
        value = value * t + a
    exact = np.array([float(mpmath.acos(mpmath.mpf(x)) / mpmath.sqrt(1 - mpmath.mpf(x))) for x in c])
    assert np.abs(value / exact - 1).max() < torch.finfo(dtype).eps * 3
