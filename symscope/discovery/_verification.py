"""Does a candidate hold where it was not found? Held-out parameters and data, finite times, random rivals.

Two statements are made of a candidate that never fails. A Clopper-Pearson bound on the share of points where
it does; and a permutation-type test against random fields of the same norm, `(1 + rank) / (1 + rivals)`,
without which a loss that hardly moves at all would make everything a symmetry.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.discovery._parameter_problem import ParameterProblem
from symscope.discovery.candidates import CandidateSymmetry, Transformation, moved_parameters, velocities
from symscope.discovery.loss_derivatives import point_gradients, point_losses, point_outputs
from symscope.discovery.sampling import ParameterPoints
from symscope.errors import InputError
from symscope.numerics import checked, seed_generator

HELD_OUT = 1 << 32  # added to seeds: no point of a discovery is met again
STILL = 1e-12  # a candidate that moves parameters by less than this, relatively, does nothing


class SymmetryVerdict(Enum):
    """Verdict of the held-out test on a candidate."""

    SYMMETRY = "symmetry"
    APPROXIMATE = "closer to a symmetry than random fields, but not within the tolerance"
    NONE = "no symmetry"
    TRIVIAL = "does nothing"


@final
@dataclass(frozen=True)
class Verification:
    """A held-out test of one candidate. Losses and outputs are relative to their root mean square.

    Attributes:
        name: Name of the candidate.
        verdict: Verdict of the test.
        points: Number of held-out parameter vectors, each with its own samples.
        tolerance: Largest loss drift a symmetry may have.
        level: Error level of `failing_share` and of the comparison with random fields.
        failures: Number of points whose drift is above the tolerance.
        failing_share: Share of parameters and data on which the candidate fails, bounded from above with
            confidence `1 - level` (Clopper-Pearson).
        chance: How often a random field of the same norm drifts as little, `(1 + rank) / (1 + rivals)`.
        derivative: Root mean square of `|D L . V| / (|D L| |V|)`; None for a finite transformation.
        loss_drift: Largest relative change of a sample's loss.
        output_drift: Largest relative change of an output (translations of softmax change outputs only).
        random_loss_drift: Median over random fields of the same norm of the same quantity as `loss_drift`.
        random_output_drift: Median over random fields of the same norm of the same quantity as
            `output_drift`.
        group_law: Largest `|a(s, a(t, theta)) - a(s + t, theta)| / |theta|`; None for a transformation.
        data_dependence: Relative change of where theta goes when the batch is another one.
        other_data_drift: Loss drift on a batch the candidate did not see.
        batch_drifts: Loss drift by batch size (Prop. 4.4).
    """

    name: str
    verdict: SymmetryVerdict
    points: int
    tolerance: float
    level: float
    failures: int
    failing_share: float
    chance: float
    derivative: float | None
    loss_drift: float
    output_drift: float
    random_loss_drift: float
    random_output_drift: float
    group_law: float | None
    data_dependence: float
    other_data_drift: float
    batch_drifts: tuple[tuple[int, float], ...]

    @property
    def holds(self) -> bool:
        return self.verdict is SymmetryVerdict.SYMMETRY

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.verdict.value}; loss drift {self.loss_drift:.1e} (random field "
            f"{self.random_loss_drift:.1e}), fails on less than {self.failing_share:.0%} of points with "
            f"confidence {1 - self.level:.0%}"
        )


@checked
def verify(
    problem: ParameterProblem,
    candidate: CandidateSymmetry,
    *,
    seed: int,
    points: int = 16,
    batch_sizes: Sequence[int] = (1, 4),
    lengths: Sequence[float] = (0.1, 0.5),
    random_fields: int = 19,
    tolerance: float = 1e-6,
    level: float = 0.05,
) -> Verification:
    """Test a candidate symmetry on parameters and data it has not seen (a `dataset` of one row: parameters).

    The candidate acts for such times that parameters travel the given lengths (as a share of their own
    norm), forwards, and the longest backwards. The verdict is "symmetry" when every sample's loss stays
    within the tolerance at every point and random fields of the same norm do worse at the error level.

    Args:
        problem: Network and loss.
        candidate: A field, a one-parameter action, or a finite transformation.
        seed: Seed for drawing held-out points (never those of a discovery with the same seed).
        points: Number of held-out parameter vectors.
        batch_sizes: Numbers of samples at each point; main figures are for the largest. Use (1,) for fields
            made for one sample.
        lengths: Lengths to travel, as shares of the parameters' own norm.
        random_fields: Number of random rivals; the smallest error level they can show is
            `1 / (random_fields + 1)`.
        tolerance: Largest relative loss drift of a symmetry.
        level: Error level of the verdict.

    Returns:
        The test's figures and verdict.

    Raises:
        InputError: Settings that cannot give the asked level, or a flow that leaves the finite numbers.

    >>> from torch import nn
    >>> from symscope.discovery import gaussian_data, parameter_problem
    >>> from symscope.discovery.fields import linear_field
    >>> net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    >>> rescaling = linear_field(torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64)), name="rescaling")
    >>> verify(parameter_problem(net, "squared", gaussian_data((1,), (1,))), rescaling, seed=0).holds
    True
    """
    _check_settings(points, batch_sizes, lengths, random_fields, tolerance, level)
    sizes = sorted(set(batch_sizes))
    held_out = {size: problem.random_points(points, size, HELD_OUT + seed, held_out=True) for size in sizes}
    main = held_out[sizes[-1]]
    other = problem.random_points(points, sizes[-1], HELD_OUT + seed + 1, held_out=True)
    times = _times(candidate, main, lengths)
    there = [moved_parameters(candidate, main, time) for time in times]
    losses, outputs = _drifts(problem, main, there)
    rivals, rival_outputs = _rival_drifts(problem, main, there, random_fields, seed)
    per_point = losses.amax(1)
    failures = int((~(per_point <= tolerance)).sum())  # NaN fails
    strayed, dependence = _other_data(problem, candidate, main, other, times[0])
    chance = (1 + int((rivals.median(1).values <= per_point.median()).sum())) / (1 + random_fields)
    travelled = max(float(((t - main.theta).norm(dim=1) / main.theta.norm(dim=1)).max()) for t in there)
    return Verification(
        name=candidate.name,
        verdict=_verdict(travelled, failures, chance, level),
        points=points,
        tolerance=tolerance,
        level=level,
        failures=failures,
        failing_share=failing_share(failures, points, level),
        chance=chance,
        derivative=_derivative(problem, candidate, main),
        loss_drift=float(losses.max()),
        output_drift=float(outputs.max()),
        random_loss_drift=float(rivals.amax(1).median()),
        random_output_drift=float(rival_outputs.amax(1).median()),
        group_law=_group_law(candidate, main, times),
        data_dependence=dependence,
        other_data_drift=strayed,
        batch_drifts=tuple(
            (size, _batch_drift(problem, candidate, held_out[size], times[:1])) for size in sizes
        ),
    )


def failing_share(failures: int, points: int, level: float) -> float:
    """Upper confidence bound of the share of points that fail, `failures` of `points` having done so.

    >>> round(failing_share(0, 59, 0.05), 3)
    0.05
    """
    from scipy.special import betaincinv  # the quantile of a beta distribution, without all of scipy.stats

    return 1.0 if failures >= points else float(betaincinv(failures + 1, points - failures, 1 - level))


def _check_settings(
    points: int,
    batch_sizes: Sequence[int],
    lengths: Sequence[float],
    random_fields: int,
    tolerance: float,
    level: float,
) -> None:
    if points < 1 or not batch_sizes or min(batch_sizes) < 1:
        raise InputError(
            f"expected at least one point and batch sizes from 1 on, got {points}, {batch_sizes}"
        )
    if not lengths or not all(length > 0 for length in lengths) or tolerance <= 0:
        raise InputError(f"expected positive lengths and tolerance, got {lengths} and {tolerance}")
    if not 0 < level < 1 or 1 / (1 + random_fields) > level:
        raise InputError(
            f"{random_fields} random fields cannot show an error level of {level}; use at least "
            f"{math.ceil(1 / level) - 1 if 0 < level < 1 else 19} or a level between 0 and 1 that is larger"
        )


def _verdict(travelled: float, failures: int, chance: float, level: float) -> SymmetryVerdict:
    if travelled < STILL:
        return SymmetryVerdict.TRIVIAL
    if chance > level:
        return SymmetryVerdict.NONE
    return SymmetryVerdict.SYMMETRY if failures == 0 else SymmetryVerdict.APPROXIMATE


def _times(candidate: CandidateSymmetry, points: ParameterPoints, lengths: Sequence[float]) -> list[float]:
    if isinstance(candidate, Transformation):
        return [1.0]
    speed = float(velocities(candidate, points).norm(dim=1).square().mean().sqrt())
    unit = float(points.theta.norm(dim=1).square().mean().sqrt()) / speed if speed > 0 else 1.0
    return [*(unit * length for length in lengths), -unit * max(lengths)]


def _drifts(
    problem: ParameterProblem, points: ParameterPoints, there: Sequence[Tensor]
) -> tuple[Float[Tensor, "p b"], Float[Tensor, "p b"]]:
    """Largest relative changes of every sample's loss and outputs, over the moved points."""
    losses, outputs = point_losses(problem, points), point_outputs(problem, points)
    loss_scale, output_scale = (t.square().mean().sqrt() for t in (losses, outputs))
    changed = [(point_losses(problem, points.at(t)) - losses).abs() for t in there]
    turned = [(point_outputs(problem, points.at(t)) - outputs).norm(dim=2) for t in there]
    width = outputs.shape[2] ** 0.5
    return torch.stack(changed).amax(0) / loss_scale, torch.stack(turned).amax(0) / (output_scale * width)


