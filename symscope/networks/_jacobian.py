"""Products with a network's Jacobian: rows of it, its transpose times a vector, itself times a vector.

`J` has a row for every input and output, a column for every trainable weight. Each function first tries the
vectorised transforms of `torch.func` and falls back on plain automatic differentiation for modules those
cannot trace (data-dependent control flow, custom autograd functions).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.networks._functional import FiniteNetwork, Weights, evaluation, outputs

T = TypeVar("T")


def jacobian_rows(
    network: FiniteNetwork, x: Shaped[Tensor, "n *s"], cotangents: Float[Tensor, "c o"]
) -> Weights:
    """Gradients of chosen combinations of outputs, input by input.

    `rows[name][i, a] = d (cotangents[a] . f(x_i)) / d weights[name]`

    Args:
        network: The network.
        x: Inputs.
        cotangents: The combinations; the identity gives the whole Jacobian.

    Returns:
        For every trainable parameter a tensor [n, c, *its shape].
    """
    weights = network.weights(cotangents.dtype)

    def of_one(x_i: Tensor) -> Weights:
        pull = torch.func.vjp(lambda w: outputs(network, w, x_i[None])[0], weights)[1]
        return torch.func.vmap(pull)(cotangents)[0]

    with evaluation():
        return _first_that_works(
            lambda: torch.func.vmap(of_one)(x), lambda: _rows_one_by_one(network, weights, x, cotangents)
        )


def transposed_product(
    network: FiniteNetwork, x: Shaped[Tensor, "n *s"], vectors: Float[Tensor, "n o"], chunk: int
) -> Weights:
    """`J(x)^T v`, a vector in weight space as named tensors, by one backward pass per chunk of inputs."""
    weights = network.weights(vectors.dtype)
    total = {name: torch.zeros_like(w) for name, w in weights.items()}
    with evaluation():
        for inputs, v in zip(x.split(chunk), vectors.split(chunk), strict=True):
            leaves = {name: w.requires_grad_() for name, w in network.weights(vectors.dtype).items()}
            for name, gradient in _gradients(outputs(network, leaves, inputs), leaves, v).items():
                total[name] += gradient
    return total


def product(
    network: FiniteNetwork, x: Shaped[Tensor, "n *s"], tangent: Weights, chunk: int
) -> Float[Tensor, "n o"]:
    """`J(x) w` for a vector in weight space given as named tensors, by forward-mode differentiation."""
    weights = network.weights(network.dtype_for(x))

    def of_chunk(inputs: Tensor) -> Tensor:
        def forward_mode() -> Tensor:
            return torch.func.jvp(lambda w: outputs(network, w, inputs), (weights,), (tangent,))[1]

        return _first_that_works(
            forward_mode, lambda: _product_by_two_backward_passes(network, inputs, tangent)
        )

    with evaluation():
        return torch.cat([of_chunk(inputs) for inputs in x.split(chunk)]).detach()


def products(network: FiniteNetwork, x: Shaped[Tensor, "n *s"], tangents: Weights) -> Float[Tensor, "m n o"]:
    """`J(x) w_a` for m vectors in weight space at once, each tensor of `tangents` being [m, *shape]."""
    weights = network.weights(network.dtype_for(x))

    def of_one(tangent: Weights) -> Tensor:
        return torch.func.jvp(lambda w: outputs(network, w, x), (weights,), (tangent,))[1]

    def one_by_one() -> Tensor:
        count = next(iter(tangents.values())).shape[0]
        single = [{name: t[a] for name, t in tangents.items()} for a in range(count)]
        return torch.stack([product(network, x, tangent, x.shape[0]) for tangent in single])

    with evaluation():
        return _first_that_works(lambda: torch.func.vmap(of_one)(tangents), one_by_one).detach()


def flattened(vector: Weights) -> Float[Tensor, " p"]:
    """A vector in weight space as one tensor, in the order of `named_parameters()`."""
    return torch.cat([t.flatten() for t in vector.values()])


def named(network: FiniteNetwork, vector: Float[Tensor, " p"]) -> Weights:
    """The inverse of `flattened`."""
    weights = network.weights(vector.dtype)
    pieces = vector.split([w.numel() for w in weights.values()])
    return {name: piece.reshape(w.shape) for (name, w), piece in zip(weights.items(), pieces, strict=True)}


def _first_that_works(vectorised: Callable[[], T], plain: Callable[[], T]) -> T:
    try:
        return vectorised()
    except torch.OutOfMemoryError:
        raise
    except RuntimeError:  # what torch.func raises for everything it cannot transform
        return plain()


def _gradients(value: Tensor, leaves: Weights, cotangent: Tensor, graph: bool = False) -> Weights:
    """Vector-Jacobian product by plain autograd; zero for a parameter the output does not use."""
    found = torch.autograd.grad(
        value,
        list(leaves.values()),
        cotangent,
        retain_graph=True,
        create_graph=graph,
        allow_unused=True,
        materialize_grads=True,
    )
    return dict(zip(leaves, found, strict=True))


def _rows_one_by_one(network: FiniteNetwork, weights: Weights, x: Tensor, cotangents: Tensor) -> Weights:
    rows = {name: w.new_empty(len(x), len(cotangents), *w.shape) for name, w in weights.items()}
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    for i, x_i in enumerate(x):
        value = outputs(network, leaves, x_i[None])[0]
        for a, cotangent in enumerate(cotangents):
            for name, gradient in _gradients(value, leaves, cotangent).items():
                rows[name][i, a] = gradient
    return rows


def _product_by_two_backward_passes(network: FiniteNetwork, x: Tensor, tangent: Weights) -> Tensor:
    """`J w` as the derivative of `u -> <J^T u, w>`, for operations without a forward derivative."""
    leaves = {name: w.detach().requires_grad_() for name, w in network.weights(network.dtype_for(x)).items()}
    value = outputs(network, leaves, x)
    u = torch.zeros_like(value, requires_grad=True)
    pulled = _gradients(value, leaves, u, graph=True)
    pairing = torch.stack([(pulled[name] * tangent[name]).sum() for name in pulled]).sum()
    return torch.autograd.grad(pairing, u)[0]
