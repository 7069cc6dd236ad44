"""The matrix of second derivatives of any risk of a small network."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from symscope.dynamics import DeclaredNetwork
from symscope.dynamics.layer_vectors import LayerWeights, unflatten


def hessian_of(risk: Callable[[LayerWeights], Tensor], network: DeclaredNetwork, at: Tensor) -> Tensor:
    """The dense Hessian of a risk at flattened layers, by torch's own double differentiation."""
    result = torch.autograd.functional.hessian(lambda v: risk(unflatten(network, v)), at)
    return torch.as_tensor(result)
