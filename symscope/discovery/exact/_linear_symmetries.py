"""Exact search: linear symmetries as the null space of the invariance constraints.

For a linear field `V = M theta + c` the condition `D_theta L . V = 0` at a point (theta, x, y) is one linear
equation in (M, c) (Eq. 4). Enough random points give them all: the solutions are the Lie algebra.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.discovery._parameter_problem import ParameterProblem
from symscope.discovery.exact._ansatz import Ansatz, all_linear, unit_mixing, unit_shifts
from symscope.discovery.exact._lie_algebra import independence_mask, is_too_large
from symscope.discovery.exact._null_space import NullSpace, converged_null_space, echelon, null_space
from symscope.discovery.fields import LinearField, field_values
from symscope.discovery.known._hidden_spaces import hidden_spaces
from symscope.discovery.known._naming import named_basis, named_fields
from symscope.discovery.loss_derivatives import point_gradients
from symscope.discovery.sampling import ParameterPoints
from symscope.errors import InputError
from symscope.numerics import byte_text, checked, seed_generator

STRIDE = 7919  # between the seeds of rounds of constraints
BLOCK = 256  # unknowns solved for at once when the structure of the layers is used
DISTINCT = 1e-7  # relative size below which what is left of a field is rounding
LIMIT = 4096  # most unknowns of one null space: a few K x K matrices, minutes


@final
@dataclass(frozen=True)
class LinearSymmetries:
    """The linear (or affine) symmetries found.

    Attributes:
        translations: Constant fields c with `L(theta + t c) = L(theta)`. Any function of the parameters times
            such a field is a symmetry too, so the rest is counted modulo these.
        fields: Generators, with names; linearly independent modulo translations.
        null_spaces: One per block of unknowns, for their singular values and significance.
        method: Method of the search, "all" or "layers".
        unknowns: Number of unknowns in all blocks together.
        constraints: Number of constraints in all blocks together.
    """

    translations: tuple[LinearField, ...]
    fields: tuple[LinearField, ...]
    null_spaces: tuple[NullSpace, ...]
    method: str
    unknowns: int
    constraints: int

    @property
    def dimension(self) -> int:
        """Dimension of the algebra modulo translations."""
        return len(self.fields)

    @property
    def complete(self) -> bool:
        """Whether every linear field was tried, so that there are no other linear symmetries."""
        return self.method == "all"


@checked
def linear_symmetries(
    problem: ParameterProblem,
    *,
    seed: int,
    method: str = "auto",
    affine: bool = True,
    level: float = 1e-3,
    limit: int = LIMIT,
) -> LinearSymmetries:
    """Linear symmetries of a loss, data-independent, from random parameters and data.

    Method "all" searches all n (n + 1) matrix entries and finds every linear symmetry. Method "layers"
    searches, for every hidden space of the network, the fields that mix, rescale or shift its units, with
    coefficients of their own before and after, some pairs of units at a time: thousands of parameters are no
    difficulty. It may miss symmetries that act on several hidden spaces at once, as along a residual stream.
    "auto" takes "all" where it fits within the limit.

    Args:
        problem: Network and loss.
        seed: Seed for drawing points.
        method: Method of the search, "auto", "all" or "layers".
        affine: Whether constants are allowed beside linear terms.
        level: Error level of the test of each gap in singular values.
        limit: Most unknowns of one null space.

    Returns:
        Generators with names, and the evidence.

    Raises:
        InputError: An unknown method, more unknowns than the limit, or a network whose layers cannot be
            followed.

    >>> from torch import nn
    >>> from symscope.discovery import gaussian_data, parameter_problem
    >>> net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 2, bias=False))
    >>> result = linear_symmetries(parameter_problem(net, "squared", gaussian_data((2,), (2,))), seed=0)
    >>> result.fields[0].name
    'rescaling of unit 0 of the hidden units between 0 and 2'
    """
    if method not in ("auto", "all", "layers"):
        raise InputError(f"method: expected 'auto', 'all' or 'layers', got {method!r}")
    unknowns = problem.size * (problem.size + affine)
    if method == "all" and unknowns > limit:
        raise InputError(
            f"all linear fields on {problem.size} parameters have {unknowns} unknowns, and the exact method "
            f"keeps a matrix of their square ({byte_text(8 * unknowns**2)}); the limit is {limit}. Use "
            "method='layers', freeze parameters, or learn the symmetries instead"
        )
    chosen = "all" if method == "all" or (method == "auto" and unknowns <= limit) else "layers"
    constant = translation_symmetries(problem, seed=seed, level=level, limit=limit) if affine else ()
    ansatze = [all_linear(problem.size, affine)] if chosen == "all" else _layered(problem, affine)
    spaces = [
        converged_null_space(_constraints(problem, ansatz, seed + number), ansatz.unknowns, level)
        for number, ansatz in enumerate(ansatze)
    ]
    if chosen == "all":
        fields = _all_fields(problem, spaces[0].basis, constant, affine)
    else:
        fields = _layer_fields(problem, ansatze, spaces, constant)
    return LinearSymmetries(
        constant,
        fields,
        tuple(spaces),
        chosen,
        sum(ansatz.unknowns for ansatz in ansatze),
        sum(null.rows for null in spaces),
    )


def _constraints(problem: ParameterProblem, ansatz: Ansatz, seed: int) -> Callable[[int, int], Tensor]:
    def block(count: int, turn: int) -> Tensor:
        points, gradients = gradient_rows(problem, count, seed + STRIDE * turn)
        return ansatz.constraints(points.theta, gradients)

    return block


def gradient_rows(
    problem: ParameterProblem, count: int, seed: int
) -> tuple[ParameterPoints, Float[Tensor, "p n"]]:
    """Random points with one sample each, and the gradients of their losses, a chunk at a time."""
    points = problem.random_points(count, 1, seed)
    step = max(1, min(count, 20_000_000 // max(1, 8 * problem.size)))
    parts = [
        point_gradients(problem, ParameterPoints(*parts))[:, 0]
        for parts in zip(points.theta.split(step), points.x.split(step), points.y.split(step), strict=True)
    ]
    return points, torch.cat(parts)


@checked
def translation_symmetries(
    problem: ParameterProblem, *, seed: int, level: float = 1e-3, limit: int = LIMIT
) -> tuple[LinearField, ...]:
    """Constant symmetries: directions c with `grad L(theta, x) . c = 0` everywhere.

    Parameters that the loss does not depend on are among them.

    Raises:
        InputError: More parameters than the limit.
    """
    if problem.size > limit:
        raise InputError(
            f"the network has {problem.size} parameters, the exact method takes up to {limit} "
            f"({byte_text(8 * problem.size**2)} for one matrix); take the known symmetries of its "
            "layers alone (discover --method none, or verified_catalogue), freeze parameters, or raise limit"
        )
    null = converged_null_space(
        lambda count, turn: gradient_rows(problem, count, seed + STRIDE * turn)[1], problem.size, level
    )
    directions = echelon(null.basis.cpu())
    result = []
    for direction in directions.T:
        support = torch.nonzero(direction)[:, 0]
        zero = direction.new_zeros(len(support), len(support))
        result.append(LinearField(support, zero, direction[support]))
    return named_fields(problem, result, kind="translation")


def _layered(problem: ParameterProblem, affine: bool) -> list[Ansatz]:
    spaces = hidden_spaces(problem)
    if not spaces:
        raise InputError(
            "no hidden units could be followed from layer to layer in this network, so method='layers' has "
            "nothing to search; use method='all' on a smaller network, or learn the symmetries"
        )
    ansatze = []
    for space in spaces:
        units = range(space.size)
        pairs = [(a, a) for a in units] + [(a, b) for a in units for b in units if a != b]
        step = max(1, BLOCK // len(space.sides))
        ansatze += [unit_mixing(problem.size, space, pairs[i : i + step]) for i in range(0, len(pairs), step)]
        if affine and space.shifts:
            ansatze.append(unit_shifts(problem.size, space))
    return ansatze


def _directions(problem: ParameterProblem, constant: tuple[LinearField, ...]) -> Float[Tensor, "n t"]:
    """Orthonormal translations."""
    if not constant:
        return torch.zeros(problem.size, 0, dtype=torch.float64)
    return torch.linalg.qr(torch.stack([c.dense_offset(problem.size) for c in constant], 1).double()).Q


def _all_fields(
    problem: ParameterProblem, basis: Float[Tensor, "K d"], constant: tuple[LinearField, ...], affine: bool
) -> tuple[LinearField, ...]:
    """Fields of the null space of all matrices, without their parts along translations."""
    directions = _directions(problem, constant)
    tables = basis.T.double().cpu().reshape(basis.shape[1], problem.size, problem.size + affine)
    tables = tables - directions @ (directions.T @ tables)
    left, values, _ = torch.linalg.svd(tables.flatten(1).T, full_matrices=False)
    return named_basis(problem, left[:, values > DISTINCT], directions, affine)


def _layer_fields(
    problem: ParameterProblem,
    ansatze: list[Ansatz],
    spaces: list[NullSpace],
    constant: tuple[LinearField, ...],
) -> tuple[LinearField, ...]:
    """Fields of several null spaces, without those that are zero or move along translations only."""
    directions = _directions(problem, constant)
    points, result = problem.random_points(8, 1, seed=1), []
    for ansatz, space in zip(ansatze, spaces, strict=True):
        for coefficients in echelon(space.basis).T:
            field = ansatz.field(coefficients.double().cpu())
            values = field_values(field, points).double().cpu()
            across = values - (values @ directions) @ directions.T
            if float(across.norm()) > DISTINCT * float(field.matrix.norm() + field.offset.norm()):
                result.append(field)
    return _distinct(problem, named_fields(problem, result), constant)


def _distinct(
    problem: ParameterProblem, fields: tuple[LinearField, ...], constant: tuple[LinearField, ...]
) -> tuple[LinearField, ...]:
    """Without combinations of others, such as one map for all readers of a layer; named ones stay."""
    if not fields or is_too_large(fields, constant):
        return fields
    order = sorted(range(len(fields)), key=lambda k: fields[k].name.startswith("linear field"))
    mask = independence_mask([fields[k] for k in order], problem.size, constant)
    chosen = sorted(k for k, keep in zip(order, mask, strict=True) if keep)
    return tuple(fields[k] for k in chosen)


@checked
def fibre_dimension(
    problem: ParameterProblem, theta: Float[Tensor, "n"], *, seed: int, level: float = 1.0
) -> int:
    """Directions at theta that change no sample's loss to first order, `n - rank D_theta L(theta, .)`.

    An upper bound for all data-independent symmetries, linear or not: the orbit of theta lies in its fibre.

    Args:
        problem: Network and loss.
        theta: Parameters at which the fibre is taken.
        seed: Seed for drawing samples.
        level: Error level of the gap test, which gives 0 where singular values fall off slowly. 1 counts all
            that are zero to rounding, so that the number is an upper bound.

    >>> from torch import nn
    >>> from symscope.discovery import gaussian_data, parameter_problem
    >>> net = nn.Sequential(nn.Linear(2, 3, bias=False), nn.Linear(3, 2, bias=False))
    >>> made = parameter_problem(net, "squared", gaussian_data((2,), (2,)))
    >>> fibre_dimension(made, made.random_points(1, 1, 0).theta[0], seed=0)  # 12 weights make a 2 x 2 matrix
    8
    """
    count = 4 * problem.size + 32
    x, y = problem.data(count, seed_generator(seed))
    points = ParameterPoints(theta[None], problem.converted(x)[None], problem.converted(y)[None])
    gradients = point_gradients(problem, points)[0]
    return null_space([gradients], level).dimension


@checked
def orbit_dimension(fields: tuple[LinearField, ...], theta: Float[Tensor, "n"]) -> int:
    """Dimension of the directions in which some linear fields move theta.

    >>> from symscope.discovery.fields import linear_field
    >>> turn = linear_field(torch.tensor([[0.0, -1.0], [1.0, 0.0]]))
    >>> orbit_dimension((turn, turn), torch.tensor([1.0, 0.0])), orbit_dimension((turn,), torch.zeros(2))
    (1, 0)
    """
    if not fields:
        return 0
    least = max(int(field.support.max()) + 1 if len(field.support) else 0 for field in fields)
    if theta.ndim != 1 or len(theta) < max(least, 1) or not theta.is_floating_point():
        raise InputError(f"theta: expected at least {least} parameters, got shape {tuple(theta.shape)}.")
    nothing = theta.new_zeros(1, 1)
    tangents = torch.stack([field(theta, nothing, nothing) for field in fields])
    values = torch.linalg.svdvals(tangents)
    return int((values > 1e-9 * max(float(values[0]), 1e-300)).sum()) if float(values[0]) > 0 else 0
