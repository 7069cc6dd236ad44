"""The empirical weights kernel `J^T J`: the second moment of a network's gradients, in weight space.

Rows and columns are the trainable weights, flattened in the order of `named_parameters()` (the order of
`torch.nn.utils.parameters_to_vector`). Its non-zero spectrum is that of the whole empirical NTK `J J^T`, so
spectra are taken from the smaller of the two.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.kernels.finite._contraction import inputs_per_product
from symscope.kernels.finite._empirical_ntk import (
    check_vectors,
    empirical_ntk_blocks,
    empirical_ntk_eigenpairs,
)
from symscope.networks import (
    ForwardProfile,
    FunctionalModule,
    Jacobian,
    SavedWeights,
    forward_profile,
    functional_module,
)
from symscope.numerics import (
    DEFAULT_MEMORY,
    Eigenpairs,
    byte_count,
    byte_text,
    checked,
    columnwise,
    top_eigenpairs,
)


@checked
def weights_kernel(
    module: nn.Module,
    x: Shaped[Tensor, "n *s"],
    *,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
) -> Float[Tensor, "p p"]:
    """The empirical weights kernel as a matrix.

    `W = J^T J = sum_ia grad f_a(x_i) grad f_a(x_i)^T`, summed over inputs and outputs

    Args:
        module: Any module from [n, *shape] to [n, o] that treats inputs separately and deterministically in
            eval mode.
        x: Inputs.
        params: A state dict or the path of a saved one, instead of the module's present weights.
        memory: Bytes, or text such as "1GB", for the matrix and the Jacobian rows it is summed from.

    Returns:
        The matrix over the trainable weights.

    Raises:
        InputError: If module or inputs cannot be used, or the matrix does not fit in memory.

    >>> x = torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    >>> weights_kernel(nn.Linear(2, 1, bias=False), x).tolist()
    [[1.0, 2.0], [2.0, 5.0]]
    """
    network, size = _network(module, x, params)
    dtype, weights, budget = network.dtype_for(x), network.n_weights(), byte_count(memory)
    row = (3 * weights + 3 * size.activations) * dtype.itemsize
    needed = 2 * weights**2 * dtype.itemsize + row
    if budget < needed:
        raise InputError(
            f"memory: the matrix over {weights} weights needs {needed} bytes ({byte_text(needed)}), got "
            f"{byte_text(budget)}; use weights_kernel_product, _eigenpairs or _spectrum, which do not build "
            f"it."
        )
    at_once = max(1, (budget - needed) // row)
    cotangents = torch.eye(size.outputs, dtype=dtype, device=x.device)
    total = cotangents.new_zeros(weights, weights)
    for chunk in x.split(max(1, at_once // size.outputs)):
        for some in cotangents.split(at_once):
            rows = Jacobian(network, chunk).rows(some)
            jacobian = torch.cat([t.detach().flatten(2).flatten(0, 1) for t in rows.values()], dim=1)
            total.addmm_(jacobian.mT, jacobian)
    return (total + total.mT) / 2


@checked
def weights_kernel_product(
    module: nn.Module,
    x: Shaped[Tensor, "n *s"],
    vector: Float[Tensor, " p"],
    *,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
) -> Float[Tensor, " p"]:
    """The empirical weights kernel times a vector, `J^T (J v)`, without the matrix.

    Args:
        module: Any module from [n, *shape] to [n, o] that treats inputs separately and deterministically in
            eval mode.
        x: Inputs.
        vector: A number for every trainable weight, in the dtype of the inputs.
        params: A state dict or the path of a saved one, instead of the module's present weights.
        memory: Working memory; inputs go through in chunks that fit.

    Returns:
        The product.

    Raises:
        InputError: If module or inputs cannot be used, or vector does not fit them.

    >>> x = torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    >>> v = torch.tensor([1.0, -1.0], dtype=torch.float64)
    >>> weights_kernel_product(nn.Linear(2, 1, bias=False), x, v).tolist()
    [-1.0, -3.0]
    """
    network, size = _network(module, x, params)
    check_vectors("vector", vector, (network.n_weights(),), network.dtype_for(x))
    return _times(network, x, vector, inputs_per_product(network, size, x, byte_count(memory)))


@checked
def weights_kernel_eigenpairs(
    module: nn.Module,
    x: Shaped[Tensor, "n *s"],
    count: int,
    *,
    seed: int,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
    tolerance: float = 1e-10,
) -> Eigenpairs:
    """The largest eigenvalues of the empirical weights kernel and their vectors, without the matrix.

    With fewer inputs times outputs than weights the pairs come from the NTK: `J J^T u = l u` gives
    `v = J^T u / sqrt(l)`.

    Args:
        module: Any module from [n, *shape] to [n, o] that treats inputs separately and deterministically in
            eval mode.
        x: Inputs.
        count: Number of eigenpairs, at most the smaller of n o and p.
        seed: Random seed of the vector the iteration starts from.
        params: A state dict or the path of a saved one, instead of the module's present weights.
        memory: Working memory of a product.
        tolerance: Relative accuracy asked of the eigenvalues.

    Returns:
        Values in descending order, vectors [p, count] and their residual norms.

    Raises:
        InputError: If module or inputs cannot be used, count is out of range, or a vector of a zero
            eigenvalue is asked for, which the NTK does not determine.

    >>> x = torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=torch.float64)
    >>> pairs = weights_kernel_eigenpairs(nn.Linear(3, 1, bias=False), x, 2, seed=0)
    >>> pairs.values.tolist(), pairs.vectors.abs().round(decimals=8).tolist()
    ([4.0, 1.0], [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    """
    network, size = _network(module, x, params)
    dtype, chunk = network.dtype_for(x), inputs_per_product(network, size, x, byte_count(memory))
    rows, weights = x.shape[0] * size.outputs, network.n_weights()
    if not 1 <= count <= min(rows, weights):
        raise InputError(
            f"count: expected 1 to {min(rows, weights)}, the smaller of n o = {rows} and {weights} weights, "
            f"got {count}."
        )
    if weights <= rows:
        return top_eigenpairs(
            columnwise(lambda v: _times(network, x, v, chunk)),
            weights,
            count,
            seed=seed,
            dtype=dtype,
            device=x.device,
            tolerance=tolerance,
        )
    dual = empirical_ntk_eigenpairs(
        module, x, count, seed=seed, params=params, memory=memory, tolerance=tolerance
    )
    rank = int((dual.values > rows * torch.finfo(dtype).eps * dual.values[0]).sum())
    if rank < count:
        raise InputError(f"count: only {rank} eigenvalues are not zero to rounding, got {count}.")
    vectors = torch.stack(
        [
            network.flatten(Jacobian(network, x).vjp(u.to(dtype).reshape(-1, size.outputs), chunk))
            for u in dual.vectors.mT
        ],
        dim=1,
    ).to(torch.float64)
    vectors = vectors / vectors.norm(dim=0)
    images = torch.stack([_times(network, x, v.to(dtype), chunk) for v in vectors.mT], dim=1)
    residuals = (images - dual.values * vectors).norm(dim=0)
    return Eigenpairs(dual.values, vectors, residuals, dual.products + 2 * count)


@checked
def weights_kernel_spectrum(
    module: nn.Module,
    x: Shaped[Tensor, "n *s"],
    *,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
) -> Float[Tensor, " k"]:
    """All eigenvalues of the empirical weights kernel that can differ from zero, in descending order.

    They are the eigenvalues of the smaller of `J^T J` and `J J^T`; the other p - k eigenvalues are exactly
    zero.

    Args:
        module: Any module from [n, *shape] to [n, o] that treats inputs separately and deterministically in
            eval mode.
        x: Inputs.
        params: A state dict or the path of a saved one, instead of the module's present weights.
        memory: Working memory; the smaller matrix must fit in it.

    Returns:
        k = min(n o, p) eigenvalues.

    Raises:
        InputError: If module or inputs cannot be used, or the smaller matrix does not fit in memory.

    >>> x = torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=torch.float64)
    >>> weights_kernel_spectrum(nn.Linear(3, 1, bias=False), x).round(decimals=8).tolist()
    [4.0, 1.0]
    """
    network, size = _network(module, x, params)
    rows = x.shape[0] * size.outputs
    if network.n_weights() <= rows:
        matrix = weights_kernel(module, x, params=params, memory=memory)
    else:
        budget, needed = byte_count(memory), 2 * rows**2 * network.dtype_for(x).itemsize
        if budget <= needed:
            raise InputError(
                f"memory: the matrix over {rows} inputs and outputs needs more than {needed} bytes "
                f"({byte_text(needed)}), got {byte_text(budget)}; use weights_kernel_eigenpairs."
            )
        blocks = empirical_ntk_blocks(module, x, params=params, memory=budget - needed)
        matrix = blocks.permute(0, 2, 1, 3).reshape(rows, rows)
    return torch.linalg.eigvalsh(matrix).flip(0)


def _network(module: nn.Module, x: Tensor, params: SavedWeights) -> tuple[FunctionalModule, ForwardProfile]:
    network = functional_module(module, params)
    network.check_inputs(x)
    return network, forward_profile(network, x)


def _times(network: FunctionalModule, x: Tensor, vector: Tensor, chunk: int) -> Tensor:
    jacobian = Jacobian(network, x)
    return network.flatten(jacobian.vjp(jacobian.jvp(network.unflatten(vector), chunk), chunk))
