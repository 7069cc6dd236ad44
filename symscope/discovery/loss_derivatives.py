"""Losses, outputs and their derivatives at every point of a draw, in one batched computation.

For those who write symmetry searches or tests of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.discovery.sampling import ParameterPoints
from symscope.numerics import explained

if TYPE_CHECKING:
    from symscope.discovery._parameter_problem import ParameterProblem

__all__ = ["point_derivatives", "point_gradients", "point_losses", "point_outputs"]


@explained
def point_losses(problem: ParameterProblem, points: ParameterPoints) -> Float[Tensor, "p b"]:
    """Losses of every sample at every point, `L(theta_i, X_i)`."""
    return torch.func.vmap(problem.losses)(points.theta, points.x, points.y)


@explained
def point_outputs(problem: ParameterProblem, points: ParameterPoints) -> Float[Tensor, "p b o"]:
    """Outputs for every sample at every point, flattened."""
    outputs = torch.func.vmap(problem.outputs)(points.theta, points.x)
    return outputs.reshape(points.count, points.batch, -1)


@explained
def point_gradients(problem: ParameterProblem, points: ParameterPoints) -> Float[Tensor, "p b n"]:
    """Gradients of every sample's loss, `D_theta L(theta_i, x_ij)`.

    >>> from torch import nn
    >>> from symscope.discovery import gaussian_data, parameter_problem
    >>> made = parameter_problem(nn.Linear(1, 1, bias=False), "squared", gaussian_data((1,), (1,)))
    >>> s = made.random_points(2, 3, seed=0)
    >>> by_hand = 2 * (s.theta[:, :, None] * s.x - s.y) * s.x
    >>> torch.allclose(point_gradients(made, s), by_hand)
    True
    """

    def one(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return problem.losses(theta, x[None], y[None])[0]

    # one level of vmap, not two: torch's rules for PReLU and recurrent cells break under nested ones
    theta = points.theta.repeat_interleave(points.batch, 0)
    gradients = torch.func.vmap(torch.func.grad(one))(theta, points.x.flatten(0, 1), points.y.flatten(0, 1))
    return gradients.reshape(points.count, points.batch, -1)


@explained
def point_derivatives(
    problem: ParameterProblem, points: ParameterPoints, tangents: Float[Tensor, "p n"]
) -> Float[Tensor, "p b"]:
    """Derivatives of the losses along tangents, `D_theta L(theta_i, X_i) . v_i` (left side of Eq. 2)."""

    def one(theta: Tensor, x: Tensor, y: Tensor, tangent: Tensor) -> Tensor:
        return torch.func.jvp(lambda point: problem.losses(point, x, y), (theta,), (tangent,))[1]

    return torch.func.vmap(one)(points.theta, points.x, points.y, tangents)
