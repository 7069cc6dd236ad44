"""Products with the Jacobian of a module's outputs in its weights: rows, `J^T v` and `J w`.

`J` has a row for every input and output, a column for every trainable weight. Each product first tries the
vectorised transforms of `torch.func` and falls back on plain automatic differentiation for modules those
cannot trace (data-dependent control flow, custom autograd functions).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.networks._functional import FunctionalModule, NamedTensors, evaluation
from symscope.numerics import checked

T = TypeVar("T")


@checked
@final
@dataclass(frozen=True, eq=False)
class Jacobian:
    """`J(x) = d f(x) / d weights`, never formed as a whole.

    Attributes:
        network: The module as a function.
        x: Inputs [n, *shape].

    >>> from torch import nn
    >>> from symscope.networks import functional_module
    >>> J = Jacobian(functional_module(nn.Linear(2, 1, bias=False)), torch.tensor([[3.0, 4.0]]))
    >>> J.vjp(torch.ones(1, 1), chunk=1)["weight"], J.jvp({"weight": torch.ones(1, 2)}, chunk=1)
    (tensor([[3., 4.]]), tensor([[7.]]))
    """

    network: FunctionalModule
    x: Shaped[Tensor, "n *s"]

    def rows(self, cotangents: Float[Tensor, "c o"]) -> NamedTensors:
        """Gradients of chosen combinations of outputs, input by input.

        `rows[name][i, a] = d (cotangents[a] . f(x_i)) / d weights[name]`

        Args:
            cotangents: The combinations; the identity gives the whole Jacobian.

        Returns:
            For every trainable parameter a tensor [n, c, *its shape].
        """
        network, weights = self.network, self.network.weights(cotangents.dtype)

        def of_one(x_i: Tensor) -> NamedTensors:
            pull = torch.func.vjp(lambda w: network.outputs(w, x_i[None])[0], weights)[1]
            return torch.func.vmap(pull)(cotangents)[0]

        with evaluation():
            return _first_that_works(
                lambda: torch.func.vmap(of_one)(self.x),
                lambda: _rows_one_by_one(network, weights, self.x, cotangents),
            )

    def vjp(self, vectors: Float[Tensor, "n o"], chunk: int) -> NamedTensors:
        """`J(x)^T v`, a vector in weight space as named tensors, by one backward pass per chunk of inputs."""
        weights = self.network.weights(vectors.dtype)
        total = {name: torch.zeros_like(w) for name, w in weights.items()}
        with evaluation():
            for inputs, v in zip(self.x.split(chunk), vectors.split(chunk), strict=True):
                leaves = {name: w.requires_grad_() for name, w in self.network.weights(vectors.dtype).items()}
                for name, gradient in _gradients(self.network.outputs(leaves, inputs), leaves, v).items():
                    total[name] += gradient
        return total

    def jvp(self, tangent: NamedTensors, chunk: int) -> Float[Tensor, "n o"]:
        """`J(x) w` for a vector in weight space given as named tensors, by forward-mode differentiation."""
        network, weights = self.network, self.network.weights(self.network.dtype_for(self.x))

        def of_chunk(inputs: Tensor) -> Tensor:
            def forward_mode() -> Tensor:
                return torch.func.jvp(lambda w: network.outputs(w, inputs), (weights,), (tangent,))[1]

            return _first_that_works(
                forward_mode, lambda: _jvp_by_two_backward_passes(network, inputs, tangent)
            )

        with evaluation():
            return torch.cat([of_chunk(inputs) for inputs in self.x.split(chunk)]).detach()

    def batched_jvp(self, tangents: NamedTensors) -> Float[Tensor, "m n o"]:
        """`J(x) w_a` for m vectors in weight space at once, each tensor of `tangents` being [m, *shape]."""
        network, weights = self.network, self.network.weights(self.network.dtype_for(self.x))

        def of_one(tangent: NamedTensors) -> Tensor:
            return torch.func.jvp(lambda w: network.outputs(w, self.x), (weights,), (tangent,))[1]

        def one_by_one() -> Tensor:
            count = next(iter(tangents.values())).shape[0]
            single = [{name: t[a] for name, t in tangents.items()} for a in range(count)]
            return torch.stack([self.jvp(tangent, self.x.shape[0]) for tangent in single])

        with evaluation():
            return _first_that_works(lambda: torch.func.vmap(of_one)(tangents), one_by_one).detach()


def _first_that_works(vectorised: Callable[[], T], plain: Callable[[], T]) -> T:
    try:
        return vectorised()
    except torch.OutOfMemoryError:
        raise
    except RuntimeError:  # what torch.func raises for everything it cannot transform
        return plain()


def _gradients(value: Tensor, leaves: NamedTensors, cotangent: Tensor, graph: bool = False) -> NamedTensors:
    """Vector-Jacobian product by plain autograd; zero for a parameter the output does not use."""
    result = torch.autograd.grad(
        value,
        list(leaves.values()),
        cotangent,
        retain_graph=True,
        create_graph=graph,
        allow_unused=True,
        materialize_grads=True,
    )
    return dict(zip(leaves, result, strict=True))


def _rows_one_by_one(
    network: FunctionalModule, weights: NamedTensors, x: Tensor, cotangents: Tensor
) -> NamedTensors:
    rows = {name: w.new_empty(len(x), len(cotangents), *w.shape) for name, w in weights.items()}
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    for i, x_i in enumerate(x):
        value = network.outputs(leaves, x_i[None])[0]
        for a, cotangent in enumerate(cotangents):
            for name, gradient in _gradients(value, leaves, cotangent).items():
                rows[name][i, a] = gradient
    return rows


def _jvp_by_two_backward_passes(network: FunctionalModule, x: Tensor, tangent: NamedTensors) -> Tensor:
    """`J w` as the derivative of `u -> <J^T u, w>`, for operations without a forward derivative."""
    leaves = {name: w.detach().requires_grad_() for name, w in network.weights(network.dtype_for(x)).items()}
    value = network.outputs(leaves, x)
    u = torch.zeros_like(value, requires_grad=True)
    pulled = _gradients(value, leaves, u, graph=True)
    pairing = torch.stack([(pulled[name] * tangent[name]).sum() for name in pulled]).sum()
    return torch.autograd.grad(pairing, u)[0]
