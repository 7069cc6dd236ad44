"""Many copies of one architecture as one batched network: every weight gets a leading axis of copies."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from symscope.errors import InputError
from symscope.numerics import checked, explained, usable_device

FUSED_OR_PLAIN = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH)


@checked
@final
@dataclass(frozen=True, eq=False)
class Stack:
    """Copies of one architecture.

    Attributes:
        skeleton: The architecture; its own weights are never used.
        weights: `[copies, *shape]` for each named parameter.
        seeds: The seed each copy was built from.

    >>> stack = stack_networks(lambda seed: nn.Linear(2, 1), [0, 0, 1], torch.float64, torch.device("cpu"))
    >>> stack.outputs(torch.ones(3, 4, 2, dtype=torch.float64)).shape
    torch.Size([3, 4, 1])
    """

    skeleton: nn.Module
    weights: dict[str, Tensor]
    seeds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return next(iter(self.weights.values())).device

    @property
    def keeps_statistics(self) -> bool:
        """Whether the networks keep running statistics of their inputs (batch norm)."""
        return _keeps_statistics(self.skeleton)

    def outputs(self, x: Float[Tensor, "copies n *s"]) -> Float[Tensor, "copies n *c"]:
        """The outputs of each copy on its own inputs, dropout off.

        Args:
            x: One set of inputs per copy.
        """
        with torch.no_grad(), _in_mode(self.skeleton, training=False):
            return batched_outputs(self.skeleton, self.weights, x)

    def output_shape(self, x: Float[Tensor, "n *s"]) -> torch.Size:
        """The shape of the output for one input, if the networks take such inputs at all.

        Args:
            x: Some inputs, at least one.

        Raises:
            InputError: The networks refuse them.
        """
        with torch.no_grad(), _in_mode(self.skeleton, training=False):
            try:
                own = {name: weight[0] for name, weight in self.weights.items()}
                out = functional_call(self.skeleton, own, (x[:1],))
            except (RuntimeError, ValueError, TypeError) as error:
                reason = str(error).strip().splitlines()[0]
                raise InputError(
                    f"the network does not take inputs of shape {tuple(x.shape[1:])} and {x.dtype}: {reason}"
                ) from error
        if out.ndim < 1 or len(out) != 1:
            raise InputError(
                f"expected a network that keeps the axis of inputs; for 1 input it gave {tuple(out.shape)}."
            )
        return out.shape[1:]

    def copy(self, index: int) -> nn.Module:
        """One copy as an ordinary module of its own, in eval mode.

        Raises:
            InputError: No such copy.
        """
        if not 0 <= index < len(self):
            raise InputError(f"expected a copy from 0 to {len(self) - 1}, got {index}.")
        module = copy.deepcopy(self.skeleton)
        with torch.no_grad():
            for name, weight in module.named_parameters():
                weight.copy_(self.weights[name][index])
        return module.eval()


@checked
def stack_networks(
    builder: Callable[[int], nn.Module], seeds: Sequence[int], dtype: torch.dtype, device: torch.device
) -> Stack:
    """One network per seed, stacked.

    Args:
        builder: Gives a network for a seed; always the same architecture.
        seeds: One seed per copy.
        dtype: Precision of the weights.
        device: Device of the weights.

    Raises:
        InputError: No seeds, architectures that differ, several copies with running statistics (batch norm),
            or constants that differ between copies.
    """
    if len(seeds) == 0:
        raise InputError("seeds: expected one seed per copy, got none.")
    device = usable_device(device, torch.empty(0))
    skeleton = builder(seeds[0])
    if not isinstance(skeleton, nn.Module):
        raise InputError(f"builder: expected an nn.Module for a seed, got {type(skeleton).__name__}.")
    if len(seeds) > 1 and _keeps_statistics(skeleton):
        raise InputError(
            f"expected networks whose weights alone change in training, got {len(seeds)} that keep running "
            "statistics (batch norm). Train them one at a time, or use layer or group norm, or "
            "track_running_stats=False."
        )
    skeleton = skeleton.to(device, dtype)
    shapes = {name: weight.shape for name, weight in skeleton.named_parameters()}
    weights = {
        name: torch.empty(len(seeds), *shape, dtype=dtype, device=device) for name, shape in shapes.items()
    }
    constants = dict(skeleton.named_buffers())
    for i, seed in enumerate(seeds):
        module = builder(seed)
        if {name: weight.shape for name, weight in module.named_parameters()} != shapes:
            raise InputError(f"expected one architecture; the network of seed {seed} has other weights.")
        for name, buffer in module.named_buffers():
            if not torch.equal(buffer.to(constants[name]), constants[name]):
                raise InputError(
                    f"expected constants that do not depend on the seed; {name} of seed {seed} does."
                )
        for name, weight in module.named_parameters():
            weights[name][i] = weight.detach()
            weights[name].requires_grad_(False)
    for name, weight in skeleton.named_parameters():
        weights[name].requires_grad_(weight.requires_grad)
    return Stack(skeleton, weights, tuple(operator.index(seed) for seed in seeds))


def _keeps_statistics(module: nn.Module) -> bool:
    """Whether a part keeps running statistics: batch norm, unless `track_running_stats=False`."""
    return any(getattr(part, "track_running_stats", False) for part in module.modules())


@explained
def batched_outputs(
    skeleton: nn.Module, weights: dict[str, Tensor], x: Float[Tensor, "copies n *s"]
) -> Float[Tensor, "copies n *c"]:
    """Each copy on its own inputs, in one batched computation."""
    if x.ndim < 2 or any(len(x) != len(weight) for weight in weights.values()):
        raise InputError(f"x: expected inputs [copies, n, *shape] of every copy, got shape {tuple(x.shape)}.")
    if len(x) == 1:  # spares vmap's detours: convolutions in groups, attention without its fused kernels
        alone = {name: weight.squeeze(0) for name, weight in weights.items()}
        return functional_call(skeleton, alone, (x.squeeze(0),)).unsqueeze(0)

    def one(own: dict[str, Tensor], inputs: Tensor) -> Tensor:
        return functional_call(skeleton, own, (inputs,))

    # on a CPU the fused attention does not batch over copies; elsewhere it does
    kernels = [SDPBackend.MATH] if x.device.type == "cpu" else list(FUSED_OR_PLAIN)
    with sdpa_kernel(kernels):
        return vmap(one, randomness="different")(weights, x)


@contextmanager
def _in_mode(module: nn.Module, training: bool) -> Iterator[None]:
    """The module in training or evaluation mode for a while."""
    before = module.training
    module.train(training)
    try:
        yield
    finally:
        module.train(before)
