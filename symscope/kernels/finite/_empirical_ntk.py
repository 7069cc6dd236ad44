"""The empirical NTK of any module: `Theta(x, x') = J(x) J(x')^T`, at whatever weights the module has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.kernels._kernel import Kernel
from symscope.kernels.finite._contraction import inputs_per_product
from symscope.kernels.finite._ntk_matrix import check_method, tangent_matrix, tangent_norms
from symscope.networks import (
    ForwardProfile,
    FunctionalModule,
    Jacobian,
    SavedWeights,
    forward_profile,
    functional_module,
)
from symscope.numerics import DEFAULT_MEMORY, Eigenpairs, byte_count, checked, columnwise, top_eigenpairs


@checked
def empirical_ntk(
    module: nn.Module,
    *,
    output: int | None = None,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
    method: str = "auto",
) -> Kernel:
    """The neural tangent kernel of a finite network, as a `Kernel`.

    `k(x, x') = 1/o sum_a <grad f_a(x), grad f_a(x')>`, or `<grad f_a(x), grad f_a(x')>` for one output a

    The average over outputs is what the kernel of an infinitely wide network tends to, whatever o. Gradients
    are with respect to the parameters that require them. Dropout is off and batch norm uses its running
    statistics. The module is copied: training it later does not change the kernel.

    Args:
        module: Any module from [n, *shape] to [n, o] that treats inputs separately and deterministically in
            eval mode.
        output: One output, or None for the average over all.
        params: A state dict or the path of a saved one, instead of the module's present weights.
        memory: Bytes, or text such as "1GB", to work in; on top of the tile the Gram engine asks for.
        method: "structured" multiplies what goes into each layer and what is propagated back to it, wherever
            layers are linear, convolutions or normalisations used once; "contraction" multiplies Jacobians;
            "products" pushes every row of one through the network; "auto" takes the cheapest that fits in
            memory. All are exact.

    Returns:
        The kernel; it computes in the dtype of its inputs, whatever the module's own.

    Raises:
        InputError: If the module, output or params cannot be used; later, from the kernel, if inputs or the
            module's outputs cannot.

    >>> net = nn.Linear(2, 3, bias=False)
    >>> x = torch.tensor([[[1.0, 2.0], [0.0, 1.0]]], dtype=torch.float64)
    >>> empirical_ntk(net).blocks(x, None)[0].tolist()  # a linear layer: the inner products of its inputs
    [[5.0, 2.0], [2.0, 1.0]]
    """
    check_method(method)
    network = functional_module(module, params)
    tangent = _Tangent(network, output, byte_count(memory), method)
    name = "empirical NTK" if output is None else f"empirical NTK of output {output}"
    return Kernel(f"{name} of {type(module).__name__}", tangent.blocks, tangent.diagonal, _entry_bytes)


@checked
def empirical_ntk_blocks(
    module: nn.Module,
    x1: Shaped[Tensor, "n1 *s1"],
    x2: Shaped[Tensor, "n2 *s2"] | None = None,
    *,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
    method: str = "auto",
) -> Float[Tensor, "n1 n2 o o"]:
    """The whole empirical NTK, an o x o block for every pair of inputs.

    `out[i, j, a, b] = <grad f_a(x1_i), grad f_b(x2_j)>`

    Args:
        module: Any module from [n, *shape] to [n, o] that treats inputs separately and deterministically in
            eval mode.
        x1: Inputs.
        x2: Other inputs; None for x1 against itself.
        params: A state dict or the path of a saved one, instead of the module's present weights.
        memory: Working memory beyond the result.
        method: One of the methods of `empirical_ntk`; all give the same numbers.

    Returns:
        The blocks; `.permute(0, 2, 1, 3).reshape(n1 * o, n2 * o)` is the matrix.

    Raises:
        InputError: If module or inputs cannot be used, or the memory is too small for one input.

    >>> x = torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    >>> empirical_ntk_blocks(nn.Linear(2, 2, bias=False), x)[0, 1].tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    check_method(method)
    network = functional_module(module, params)
    network.check_inputs(x1, x2)
    size = forward_profile(network, x1)
    cotangents = torch.eye(size.outputs, dtype=network.dtype_for(x1), device=x1.device)
    other = None if x2 is None else x2[None]
    return tangent_matrix(network, size, x1[None], other, cotangents, byte_count(memory), method, True)[0]


