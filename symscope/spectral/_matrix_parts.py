"""What one irrep contributes where a kernel has a c x c matrix for every pair of points.

Outputs turned back, `F(s, g) = rho(g)^T f(g x_s)`, make the kernel `K_st(d) rho(d)`, d the step from one
element to the other: that of m c orbits and one output, with blocks of side `m c d`. Where a stabiliser H
fixes a sample, `F(g h) = rho(h)^T F(g)`: of the vectors of `rho x sigma` those that H fixes count (functions
on G/H with values in rho: Serre, Linear Representations of Finite Groups, sec. 7.1), which mixes outputs and
the irrep sigma.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64, Int64, Shaped
from torch import Tensor

from symscope.spectral._irrep_parts import (
    IrrepPart,
    check_within_reach,
    cholesky,
    irrep_values,
    on_fixed,
    unseen_size,
)
from symscope.spectral._missing_sets import MissingSet
from symscope.spectral.irrep_blocks import Frequency, Quotient, fourier_block


@final
@dataclass(frozen=True, eq=False)
class TurnedBack:
    """Kernel and labels with outputs turned back.

    Attributes:
        profile: `[(s, i), (t, j), d]`.
        labels: `[(s, i), e, 1]`, e = 1 where they are constant on orbits, else one for each element.
        rho: How outputs turn, `[n, c, c]`.
        points: Quotient that names the different points.
        sets: The missing sets.
        ridge: Number added to the diagonal.
        scale: The largest of the kernel's own values, against which a block is zero or not.
    """

    profile: Float64[Tensor, "mc mc n"]
    labels: Float64[Tensor, "mc e 1"]
    rho: Float64[Tensor, "n c c"]
    points: Quotient
    sets: Sequence[MissingSet]
    ridge: float
    scale: float

    @property
    def outputs(self) -> int:
        """Number of outputs c."""
        return self.rho.shape[1]


def matrix_part(problem: TurnedBack, frequency: Frequency) -> IrrepPart:
    """Everything one irrep has to give at missing points, output by output, from one factorisation.

    Raises:
        SingularBlockError: A block that is singular without being zero.
    """
    m, side = len(problem.points.stabiliser_orders), problem.outputs * frequency.dim
    fixed = fixed_vectors(problem, frequency)
    counted = (fixed != 0).any(1)
    cells = fourier_block(problem.profile, frequency).unflatten(1, (m, side)).unflatten(0, (m, side))
    block = on_fixed(cells.to(fixed.dtype), fixed, fixed)
    values = [point_functions(problem, frequency, fixed, one) for one in problem.sets]
    even = tuple(own.abs().square().sum((1, 2)) for own in values)
    if not bool(counted.any()):
        nothing = tuple(torch.zeros(len(own), len(own), dtype=torch.float64) for own in even)
        return IrrepPart(nothing, even, None, None)
    scale = problem.scale
    if problem.ridge == 0:
        left = unseen_size(float(block.abs().max()), int(counted.sum()), block.dtype, frequency, scale)
        if left is not None:
            check_within_reach(problem.labels, frequency)
            return IrrepPart((), even, left, None)
    unused = (~counted.flatten()).nonzero()[:, 0]
    block.diagonal()[unused] = block.diagonal().real.max().to(block.dtype)
    factor = cholesky(block, problem.ridge, frequency.name, scale)
    solved = _solved_labels(problem, frequency, fixed, factor)
    inverse = torch.cholesky_inverse(factor).unflatten(1, (m, side)).unflatten(0, (m, side))
    precision, weights = [], []
    for one, own in zip(problem.sets, values, strict=True):
        samples = one.samples.repeat_interleave(problem.outputs)
        precision.append(_between_points(inverse, own, samples))
        if solved is not None:
            root = (frequency.weight / frequency.dim) ** 0.5
            here = solved.unflatten(0, (m, side))[samples]
            weights.append(root * torch.einsum("pak,pka->p", own, here).real[:, None])
    return IrrepPart(tuple(precision), even, None, tuple(weights) if solved is not None else None)


def _between_points(
    inverse: Shaped[Tensor, "m k m k"], own: Shaped[Tensor, "p d k"], samples: Int64[Tensor, "p"]
) -> Float64[Tensor, "p p"]:
    """`sum_a own_p,a P_st own_q,a^H` for all pairs of points, one orbit of columns after the other."""
    total = torch.zeros(len(own), len(own), dtype=torch.float64)
    for t in samples.unique().tolist():
        columns = (samples == t).nonzero()[:, 0]
        left = torch.einsum("pak,pkl->pal", own, inverse[samples, :, t])
        total[:, columns] = torch.einsum("pal,qal->pq", left, own[columns].conj()).real
    return total


def fixed_vectors(problem: TurnedBack, frequency: Frequency) -> Shaped[Tensor, "m k k"]:
    """For each sample, as columns, the vectors of `rho x sigma` that its stabiliser fixes, over its root."""
    sigma, rho = frequency.matrices, problem.rho
    known: dict[tuple[int, ...], Tensor] = {}
    every = []
    for stabiliser in problem.points.stabilisers:
        key = tuple(stabiliser.tolist())
        if key not in known:
            both = torch.einsum("hij,hab->hiajb", rho[stabiliser].to(sigma.dtype), sigma[stabiliser])
            mean = both.mean(0).flatten(2).flatten(0, 1)
            values, vectors = torch.linalg.eigh((mean + mean.mH) / 2)
            known[key] = vectors * (values > 0.5) / len(stabiliser) ** 0.5
        every.append(known[key])
    return torch.stack(every)


def point_functions(
    problem: TurnedBack, frequency: Frequency, fixed: Shaped[Tensor, "m k k"], missing: MissingSet
) -> Shaped[Tensor, "pc d k"]:
    """Orthonormal functions of one irrep at missing points: `[(p, i), a, vector]`.

    `sqrt(copies d / |G|) |H| (e_i x sigma(g)_a) W_s`, W_s the vectors that count.

    Args:
        problem: Samples and outputs.
        frequency: The irrep.
        fixed: The vectors that count.
        missing: The missing points.
    """
    c, d = problem.outputs, frequency.dim
    sigma = frequency.matrices[missing.elements].to(fixed.dtype)
    vectors = fixed[missing.samples].unflatten(1, (c, d))  # [p, i, b, vector]
    orders = problem.points.stabiliser_orders[missing.samples][:, None, None, None]
    root = (frequency.weight / d) ** 0.5
    return root * (orders * torch.einsum("pab,pibk->piak", sigma, vectors)).flatten(0, 1)


def unseen_directions(
    problem: TurnedBack, unseen: Sequence[Frequency], missing: MissingSet
) -> tuple[Float64[Tensor, "pc pc"], Float64[Tensor, "pc"]]:
    """Orthonormal directions on missing points and outputs, and how long unseen functions are along each.

    Args:
        problem: Samples and outputs.
        unseen: Irreps on which the kernel is zero.
        missing: The missing points.
    """
    c = problem.outputs
    values = torch.cat(
        [_real(point_functions(problem, f, fixed_vectors(problem, f), missing)) for f in unseen], dim=1
    )
    turn = torch.zeros(len(values), len(values), dtype=torch.float64)
    lengths = torch.zeros(len(values), dtype=torch.float64)
    order = missing.position.argsort(stable=True)
    for owned in order.split(torch.bincount(missing.position).tolist()):  # orbit by orbit
        places: Int64[Tensor, "k"] = (owned[:, None] * c + torch.arange(c)).flatten()
        vectors, singular, _ = torch.linalg.svd(values[places], full_matrices=True)
        turn[places[:, None], places] = vectors
        lengths[places[: len(singular)]] = singular
    return turn, lengths


def _real(values: Shaped[Tensor, "p a k"]) -> Float64[Tensor, "p r"]:
    return (torch.view_as_real(values.contiguous()) if values.is_complex() else values).flatten(1)


def _solved_labels(
    problem: TurnedBack, frequency: Frequency, fixed: Shaped[Tensor, "m k k"], factor: Shaped[Tensor, "r r"]
) -> Shaped[Tensor, "r d"] | None:
    """The block's inverse times the labels' part, between vectors that count; None where there is none."""
    if frequency.index > 0 and problem.labels.shape[1] == 1:
        return None
    rows = irrep_values(problem.labels, frequency).to(fixed.dtype)  # [(t, i, a), b]
    inside = fixed.mH @ rows.unflatten(0, (len(fixed), -1))
    return torch.cholesky_solve(inside.flatten(0, 1), factor)
