"""What can be verified: a field, a one-parameter action, or a single finite transformation of parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from symscope.discovery._field_flow import sample_flow
from symscope.discovery.fields import Field, field_values
from symscope.discovery.sampling import Sample
from symscope.errors import InputError


@final
@dataclass(frozen=True)
class OneParameterAction:
    """`a_X(exp(t h), theta)` for one h, given as a function of t: what a learned group action offers.

    Attributes:
        function: `(t [], theta [n], x [b, ...], y [b, ...]) -> [n]`, differentiable in t.
        name: For people.
        data_dependent: Whether it looks at the batch.
        field: Its derivative at t = 0, where that is known already; otherwise it is taken through `function`.
    """

    function: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
    name: str = "action"
    data_dependent: bool = True
    field: Field | None = None


@final
@dataclass(frozen=True)
class Transformation:
    """One finite transformation `theta -> theta'`: a permutation, a sign flip, a single group element.

    Attributes:
        function: `(theta [n], x [b, ...], y [b, ...]) -> [n]`.
        name: For people.
        data_dependent: Whether it looks at the batch.
    """

    function: Callable[[Tensor, Tensor, Tensor], Tensor]
    name: str = "transformation"
    data_dependent: bool = False


Candidate = Field | OneParameterAction | Transformation


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


def velocities(candidate: Field | OneParameterAction, sample: Sample) -> Float[Tensor, "p n"]:
    """The infinitesimal action at every point of a sample."""
    if isinstance(candidate, Field):
        return field_values(candidate, sample)
    if candidate.field is not None:
        return field_values(candidate.field, sample)
    zero = torch.zeros((), dtype=sample.theta.dtype, device=sample.theta.device)

    def one(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return torch.func.jvp(
            lambda time: candidate.function(time, theta, x, y), (zero,), (torch.ones_like(zero),)
        )[1]

    return torch.func.vmap(one)(sample.theta, sample.x, sample.y)


def moved(candidate: Candidate, sample: Sample, time: float | int) -> Float[Tensor, "p n"]:
    """Every point of a sample after the candidate has acted on it for a time (any, for a transformation)."""
    if isinstance(candidate, Field):
        return sample_flow(candidate, sample, time)
    if isinstance(candidate, OneParameterAction):
        t = torch.as_tensor(float(time), dtype=sample.theta.dtype, device=sample.theta.device)
        act = torch.func.vmap(candidate.function, in_dims=(None, 0, 0, 0))
        result: Tensor = act(t, sample.theta, sample.x, sample.y)
        return result
    transformed: Tensor = torch.func.vmap(candidate.function)(sample.theta, sample.x, sample.y)
    return transformed
