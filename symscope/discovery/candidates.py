"""What can be verified: a field, a one-parameter action, or a single finite transformation of parameters.

For those who write an action or a discrete symmetry down by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from symscope.discovery._field_flow import point_flows
from symscope.discovery.fields import ParameterField, field_values
from symscope.discovery.sampling import ParameterPoints
from symscope.errors import InputError
from symscope.numerics import checked, explained

__all__ = [
    "CandidateSymmetry",
    "OneParameterAction",
    "Transformation",
    "moved_parameters",
    "signed_permutation",
    "velocities",
]


@final
@dataclass(frozen=True)
class OneParameterAction:
    """`a_X(exp(t h), theta)` for one h, given as a function of t: what a learned group action offers.

    Attributes:
        function: `(t [], theta [n], x [b, ...], y [b, ...]) -> [n]`, differentiable in t.
        name: Name shown to people.
        data_dependent: Whether it looks at the batch.
        field: Its derivative at t = 0, where that is known; differentiated from `function` when None.
    """

    function: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
    name: str = "action"
    data_dependent: bool = True
    field: ParameterField | None = None


@final
@dataclass(frozen=True)
class Transformation:
    """One finite transformation `theta -> theta'`: a permutation, a sign flip, a single group element.

    Attributes:
        function: `(theta [n], x [b, ...], y [b, ...]) -> [n]`.
        name: Name shown to people.
        data_dependent: Whether it looks at the batch.
    """

    function: Callable[[Tensor, Tensor, Tensor], Tensor]
    name: str = "transformation"
    data_dependent: bool = False


CandidateSymmetry = ParameterField | OneParameterAction | Transformation


@checked
def signed_permutation(
    source: Int[Tensor, "n"], signs: Float[Tensor, "n"], name: str = "permutation"
) -> Transformation:
    """The transformation `theta'_i = signs_i theta_source(i)`.

    Raises:
        InputError: `source` is not a permutation.

    >>> swap = signed_permutation(torch.tensor([1, 0]), torch.tensor([1.0, -1.0]))
    >>> swap.function(torch.tensor([3.0, 5.0]), torch.zeros(1), torch.zeros(1))
    tensor([ 5., -3.])
    """
    if not torch.equal(source.sort().values, torch.arange(len(source), device=source.device)):
        raise InputError(f"expected a permutation of 0 to {len(source) - 1}, got {source.tolist()}")
    return Transformation(lambda theta, x, y: signs.to(theta) * theta[source], name)


@explained
def velocities(
    candidate: ParameterField | OneParameterAction, points: ParameterPoints
) -> Float[Tensor, "p n"]:
    """The infinitesimal action at every point."""
    if isinstance(candidate, ParameterField):
        return field_values(candidate, points)
    if candidate.field is not None:
        return field_values(candidate.field, points)
    zero = torch.zeros((), dtype=points.theta.dtype, device=points.theta.device)

    def one(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return torch.func.jvp(
            lambda time: candidate.function(time, theta, x, y), (zero,), (torch.ones_like(zero),)
        )[1]

    return torch.func.vmap(one)(points.theta, points.x, points.y)


@explained
def moved_parameters(
    candidate: CandidateSymmetry, points: ParameterPoints, time: float | int
) -> Float[Tensor, "p n"]:
    """Parameters of every point after the candidate has acted for a time (any, for a transformation)."""
    if isinstance(candidate, ParameterField):
        return point_flows(candidate, points, time)
    if isinstance(candidate, OneParameterAction):
        t = torch.as_tensor(float(time), dtype=points.theta.dtype, device=points.theta.device)
        act = torch.func.vmap(candidate.function, in_dims=(None, 0, 0, 0))
        result: Tensor = act(t, points.theta, points.x, points.y)
    else:
        result = torch.func.vmap(candidate.function)(points.theta, points.x, points.y)
    return result