def _rival_drifts(
    problem: ParameterProblem, points: ParameterPoints, there: Sequence[Tensor], count: int, seed: int
) -> tuple[Float[Tensor, "k p"], Float[Tensor, "k p"]]:
    """Drifts of constant random fields that carry every point as far as the candidate did."""
    generator = seed_generator(HELD_OUT + seed)
    losses, outputs = [], []
    for _ in range(count):
        direction = torch.randn(*points.theta.shape, generator=generator, dtype=torch.float64)
        direction = direction.to(points.theta)
        direction /= direction.norm(dim=1, keepdim=True)
        rivals = [points.theta + (t - points.theta).norm(dim=1, keepdim=True) * direction for t in there]
        changed, turned = _drifts(problem, points, rivals)
        losses.append(changed.amax(1))
        outputs.append(turned.amax(1))
    return torch.stack(losses), torch.stack(outputs)


def _derivative(
    problem: ParameterProblem, candidate: CandidateSymmetry, points: ParameterPoints
) -> float | None:
    if isinstance(candidate, Transformation):
        return None
    tangents = velocities(candidate, points)
    gradients = point_gradients(problem, points)  # reverse mode: some operations have no other
    along = torch.einsum("pbn,pn->pb", gradients, tangents)
    sizes = gradients.norm(dim=2) * tangents.norm(dim=1, keepdim=True)
    return float((along / sizes.clamp_min(torch.finfo(sizes.dtype).tiny)).square().mean().sqrt())


