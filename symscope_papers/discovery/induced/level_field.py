"""Data-dependent symmetries that every network has: fields along the level set of a batch's losses."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.discovery import ParameterProblem
from symscope.discovery.fields import FunctionField
from symscope.errors import InputError


def level_field(
    problem: ParameterProblem, direction: Float[Tensor, "n"], name: str = "level field"
) -> FunctionField:
    """A constant direction with its part along the batch's gradients taken off, `V_X = (I - J^+ J) u`.

    J has one row of gradient for every sample of the batch X, so `J V_X = 0`: with n parameters and b
    samples there are n - b such fields at every theta, whatever the network. A data-dependent symmetry is
    therefore no discovery by itself; what is worth finding is one of a simple form, or for large batches.

    Args:
        problem: Network and loss.
        direction: Constant direction u.
        name: Name shown to people.

    Returns:
        The field; it depends on data and keeps the losses of the batch it is given.

    Raises:
        InputError: A direction of another length.

    >>> from torch import nn
    >>> from symscope.discovery import gaussian_data, parameter_problem, verify
    >>> made = parameter_problem(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)), "squared",
    ...                gaussian_data((2,), (1,)))
    >>> field = level_field(made, torch.ones(9, dtype=torch.float64))
    >>> verify(made, field, seed=0, points=2, batch_sizes=(1, 2), lengths=(0.05,)).holds
    True
    """
    if len(direction) != problem.size:
        raise InputError(f"direction: expected {problem.size} numbers, one a parameter, got {len(direction)}")

    def moves(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        rows = torch.func.jacrev(lambda point: problem.losses(point, x, y))(theta)
        start = direction.to(theta)
        return start - torch.linalg.pinv(rows) @ (rows @ start)

    return FunctionField(moves, name, data_dependent=True)
