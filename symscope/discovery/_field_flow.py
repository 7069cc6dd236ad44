"""Flows of fields: moving along a symmetry for a finite time."""

from __future__ import annotations

import torch
from jaxtyping import Float, Shaped
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from symscope.discovery.fields import LinearField, ParameterField, field_values
from symscope.discovery.sampling import ParameterPoints
from symscope.errors import InputError
from symscope.numerics import checked, ode_flow

ACCURACY = 1e-10  # relative and absolute, of the ODE solver


@checked
def field_flow(
    field: ParameterField,
    theta: Float[Tensor, "n"],
    x: Shaped[Tensor, "b *s"],
    y: Shaped[Tensor, "b *t"],
    time: float | int,
    accuracy: float = ACCURACY,
) -> Float[Tensor, "n"]:
    """Where a field carries parameters in a time: `d theta / dt = V(theta)`, the batch held fixed.

    Linear fields use the matrix exponential, others an eighth-order Runge-Kutta solver.

    Args:
        field: Field V to follow.
        theta: Parameters to start from.
        x: Inputs of the batch the field may look at.
        y: Targets of that batch.
        time: Duration of the flow; a negative one goes back.
        accuracy: Relative and absolute error allowed to the ODE solver.

    Returns:
        The parameters after that time.

    Raises:
        InputError: The field is not finite on the way (its flow blows up before that time).

    >>> from symscope.discovery.fields import linear_field
    >>> turn = linear_field(torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64))
    >>> nothing = torch.zeros(1, 1, dtype=torch.float64)
    >>> start = torch.tensor([1.0, 0.0], dtype=torch.float64)
    >>> field_flow(turn, start, nothing, nothing, torch.pi / 2).round(decimals=9)
    tensor([0., 1.], dtype=torch.float64)
    """
    alone = ParameterPoints(theta[None], x[None], y[None])
    return point_flows(field, alone, time, accuracy)[0]


def point_flows(
    field: ParameterField, points: ParameterPoints, time: float | int, accuracy: float = ACCURACY
) -> Float[Tensor, "p n"]:
    """The flow from every point, each with its own batch; one system of equations for all.

    Raises:
        InputError: The field is not finite on the way, as in `field_flow`.
    """
    if isinstance(field, LinearField):
        return _linear_flow(field, points.theta, time)
    if time == 0:
        return points.theta.detach().clone()

    def velocity(theta: Tensor) -> Tensor:
        with torch.no_grad():
            values = field_values(field, points.at(theta))
        if not bool(torch.isfinite(values).all()):
            raise InputError(f"{field.name}: not finite along its flow; use a shorter time than {time}")
        return values

    path = ode_flow(
        velocity,
        points.theta,
        [0.0, float(time)],
        rtol=max(accuracy, 1e-13),
        atol=accuracy,
        name=f"the flow of {field.name}",
    )
    return path.states[-1]


def _linear_flow(
    field: LinearField, theta: Float[Tensor, "*p n"], time: float | int
) -> Float[Tensor, "*p n"]:
    """`exp(t [[M, c], [0, 0]])` on (theta_S, 1), the other entries as they are.

    M is taken apart into its diagonal blocks (connected components of its graph), blocks of one size
    together: generators of wide layers have many small ones.
    """
    moved = theta.clone()
    parts = torch.from_numpy(connected_components(field.matrix.cpu().numpy() != 0, directed=False)[1]).long()
    sizes = parts.bincount()[parts]
    for size in sizes.unique().tolist():
        chosen = (sizes == size).nonzero()[:, 0]
        rows = chosen[parts[chosen].argsort(stable=True)].reshape(-1, size).to(field.matrix.device)
        generator = field.matrix.new_zeros(len(rows), size + 1, size + 1)
        generator[:, :size, :size] = field.matrix[rows[:, :, None], rows[:, None, :]]
        generator[:, :size, size] = field.offset[rows]
        step = torch.linalg.matrix_exp(time * generator).to(theta)
        at = field.support[rows.to(field.support.device)].to(theta.device)
        part = (step[:, :size, :size] @ theta[..., at, None])[..., 0] + step[:, :size, size]
        if not bool(torch.isfinite(part).all()):
            raise InputError(
                f"{field.name}: the matrix exponential overflows at time {time}; use a shorter time"
            )
        moved[..., at] = part
    return moved