def _group_law(candidate: CandidateSymmetry, points: ParameterPoints, times: Sequence[float]) -> float | None:
    if isinstance(candidate, Transformation):
        return None
    s, t = times[0], 0.7 * times[-1]
    twice = moved_parameters(candidate, points.at(moved_parameters(candidate, points, t)), s)
    once = moved_parameters(candidate, points, s + t)
    return float(((twice - once).norm(dim=1) / points.theta.norm(dim=1)).max())


def _other_data(
    problem: ParameterProblem,
    candidate: CandidateSymmetry,
    points: ParameterPoints,
    other: ParameterPoints,
    time: float,
) -> tuple[float, float]:
    """Loss drift on another batch after moving with the first; how far the move depends on the batch."""
    there = moved_parameters(candidate, points, time)
    unseen = ParameterPoints(points.theta, other.x, other.y)
    strayed = float(_drifts(problem, unseen, [there])[0].max())
    elsewhere = moved_parameters(candidate, unseen, time)
    step = (there - points.theta).norm(dim=1).square().mean().sqrt()
    apart = (elsewhere - there).norm(dim=1).square().mean().sqrt()
    return strayed, float(apart / step) if float(step) > 0 else 0.0


def _batch_drift(
    problem: ParameterProblem, candidate: CandidateSymmetry, points: ParameterPoints, times: Sequence[float]
) -> float:
    return float(
        _drifts(problem, points, [moved_parameters(candidate, points, time) for time in times])[0].max()
    )
