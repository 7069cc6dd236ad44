"""Single steps of Adam and SGD, by the functions that PyTorch's optimisers call themselves.

The first `torch.optim.Optimizer` of a process loads PyTorch's compiler: two seconds, which a short training
is not worth. The functions behind it load nothing and give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from symscope.training._mini_batch import Optimiser

EPSILON = 1e-8  # what PyTorch's Adam adds to the square root
FUSED = ("cpu", "cuda")  # devices on which Adam takes one pass over each weight instead of ten


def optimiser_steps(optimiser: Optimiser, weights: Iterable[Tensor]) -> Callable[[float], None]:
    """A function of the learning rate that takes one step with the weights' gradients and clears them.

    Args:
        optimiser: Adam or SGD; its own learning rate is not used.
        weights: Weights; those that need no gradient, or have none, are left as they are.

    Raises:
        InputError: All weights are frozen.

    >>> weight = torch.ones(1, requires_grad=True)
    >>> step = optimiser_steps(Optimiser("sgd", 1.0), [weight])
    >>> (3 * weight).sum().backward()
    >>> step(0.5)
    >>> weight.item(), weight.grad is None
    (-0.5, True)
    """
    moved = optimiser.moved(weights)
    _clear(moved)
    if optimiser.kind == "adam":
        fused = all(one.device.type in FUSED and one.is_floating_point() for one in moved)
        return _Adam(optimiser, moved, fused)
    return _Momentum(optimiser, moved)


def _clear(weights: list[Tensor]) -> None:
    for one in weights:
        one.grad = None


class _Adam:
    def __init__(self, optimiser: Optimiser, weights: list[Tensor], fused: bool) -> None:
        self.betas, self.weights, self.fused = optimiser.betas, weights, fused or None
        self.means, self.squares = ([torch.zeros_like(one) for one in weights] for _ in range(2))
        # fused steps count on the device
        self.counts = [torch.zeros((), device=one.device if fused else "cpu") for one in weights]

    @torch.no_grad()
    def __call__(self, rate: float) -> None:
        at = [k for k, one in enumerate(self.weights) if one.grad is not None]
        adam(
            [self.weights[k] for k in at],
            [grad for k in at if (grad := self.weights[k].grad) is not None],
            [self.means[k] for k in at],
            [self.squares[k] for k in at],
            [],
            [self.counts[k] for k in at],
            fused=self.fused,
            amsgrad=False,
            beta1=self.betas[0],
            beta2=self.betas[1],
            lr=rate,
            weight_decay=0.0,
            eps=EPSILON,
            maximize=False,
        )
        _clear(self.weights)


class _Momentum:
    def __init__(self, optimiser: Optimiser, weights: list[Tensor]) -> None:
        self.momentum, self.weights = optimiser.momentum, weights
        self.buffers: list[Tensor | None] = [None] * len(weights)

    @torch.no_grad()
    def __call__(self, rate: float) -> None:
        at = [k for k, one in enumerate(self.weights) if one.grad is not None]
        buffers = [self.buffers[k] for k in at]
        sgd(
            [self.weights[k] for k in at],
            [grad for k in at if (grad := self.weights[k].grad) is not None],
            buffers,
            weight_decay=0.0,
            momentum=self.momentum,
            lr=rate,
            dampening=0.0,
            nesterov=False,
            maximize=False,
        )
        for k, buffer in zip(at, buffers, strict=True):
            self.buffers[k] = buffer
        _clear(self.weights)
