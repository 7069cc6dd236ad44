"""Which directions of weight space a network can learn in a given time: the spectrum of its weights kernel.

In the linearised network the weights follow `w(t) - w* = e^{-W t} (w_0 - w*)`, `W = J^T J` the empirical
weights kernel (EWK). A direction with eigenvalue 0 never moves; one with a small eigenvalue needs long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.kernels import weights_kernel_spectrum
from symscope.networks import SavedWeights, functional_module
from symscope.numerics import DEFAULT_MEMORY, checked

__all__ = [
    "EwkSpectrum",
    "ewk_spectrum",
    "slow_eigenvalue",
]


@checked
@final
@dataclass(frozen=True, eq=False)
class EwkSpectrum:
    """The spectrum of an empirical weights kernel, zeros told from what is small.

    Attributes:
        values: Every eigenvalue in descending order, one per weight; those zero to rounding exactly zero.
        slow_below: The eigenvalue under which a direction keeps more than the asked share after the steps.
        zeros: Number of eigenvalues that are zero.
    """

    values: Float[Tensor, " p"]
    slow_below: float
    zeros: int

    @property
    def zero_share(self) -> float:
        """The share of directions that never move."""
        return self.zeros / len(self.values)

    def share_below(self, value: float, *, of_nonzero: bool) -> float:
        """The share of eigenvalues under a value, among all (zeros count) or among those not zero."""
        kept = self.values[self.values > 0] if of_nonzero else self.values
        return float((kept < value).double().mean()) if len(kept) else math.nan

    @property
    def decades(self) -> float:
        """Orders of magnitude between the largest and the smallest eigenvalue that is not zero."""
        kept = self.values[self.values > 0]
        return float((kept[0] / kept[-1]).log10()) if len(kept) else math.nan


@checked
def slow_eigenvalue(learning_rate: float, steps: int, remaining: float) -> float:
    """The eigenvalue whose direction keeps exactly a given share after some steps of gradient descent.

    `(1 - learning_rate * l)^steps = remaining`

    Args:
        learning_rate: Learning rate, positive.
        steps: Number of steps, at least 1.
        remaining: The share, between 0 and 1.

    Returns:
        l; smaller eigenvalues decay more slowly.

    Raises:
        InputError: A number out of range.

    >>> round(slow_eigenvalue(1e-2, 1000, 0.1), 4)  # the paper rounds it to 0.2 (Fig. 5)
    0.23
    """
    if not (math.isfinite(learning_rate) and learning_rate > 0):
        raise InputError(f"learning_rate: expected a positive finite number, got {learning_rate}.")
    if steps < 1 or not 0 < remaining < 1:
        raise InputError(
            f"expected at least 1 step and a remaining share between 0 and 1, got {steps} and {remaining}."
        )
    return -math.expm1(math.log(remaining) / steps) / learning_rate


@checked
def ewk_spectrum(
    module: nn.Module,
    x: Shaped[Tensor, "n *s"],
    *,
    learning_rate: float,
    steps: int,
    remaining: float,
    rank_tolerance: float | None = None,
    params: SavedWeights = None,
    memory: int | float | str = DEFAULT_MEMORY,
) -> EwkSpectrum:
    """The spectrum of `J^T J` with the directions gradient descent cannot learn, or not in time (Fig. 5).

    Args:
        module: Any module from [n, *shape] to [n, o].
        x: Inputs; the kernel is a sum over them, as the loss is.
        learning_rate: Learning rate of full-batch gradient descent on `1/2 sum |f - y|^2`.
        steps: Number of steps it may take.
        remaining: The share of a direction that may be left then.
        rank_tolerance: Eigenvalues below this fraction of the largest count as zero; None for p rounding
            units.
        params: A state dict, or the path of one, instead of the module's present weights.
        memory: Working memory.

    Returns:
        The spectrum over all weights.

    Raises:
        InputError: If the module, inputs or numbers cannot be used.

    >>> x = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.1, 0.0]], dtype=torch.float64)
    >>> net = nn.Linear(3, 1, bias=False)
    >>> spectrum = ewk_spectrum(net, x, learning_rate=1e-2, steps=1000, remaining=0.1)
    >>> spectrum.zeros, spectrum.share_below(spectrum.slow_below, of_nonzero=True)
    (1, 0.5)
    """
    slow = slow_eigenvalue(learning_rate, steps, remaining)
    if rank_tolerance is not None and not 0 <= rank_tolerance < 1:
        raise InputError(f"rank_tolerance: expected a fraction from 0 up to 1, got {rank_tolerance}.")
    weights = functional_module(module, params).n_weights()
    result = weights_kernel_spectrum(module, x, params=params, memory=memory)
    tolerance = weights * torch.finfo(result.dtype).eps if rank_tolerance is None else rank_tolerance
    values = torch.cat([result, result.new_zeros(weights - len(result))])
    values = torch.where(values > tolerance * values[0].clamp(min=0), values, 0.0)
    return EwkSpectrum(values, slow, int((values == 0).sum()))
