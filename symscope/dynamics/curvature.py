"""Second derivatives of risks: products with vectors, and the whole matrix for small networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from symscope.dynamics._declared_network import LayerWeights, check_layer_weights
from symscope.dynamics.gradients import pieces
from symscope.dynamics.layer_vectors import add, flatten, unflatten
from symscope.dynamics.risks import TrainingProblem, nominal_risk
from symscope.errors import InputError
from symscope.numerics import checked

__all__ = [
    "hessian",
    "hessian_product",
]

LARGEST_DENSE = 4000  # parameters: the Hessian then takes 128 MB


@checked
def hessian_product(
    problem: TrainingProblem, weights: Sequence[Tensor]
) -> Callable[[LayerWeights], LayerWeights]:
    """`B -> Hess R(A) B` at fixed layers, by differentiating twice; no matrix is built.

    For the augmented risk give `augmented_problem(problem)`. A problem that fits in memory is
    differentiated once and its graph used again for each product.

    Args:
        problem: Network, loss and data.
        weights: A, without an axis of runs.

    Raises:
        InputError: An axis of runs.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import TrainingProblem, declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> problem = TrainingProblem(net, half_squared_loss, torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0]]))
    >>> hessian_product(problem, [torch.zeros(1, 2)])((torch.tensor([[1.0, 0.0]]),))
    (tensor([[1., 2.]]),)
    """
    check_layer_weights(problem.network, weights)
    if weights[0].ndim != 2:
        raise InputError("expected layers without an axis of runs: curvature is of one network.")
    split = list(pieces(problem, weights))
    if len(split) == 1:
        return _product(problem, weights)

    def total(direction: LayerWeights) -> LayerWeights:
        out: LayerWeights = tuple(torch.zeros_like(d) for d in direction)
        for piece, share in split:
            out = add(out, _product(piece, weights)(direction), share)
        return out

    return total


@checked
def hessian(problem: TrainingProblem, weights: Sequence[Tensor]) -> Tensor:
    """The matrix Hess R(A), `[parameters, parameters]`, for small networks; arguments as above.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import TrainingProblem, declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> problem = TrainingProblem(net, half_squared_loss, torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0]]))
    >>> hessian(problem, [torch.zeros(1, 2)]).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """
    network = problem.network
    if network.parameters > LARGEST_DENSE:
        raise InputError(
            f"expected at most {LARGEST_DENSE} parameters for a dense Hessian, got {network.parameters}: use "
            "hessian_product or stability, which build no matrix."
        )
    product = hessian_product(problem, weights)
    eye = torch.eye(network.parameters, dtype=weights[0].dtype, device=weights[0].device)
    return torch.stack([flatten(product(unflatten(network, e))) for e in eye], dim=1)


def _product(problem: TrainingProblem, weights: Sequence[Tensor]) -> Callable[[LayerWeights], LayerWeights]:
    leaves = tuple(weight.detach().requires_grad_() for weight in weights)
    risk = nominal_risk(problem, leaves)
    gradient = torch.autograd.grad(risk, leaves, create_graph=True, materialize_grads=True)
    return partial(_differentiate, gradient, leaves)


# one more backward pass for each product (Pearlmutter, Neural Computation 6, 1994)
def _differentiate(gradient: LayerWeights, leaves: LayerWeights, direction: LayerWeights) -> LayerWeights:
    # a gradient that does not depend on the layers (a linear risk) has no graph
    curved = [(g, d) for g, d in zip(gradient, direction, strict=True) if g.requires_grad]
    if not curved:
        return tuple(torch.zeros_like(leaf) for leaf in leaves)
    outputs, vectors = zip(*curved, strict=True)
    return torch.autograd.grad(outputs, leaves, vectors, retain_graph=True, materialize_grads=True)