@checked
def empirical_ntk_product(
    module: nn.Module,
    x1: Shaped[Tensor, "n1 *s1"],
    vectors: Float[Tensor, "n2 o"],
    x2: Shaped[Tensor, "n2 *s2"] | None = None,
    *,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
) -> Float[Tensor, "n1 o"]:
    """The empirical NTK times a vector, without the matrix: one backward and one forward-mode pass.

    `out[i, a] = sum_jb <grad f_a(x1_i), grad f_b(x2_j)> vectors[j, b]`

    Args:
        module: Any module from [n, *shape] to [n, o] that treats inputs separately and deterministically in
            eval mode.
        x1: Inputs of the rows.
        vectors: A number for every input and output of the columns, in the dtype of the inputs.
        x2: Inputs of the columns; None for x1.
        params: A state dict or the path of a saved one, instead of the module's present weights.
        memory: Working memory; inputs go through in chunks that fit.

    Returns:
        The product.

    Raises:
        InputError: If module or inputs cannot be used, or vectors do not fit them.

    >>> x = torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    >>> v = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
    >>> empirical_ntk_product(nn.Linear(2, 1, bias=False), x, v).tolist()
    [[3.0], [1.0]]
    """
    network = functional_module(module, params)
    network.check_inputs(x1, x2)
    columns = x1 if x2 is None else x2
    size = forward_profile(network, x1)
    check_vectors("vectors", vectors, (columns.shape[0], size.outputs), network.dtype_for(x1))
    chunk = inputs_per_product(network, size, x1, byte_count(memory))
    return Jacobian(network, x1).jvp(Jacobian(network, columns).vjp(vectors, chunk), chunk)


@checked
def empirical_ntk_eigenpairs(
    module: nn.Module,
    x: Shaped[Tensor, "n *s"],
    count: int,
    *,
    seed: int,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
    tolerance: float = 1e-10,
) -> Eigenpairs:
    """The largest eigenvalues of the whole [n o, n o] empirical NTK and their vectors, without the matrix.

    Args:
        module: Any module from [n, *shape] to [n, o] that treats inputs separately and deterministically in
            eval mode.
        x: Inputs.
        count: Number of eigenpairs.
        seed: Random seed of the vector the iteration starts from.
        params: A state dict or the path of a saved one, instead of the module's present weights.
        memory: Working memory of a product.
        tolerance: Relative accuracy asked of the eigenvalues.

    Returns:
        Values in descending order, vectors [n o, count] (entry `i * o + a` belongs to output a of input i)
        and their residual norms.

    Raises:
        InputError: If module or inputs cannot be used, or count is out of range.

    >>> x = torch.tensor([[2.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    >>> empirical_ntk_eigenpairs(nn.Linear(2, 1, bias=False), x, 1, seed=0).values.round(decimals=8).tolist()
    [4.0]
    """
    network = functional_module(module, params)
    network.check_inputs(x)
    size = forward_profile(network, x)
    dtype = network.dtype_for(x)
    chunk = inputs_per_product(network, size, x, byte_count(memory))

    def theta_times(v: Tensor) -> Tensor:
        jacobian = Jacobian(network, x)
        return jacobian.jvp(jacobian.vjp(v.reshape(-1, size.outputs), chunk), chunk).flatten()

    return top_eigenpairs(
        columnwise(theta_times),
        x.shape[0] * size.outputs,
        count,
        seed=seed,
        dtype=dtype,
        device=x.device,
        tolerance=tolerance,
    )


def check_vectors(name: str, vectors: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    """Raise unless a vector to be multiplied fits the kernel and the inputs.

    Raises:
        InputError: Its shape or dtype is another.
    """
    if tuple(vectors.shape) != shape or vectors.dtype != dtype:
        raise InputError(
            f"{name}: expected shape {shape} in {dtype}, got {tuple(vectors.shape)} in {vectors.dtype}."
        )


@final
@dataclass(frozen=True)
class _Tangent:
    """The functions of the kernel, with what they need; picklable as long as the module is."""

    network: FunctionalModule
    output: int | None
    memory: int
    method: str

    def blocks(self, x1: Tensor, x2: Tensor | None) -> Tensor:
        first, second = x1.flatten(0, 1), None if x2 is None else x2.flatten(0, 1)
        self.network.check_inputs(first, second)
        size, cotangents = self._look(first)
        result = tangent_matrix(self.network, size, x1, x2, cotangents, self.memory, self.method, False)
        return result / len(cotangents)

    def diagonal(self, x: Tensor) -> Tensor:
        self.network.check_inputs(x)
        size, cotangents = self._look(x)
        result = tangent_norms(self.network, size, x, cotangents, self.memory, self.method)
        return result / len(cotangents)

    def _look(self, x: Tensor) -> tuple[ForwardProfile, Tensor]:
        size = forward_profile(self.network, x)
        cotangents = torch.eye(size.outputs, dtype=x.dtype, device=x.device)
        if self.output is not None:
            if not 0 <= self.output < size.outputs:
                raise InputError(
                    f"output: expected 0 to {size.outputs - 1}, the module's outputs, got {self.output}."
                )
            cotangents = cotangents[self.output : self.output + 1]
        return size, cotangents


def _entry_bytes(shape: tuple[int, ...], dtype: torch.dtype) -> float:
    return float(2 * dtype.itemsize)  # Jacobians have a budget of their own
