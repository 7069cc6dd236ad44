"""Errors that do not care which class loses a point: what the spectral formula is compared with."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.spectral.dense import leave_one_out_residuals, precision


def symmetrised_error(gram: Float[Tensor, "n n"], ridge: float, element: int | None) -> Float[Tensor, ""]:
    """The exact error at one missing point of two interleaved orbits, averaged over which orbit loses it.

    `1/2 (eps_A + eps_B)`, `eps_i = y_i (P y)_i / P_ii` with labels +1, -1 (section 3.3, assumption 3).

    Args:
        gram: K over A0, B0, A1, B1, ..
        ridge: Number added to the diagonal of K, not negative.
        element: The element whose points are left out; None averages over all of them, which is the same
            where the kernel is exactly symmetric.

    Raises:
        InputError: An odd number of points, an element outside, or as for `precision`.

    >>> K = torch.tensor([[2.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    >>> symmetrised_error(K, ridge=0.0, element=0)
    tensor(1.7500, dtype=torch.float64)
    """
    if len(gram) % 2:
        raise InputError(f"two interleaved orbits have an even number of points, got {len(gram)}")
    half = len(gram) // 2
    if element is not None and not 0 <= element < half:
        raise InputError(f"expected an element from 0 to {half - 1}, or None for all; got {element}")
    labels = 1.0 - 2.0 * (torch.arange(len(gram), device=gram.device) % 2).to(gram.dtype)
    errors = (labels * leave_one_out_residuals(precision(gram, ridge), labels)).unflatten(0, (half, 2))
    return errors.mean() if element is None else errors[element].mean()


def mean_set_error(
    residual: Float[Tensor, "p"], label: Float[Tensor, "p"], sets: Int64[Tensor, "p"]
) -> Float[Tensor, ""]:
    """The mean over missing sets of the mean of `y residual` in each: for two classes, each left out in turn.

    With labels +1, -1 this is the symmetrised error of a problem with many samples (section 3.4).

    Args:
        residual: True label minus prediction at missing points.
        label: Their true labels.
        sets: Missing set each point belongs to.

    Raises:
        InputError: No point, or not one residual, label and set for each.

    >>> r, y = torch.tensor([1.0, 3.0, -1.0]), torch.tensor([1.0, 1.0, -1.0])
    >>> mean_set_error(r, y, torch.tensor([0, 0, 1]))
    tensor(1.5000)
    """
    for what, given in (("residual", residual), ("label", label), ("sets", sets)):
        if given.ndim != 1 or len(given) != len(residual):
            raise InputError(
                f"{what}: expected one number for each missing point, as many as residuals; got shape "
                f"{tuple(given.shape)} beside residuals of shape {tuple(residual.shape)}"
            )
    if len(residual) == 0:
        raise InputError("expected residuals of at least one missing point, got none")
    which = sets.unique()
    return torch.stack([(residual * label)[sets == one].mean() for one in which]).mean()
