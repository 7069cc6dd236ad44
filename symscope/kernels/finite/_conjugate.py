"""The conjugate kernel: inner products of a network's last hidden activations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from symscope.errors import InputError, nearest
from symscope.kernels._kernel import Kernel
from symscope.kernels.classical import inner_products
from symscope.networks import FunctionalModule, SavedWeights, evaluation, forward_profile, functional_module
from symscope.numerics import DEFAULT_MEMORY, byte_count, byte_text, checked


@checked
def conjugate_kernel(
    module: nn.Module,
    *,
    layer: str | None = None,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
) -> Kernel:
    """The kernel of a network's last hidden activations, as a `Kernel`.

    `k(x, x') = 1/d <a(x), a(x')>` for d activations a

    For a wide network it tends to the NNGP kernel of the activations (before the last layer's weight and bias
    variances). Training only the last layer moves the outputs by this kernel.

    Args:
        module: Any module from [n, *shape] to [n, o] that treats inputs separately and deterministically in
            eval mode.
        layer: The submodule, by its name in `named_modules()`, whose output is taken; None for the input of
            the `nn.Linear` that runs last.
        params: A state dict or the path of a saved one, instead of the module's present weights.
        memory: Working memory of the forward passes.

    Returns:
        The kernel; it computes in the dtype of its inputs.

    Raises:
        InputError: If the module or params cannot be used, there is no such layer, or no linear one.

    >>> net = nn.Sequential(nn.ReLU(), nn.Linear(2, 1))
    >>> x = torch.tensor([[[1.0, 3.0], [-1.0, 2.0]]], dtype=torch.float64)
    >>> conjugate_kernel(net).blocks(x, None)[0].tolist()
    [[5.0, 3.0], [3.0, 2.0]]
    """
    network = functional_module(module, params)
    names = _layer_names(network.module, layer)
    if layer is None and not any(isinstance(part, nn.Linear) for part in network.module.modules()):
        raise InputError(
            f"{type(module).__name__} has no nn.Linear whose input would be the last activations; "
            f"name a layer instead. {nearest('', names) if names else ''}".rstrip()
        )
    hidden = _Hidden(network, layer, byte_count(memory))
    return Kernel(
        f"conjugate kernel of {type(module).__name__}", hidden.blocks, hidden.diagonal, _entry_bytes
    )


@checked
def hidden_activations(
    network: FunctionalModule, x: Shaped[Tensor, "n *s"], layer: str | None, memory: int
) -> Float[Tensor, "n d"]:
    """Activations of every input, flattened: a named layer's output, or what goes into the last `nn.Linear`.

    Raises:
        InputError: No such layer, one that does not run, or one that gives no activations [n, *shape].
    """
    _layer_names(network.module, layer)
    size = forward_profile(network, x)
    weights = network.weights(network.dtype_for(x))
    needed = 3 * size.activations * network.dtype_for(x).itemsize
    if memory < needed:
        raise InputError(
            f"memory: one input needs {needed} bytes ({byte_text(needed)}) for its activations, "
            f"got {byte_text(memory)}."
        )
    parts = []
    with evaluation(), torch.no_grad():
        for chunk in x.split(memory // needed):
            seen: list[Any] = []
            handles = _watch(network.module, layer, seen.append)
            try:
                network.outputs(weights, chunk)
            finally:
                for handle in handles:
                    handle.remove()
            parts.append(_checked(seen, layer, len(chunk)))
    return torch.cat(parts)


@final
@dataclass(frozen=True)
class _Hidden:
    """The functions of the kernel, with what they need; picklable as long as the module is."""

    network: FunctionalModule
    layer: str | None
    memory: int

    def blocks(self, x1: Tensor, x2: Tensor | None) -> Tensor:
        first = self._features(x1.flatten(0, 1)).unflatten(0, x1.shape[:2])
        second = None if x2 is None else self._features(x2.flatten(0, 1)).unflatten(0, x2.shape[:2])
        return inner_products(first, second) / first.shape[-1]

    def diagonal(self, x: Tensor) -> Tensor:
        return self._features(x).square().mean(1)

    def _features(self, x: Tensor) -> Tensor:
        self.network.check_inputs(x)
        return hidden_activations(self.network, x, self.layer, self.memory)


def _layer_names(module: nn.Module, layer: str | None) -> list[str]:
    """The names of all submodules, one of which is the layer."""
    names = [name for name, _ in module.named_modules() if name]
    if layer is not None and layer not in names:
        raise InputError(
            f"layer: {type(module).__name__} has no submodule {layer!r}; {nearest(layer, names)}"
        )
    return names


def _watch(module: nn.Module, layer: str | None, see: Callable[[Any], None]) -> list[Any]:
    if layer is not None:
        part = module.get_submodule(layer)
        return [part.register_forward_hook(lambda _, __, output: see(output))]
    linear = [part for part in module.modules() if isinstance(part, nn.Linear)]
    return [part.register_forward_pre_hook(lambda _, args: see(args[0])) for part in linear]


def _checked(seen: list[Any], layer: str | None, n: int) -> Tensor:
    what = f"layer {layer!r}" if layer is not None else "any nn.Linear"
    if not seen:
        raise InputError(f"The module's forward pass does not run {what}; name a layer that runs.")
    last = seen[-1]
    if not isinstance(last, Tensor) or last.ndim < 2 or last.shape[0] != n:
        result = list(last.shape) if isinstance(last, Tensor) else type(last).__name__
        raise InputError(f"Expected activations [n, *shape] with n = {n} from {what}, got {result}.")
    return last.flatten(1)


def _entry_bytes(shape: tuple[int, ...], dtype: torch.dtype) -> float:
    return float(3 * dtype.itemsize)
