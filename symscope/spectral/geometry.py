"""What the spectrum means in input space: how far orbits are apart, and how densely they fill their place."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import checked

__all__ = ["orbit_centres", "orbit_densities", "orbit_radii", "orbit_separations"]


@checked
def orbit_centres(points: Float[Tensor, "m n *sample"]) -> Float[Tensor, "m *sample"]:
    """The mean of each orbit.

    Args:
        points: `points[s, g]` is element g on sample s.

    Raises:
        InputError: No points, or entries that are not finite floating-point numbers.

    >>> import torch
    >>> orbit_centres(torch.tensor([[[1.0, 0.0], [-1.0, 0.0]]])).tolist()
    [[0.0, 0.0]]
    """
    if points.ndim < 3 or points.shape[0] == 0 or points.shape[1] == 0:
        raise InputError(
            "expected orbits [samples, elements, ...] with at least one point, got shape "
            f"{tuple(points.shape)}"
        )
    if not points.is_floating_point():
        raise InputError(f"points: expected floating-point numbers, got {points.dtype}; use points.double()")
    if not bool(points.isfinite().all()):
        raise InputError("the orbits have entries that are not finite")
    return points.mean(1)


@checked
def orbit_separations(points: Float[Tensor, "m n *sample"]) -> Float[Tensor, "m m"]:
    """The squared distance of every two orbits' centres, `|mean(A) - mean(B)|^2`, to set beside `lambda_N`.

    Args:
        points: `points[s, g]` is element g on sample s.

    Raises:
        InputError: As for `orbit_centres`.

    >>> import torch
    >>> a = torch.tensor([[[1.0, 0.0], [-1.0, 0.0]], [[1.0, 3.0], [-1.0, 3.0]]])
    >>> orbit_separations(a).tolist()
    [[0.0, 9.0], [9.0, 0.0]]
    """
    centres = orbit_centres(points).flatten(1)
    return (centres[:, None] - centres[None, :]).square().sum(-1)


@checked
def orbit_radii(points: Float[Tensor, "m n *sample"]) -> Float[Tensor, "m"]:
    """The mean distance of each orbit's points from its centre; 0 for a sample the whole group fixes.

    Args:
        points: `points[s, g]` is element g on sample s.

    Raises:
        InputError: As for `orbit_separations`.

    >>> import torch
    >>> orbit_radii(torch.tensor([[[2.0, 0.0], [-2.0, 0.0]]])).tolist()
    [2.0]
    """
    centres = orbit_centres(points)
    return (points - centres[:, None]).flatten(2).norm(dim=2).mean(1)


@checked
def orbit_densities(points: Float[Tensor, "m n *sample"]) -> Float[Tensor, "m m"]:
    """One over the mean radius of every two orbits, to set beside `mean(lambda^-1)` of the pair.

    Args:
        points: `points[s, g]` is element g on sample s.

    Raises:
        InputError: An orbit of radius 0, or as for `orbit_separations`.

    >>> import torch
    >>> a = torch.tensor([[[2.0, 0.0], [-2.0, 0.0]], [[0.0, 1.0], [0.0, 3.0]]])
    >>> orbit_densities(a).mul(3).round(decimals=5).tolist()
    [[1.5, 2.0], [2.0, 3.0]]
    """
    radii = orbit_radii(points)
    if bool((radii == 0).any()):
        still = (radii == 0).nonzero()[:, 0].tolist()[:8]
        raise InputError(
            f"samples {still} are fixed by the whole group: their orbits have radius 0 and no density; "
            "leave them out"
        )
    return 2 / (radii[:, None] + radii[None, :])
