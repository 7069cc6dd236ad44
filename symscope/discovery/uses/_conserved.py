"""Quantities that gradient flow conserves because of symmetries, and how well training keeps them.

Along `d theta / dt = -grad L`, a symmetry `V = M theta + c` with symmetric M is itself a gradient, of
`Q = theta^T M theta / 2 + c^T theta`, so `dQ/dt = V . d theta/dt = -grad L . V = 0`. This is Noether's
theorem for gradient flow (Kunin et al., Neural Mechanics, 2021): balanced layers (Du, Hu and Lee, 2018) are
an instance, and for two-layer linear and ReLU networks there are no others (Marcotte, Gribonval and Peyré,
2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.discovery._parameter_problem import ParameterProblem
from symscope.discovery.exact._null_space import echelon
from symscope.discovery.fields import LinearField, linear_combination
from symscope.errors import InputError
from symscope.numerics import check_finite, check_memory, checked, explained, ode_flow


@checked
@final
@dataclass(frozen=True)
class ConservedQuantity:
    """`Q(theta) = theta^T M theta / 2 + c^T theta`.

    Attributes:
        field: The symmetry `M theta + c` it belongs to, M symmetric.

    >>> from symscope.discovery.fields import linear_field
    >>> balance = ConservedQuantity(linear_field(torch.diag(torch.tensor([1.0, -1.0]))))
    >>> balance(torch.tensor([3.0, 2.0]))
    tensor(2.5000)
    """

    field: LinearField

    @property
    def name(self) -> str:
        return f"conserved by {self.field.name}"

    def __call__(self, theta: Float[Tensor, "*p n"]) -> Float[Tensor, "*p"]:
        least = int(self.field.support.max()) + 1 if len(self.field.support) else 0
        if theta.ndim < 1 or theta.shape[-1] < least:
            raise InputError(f"theta: expected [..., n], n at least {least}, got shape {tuple(theta.shape)}.")
        part = theta[..., self.field.support.to(theta.device)]
        matrix, offset = self.field.matrix.to(theta), self.field.offset.to(theta)
        return 0.5 * (part @ matrix * part).sum(-1) + part @ offset


@checked
def conserved_quantities(fields: Sequence[LinearField]) -> tuple[ConservedQuantity, ...]:
    """The conserved quantities of a Lie algebra of linear symmetries: its symmetric matrices.

    For gl(h) on two linear layers these are the entries of `W1 W1^T - W2^T W2`, for ReLU its diagonal.

    Args:
        fields: Generators of the algebra.

    Returns:
        One for each independent symmetric combination of generators, in a sparse basis.

    >>> from symscope.discovery.fields import linear_field
    >>> turn = linear_field(torch.tensor([[0.0, -1.0], [1.0, 0.0]]).double())
    >>> stretch = linear_field(torch.tensor([[0.0, 1.0], [1.0, 0.0]]).double())
    >>> len(conserved_quantities([turn, stretch]))
    1
    """
    if not fields:
        return ()
    keys = torch.unique(torch.cat([_upper(f)[0] for f in fields]))
    skew = torch.zeros(len(keys), len(fields), dtype=torch.float64)
    for k, field in enumerate(fields):
        where, values = _upper(field)
        skew[:, k].index_add_(0, torch.searchsorted(keys, where), values / _size(field))
    if len(keys):
        _, values, right = torch.linalg.svd(skew)
        rank = int((values > 1e-9 * max(1.0, float(values[0]))).sum())
        combinations = echelon(right[rank:].T)
    else:
        combinations = torch.eye(len(fields), dtype=torch.float64)
    made = []
    for weights in combinations.T:
        used = torch.nonzero(weights)[:, 0].tolist()
        parts = tuple(fields[k] for k in used)
        factors = torch.stack([weights[k] / _size(fields[k]) for k in used])
        made.append(
            ConservedQuantity(linear_combination(parts, factors, " and ".join(f.name for f in parts)))
        )
    return tuple(made)


def _size(field: LinearField) -> float:
    return float((field.matrix.square().sum() + field.offset.square().sum()).sqrt())


def _upper(field: LinearField) -> tuple[Tensor, Tensor]:
    """Entries above the diagonal of `M - M^T`: keys `i * 2^31 + j` and values."""
    matrix = (field.matrix - field.matrix.T).double().cpu()
    order = torch.argsort(field.support)
    matrix, support = matrix[order][:, order], field.support[order]
    rows, columns = torch.triu_indices(len(support), len(support), 1)
    values = matrix[rows, columns]
    used = values != 0
    return (support[rows[used]] << 31) + support[columns[used]], values[used]


@final
@dataclass(frozen=True)
class TrainingPath:
    """A training run.

    Attributes:
        times: Times that were recorded; learning rate times steps for descent.
        theta: Parameters at these times.
        losses: Mean losses at these times.
    """

    times: Float[Tensor, "t"]
    theta: Float[Tensor, "t n"]
    losses: Float[Tensor, "t"]

    def __post_init__(self) -> None:
        check_finite("parameters along the path", self.theta)
        check_finite("losses along the path", self.losses)


@checked
def parameter_gradient_flow(
    problem: ParameterProblem,
    theta: Float[Tensor, "n"],
    x: Shaped[Tensor, "N *s"],
    y: Shaped[Tensor, "N *t"],
    time: float | int,
    records: int = 11,
    accuracy: float = 1e-10,
    evaluations: int = 5000,
) -> TrainingPath:
    """Gradient flow of the mean loss on a data set, to an ODE solver's accuracy.

    Where a ReLU network's gradient jumps, the flow may slide along the kink, which no solver follows: it then
    stops at the given number of gradient evaluations.

    Raises:
        InputError: A time that is not positive, or a flow that cannot be followed.
    """
    if time <= 0 or records < 2:
        raise InputError(f"expected a positive time and at least 2 records, got {time} and {records}")
    slope = torch.func.grad_and_value(lambda point: problem.losses(point, x, y).mean())
    times = torch.linspace(0.0, float(time), records, dtype=torch.float64)
    points = ode_flow(
        lambda point: -slope(point)[0],
        theta,
        times.tolist(),
        rtol=accuracy,
        atol=accuracy,
        evaluations=evaluations,
        name="gradient flow",
        remedy="it may slide along a kink of the loss; use a shorter time, a smooth activation or "
        "gradient_descent",
    ).states
    losses = torch.stack([slope(point)[1] for point in points])
    return TrainingPath(times, points, losses)


@checked
def parameter_gradient_descent(
    problem: ParameterProblem,
    theta: Float[Tensor, "n"],
    x: Shaped[Tensor, "N *s"],
    y: Shaped[Tensor, "N *t"],
    learning_rate: float,
    steps: int,
) -> TrainingPath:
    """Plain full-batch gradient descent; conserved quantities drift with the square of its steps.

    Raises:
        InputError: A learning rate or number of steps that is not positive.
    """
    if not 0 < learning_rate < float("inf") or steps < 1:
        raise InputError(f"expected a positive learning rate and steps, got {learning_rate} and {steps}")
    slope = torch.func.grad_and_value(lambda point: problem.losses(point, x, y).mean())
    check_memory("the path", 8 * (steps + 1) * len(theta), "take fewer steps")
    points, losses, here = [], [], theta.detach()
    for _ in range(steps + 1):
        gradient, loss = slope(here)
        points.append(here)
        losses.append(loss)
        here = here - learning_rate * gradient
    times = learning_rate * torch.arange(steps + 1, dtype=torch.float64)
    return TrainingPath(times, torch.stack(points), torch.stack(losses))


@explained
def conservation_error(quantity: ConservedQuantity, training: TrainingPath) -> float:
    """Largest change of a quantity along a training run, relative to the sizes of its terms.

    `max_t |Q(theta_t) - Q(theta_0)| / max_t (|theta_t|^2 |M| / 2 + |c| |theta_t|)`, on the entries of Q.
    """
    values = quantity(training.theta)
    field = quantity.field
    part = training.theta[:, field.support.to(training.theta.device)].norm(dim=1)
    largest = float(torch.linalg.matrix_norm(field.matrix, 2)) if len(field.support) else 0.0
    terms = 0.5 * largest * part.square() + float(field.offset.norm()) * part
    return float((values - values[0]).abs().max() / terms.max())
