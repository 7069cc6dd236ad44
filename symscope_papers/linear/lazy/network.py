"""Lazy training: a network whose outputs are scaled up so much that it is trained while it hardly moves.

`F(x) = alpha (f_w(x) - f_w0(x))`, trained on `loss / alpha^2` (App. H, after Chizat, Oyallon and Bach). The
weights move like 1/alpha; in the limit training is that of the linearised network, at any width.
"""

from __future__ import annotations

import copy
import math
from typing import final

import torch
from jaxtyping import Shaped
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.kernels import empirical_ntk_blocks
from symscope.numerics import DEFAULT_MEMORY


@final
class LazyNetwork(nn.Module):
    """`alpha (f_w - f_w0)`: zero at the start, and all the lazier the larger alpha.

    Only f_w is trained; f_w0 is a copy made when the network is built. Dropout would draw different masks for
    the two: use modules that are deterministic in training.

    Args:
        module: f, at its initial weights; trained in place.
        alpha: The scale, positive.

    Raises:
        InputError: An alpha that is not positive and finite, or a module with dropout.

    >>> lazy = LazyNetwork(nn.Linear(2, 1), alpha=100.0)
    >>> lazy(torch.tensor([[1.0, 2.0]])).item(), len([w for w in lazy.parameters() if w.requires_grad])
    (0.0, 2)
    """

    def __init__(self, module: nn.Module, alpha: float | int) -> None:
        super().__init__()
        if not (math.isfinite(alpha) and alpha > 0):
            raise InputError(f"alpha: expected a positive finite number, got {alpha}.")
        dropped = [name for name, part in module.named_modules() if "Dropout" in type(part).__name__]
        if dropped:
            raise InputError(
                f"expected a module without dropout, which makes f_w - f_w0 random; got {dropped[0]!r}."
            )
        self.alpha = float(alpha)
        self.module = module
        self.start = copy.deepcopy(module)
        self.start.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        """The scaled change of the outputs."""
        return self.alpha * (self.module(x) - self.start(x))

    def weight_change(self) -> float:
        """How far training has moved the weights: `|w - w_0| / |w_0|`.

        >>> LazyNetwork(nn.Linear(2, 1), alpha=2.0).weight_change()
        0.0
        """
        with torch.no_grad():
            now = nn.utils.parameters_to_vector(self.module.parameters())
            before = nn.utils.parameters_to_vector(self.start.parameters())
            return float((now - before).norm() / before.norm())


def lazy_loss(loss: Shaped[Tensor, ""], alpha: float | int) -> Shaped[Tensor, ""]:
    """The loss a lazy network is trained on, `loss / alpha^2`: outputs then move at a speed without alpha.

    Raises:
        InputError: An alpha that is not positive and finite.

    >>> lazy_loss(torch.tensor(8.0), 2.0).item()
    2.0
    """
    if not (math.isfinite(alpha) and alpha > 0):
        raise InputError(f"alpha: expected a positive finite number, got {alpha}.")
    return loss / alpha**2


def kernel_change(
    before: nn.Module,
    after: nn.Module,
    x: Shaped[Tensor, "n *s"],
    *,
    memory: int | float | str = DEFAULT_MEMORY,
) -> float:
    """How much training changed a network's kernel: `|K_after - K_before| / |K_before|`, the empirical NTK.

    A network that is its linearisation has zero.

    Args:
        before: The network at its initial weights.
        after: That network, trained.
        x: Inputs the kernel is taken on.
        memory: Working memory.

    Raises:
        InputError: If a module or the inputs cannot be used, or the networks give different outputs.

    >>> x = torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    >>> kernel_change(nn.Linear(2, 1), nn.Linear(2, 1), x)  # the gradient of a linear layer is its input
    0.0
    """
    first = empirical_ntk_blocks(before, x, memory=memory)
    second = empirical_ntk_blocks(after, x, memory=memory)
    if first.shape != second.shape:
        raise InputError(
            f"expected two states of one network, got {first.shape[-1]} and {second.shape[-1]} outputs."
        )
    return float((second - first).norm() / first.norm())
