"""Losses, outputs and their derivatives at every point of a draw, in one batched computation.

For those who write symmetry searches or tests of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.discovery.sampling import Sample

if TYPE_CHECKING:
    from symscope.discovery._parameter_problem import Problem

__all__ = ["sample_derivatives", "sample_gradients", "sample_losses", "sample_outputs"]


def sample_losses(problem: Problem, sample: Sample) -> Float[Tensor, "p b"]:
    """Losses at every point of a sample, `L(theta_i, X_i)`."""
    return torch.func.vmap(problem.losses)(sample.theta, sample.x, sample.y)


def sample_outputs(problem: Problem, sample: Sample) -> Float[Tensor, "p b o"]:
    """Outputs at every point of a sample, flattened per data point."""
    outputs = torch.func.vmap(problem.outputs)(sample.theta, sample.x)
    return outputs.reshape(sample.points, sample.batch, -1)


def sample_gradients(problem: Problem, sample: Sample) -> Float[Tensor, "p b n"]:
    """Gradients of every data point's loss, `D_theta L(theta_i, x_ij)`.

    >>> from symscope.discovery import gaussian_data
    >>> made = problem(nn.Linear(1, 1, bias=False), "squared", gaussian_data((1,), (1,)))
    >>> s = made.sample(2, 3, seed=0)
    >>> by_hand = 2 * (s.theta[:, :, None] * s.x - s.y) * s.x
    >>> torch.allclose(sample_gradients(made, s), by_hand)
    True
    """

    def one(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return problem.losses(theta, x[None], y[None])[0]

    # one level of vmap, not two: torch's rules for PReLU and recurrent cells break under nested ones
    theta = sample.theta.repeat_interleave(sample.batch, 0)
    gradients = torch.func.vmap(torch.func.grad(one))(theta, sample.x.flatten(0, 1), sample.y.flatten(0, 1))
    return gradients.reshape(sample.points, sample.batch, -1)


def sample_derivatives(
    problem: Problem, sample: Sample, tangents: Float[Tensor, "p n"]
) -> Float[Tensor, "p b"]:
    """Derivatives of the losses along tangents, `D_theta L(theta_i, X_i) . v_i` (left side of Eq. 2)."""

    def one(theta: Tensor, x: Tensor, y: Tensor, tangent: Tensor) -> Tensor:
        return torch.func.jvp(lambda point: problem.losses(point, x, y), (theta,), (tangent,))[1]

    return torch.func.vmap(one)(sample.theta, sample.x, sample.y, tangents)
