"""Does a candidate hold where it was not found? Held-out parameters and data, finite times, random rivals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.discovery._parameter_problem import Problem
from symscope.discovery.candidates import Candidate, Transformation, moved, velocities
from symscope.discovery.loss_derivatives import sample_gradients, sample_losses, sample_outputs
from symscope.discovery.sampling import Sample
from symscope.errors import InputError

HELD_OUT = 1 << 32  # added to seeds: no point of a discovery is met again
STILL = 1e-12  # a candidate that moves parameters by less than this, relatively, does nothing


class Judgement(Enum):
    """What the held-out test says of a candidate."""

    SYMMETRY = "symmetry"
    APPROXIMATE = "closer to a symmetry than random fields, but not within the tolerance"
    NONE = "no symmetry"
    TRIVIAL = "does nothing"


@final
@dataclass(frozen=True)
class Verification:
    """A held-out test of one candidate. Losses and outputs are relative to their root mean square.

    Attributes:
        name: Of the candidate.
        judgement: The verdict.
        points: Held-out parameter vectors, each with its own data.
        tolerance: Largest loss drift a symmetry may have.
        level: Error level of the two statements below.
        failures: Points whose drift is above the tolerance.
        failing_share: With confidence `1 - level`, the candidate fails on less than this share of parameters
            and data (Clopper-Pearson).
        chance: How often a random field of the same norm drifts as little, `(1 + rank) / (1 + rivals)`.
        derivative: Root mean square of `|D L . V| / (|D L| |V|)`; None for a finite transformation.
        loss_drift: Largest relative change of a data point's loss.
        output_drift: Largest relative change of an output (translations of softmax change outputs only).
        random_loss_drift: Median over random fields of the same norm of the same quantity as `loss_drift`.
        random_output_drift: The same for outputs.
        group_law: Largest `|a(s, a(t, theta)) - a(s + t, theta)| / |theta|`; None for a transformation.
        data_dependence: Relative change of where theta goes when the batch is another one.
        other_data_drift: Loss drift on a batch the candidate did not see.
        batch_drifts: Loss drift by batch size (Prop. 4.4).
    """

    name: str
    judgement: Judgement
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
        return self.judgement is Judgement.SYMMETRY

    @property
    def largest_batch(self) -> int:
        """The largest batch size tested at which losses keep still; 0 when none does."""
        return max((size for size, drift in self.batch_drifts if drift <= self.tolerance), default=0)

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.judgement.value}; loss drift {self.loss_drift:.1e} (random field "
            f"{self.random_loss_drift:.1e}), fails on less than {self.failing_share:.0%} of points with "
            f"confidence {1 - self.level:.0%}"
        )


def verify(
    problem: Problem,
    candidate: Candidate,
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
    norm), forwards, and the longest backwards. The verdict is "symmetry" when every data point's loss stays
    within the tolerance at every point and random fields of the same norm do worse at the error level.

    Args:
        problem: Network and loss.
        candidate: A field, a one-parameter action, or a finite transformation.
        seed: Of the held-out points (never those of a discovery with the same seed).
        points: How many parameter vectors.
        batch_sizes: Data points at each; main figures are for the largest. Use (1,) for fields made for one.
        lengths: How far to go.
        random_fields: Rivals; the smallest error level they can show is `1 / (random_fields + 1)`.
        tolerance: Largest relative loss drift of a symmetry.
        level: Error level.

    Returns:
        The test's figures and verdict.

    Raises:
        InputError: Settings that cannot give the asked level, or a flow that leaves the finite numbers.

    >>> from torch import nn
    >>> from symscope.discovery import gaussian_data, problem
    >>> from symscope.discovery.fields import linear_field
    >>> net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    >>> rescaling = linear_field(torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64)), name="rescaling")
    >>> verify(problem(net, "squared", gaussian_data((1,), (1,))), rescaling, seed=0).holds
    True
    """
    _check_settings(points, batch_sizes, lengths, random_fields, tolerance, level)
    sizes = sorted(set(batch_sizes))
    held_out = {size: problem.sample(points, size, HELD_OUT + seed, held_out=True) for size in sizes}
    sample = held_out[sizes[-1]]
    other = problem.sample(points, sizes[-1], HELD_OUT + seed + 1, held_out=True)
    times = _times(candidate, sample, lengths)
    there = [moved(candidate, sample, time) for time in times]
    losses, outputs = _drifts(problem, sample, there)
    rivals, rival_outputs = _rival_drifts(problem, sample, there, random_fields, seed)
    per_point = losses.amax(1)
    failures = int((~(per_point <= tolerance)).sum())  # NaN fails
    strayed, dependence = _other_data(problem, candidate, sample, other, times[0])
    chance = (1 + int((rivals.median(1).values <= per_point.median()).sum())) / (1 + random_fields)
    travelled = max(float(((t - sample.theta).norm(dim=1) / sample.theta.norm(dim=1)).max()) for t in there)
    return Verification(
        name=candidate.name,
        judgement=_judgement(travelled, failures, chance, level),
        points=points,
        tolerance=tolerance,
        level=level,
        failures=failures,
        failing_share=failing_share(failures, points, level),
        chance=chance,
        derivative=_derivative(problem, candidate, sample),
        loss_drift=float(losses.max()),
        output_drift=float(outputs.max()),
        random_loss_drift=float(rivals.amax(1).median()),
        random_output_drift=float(rival_outputs.amax(1).median()),
        group_law=_group_law(candidate, sample, times),
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


def _judgement(travelled: float, failures: int, chance: float, level: float) -> Judgement:
    if travelled < STILL:
        return Judgement.TRIVIAL
    if chance > level:
        return Judgement.NONE
    return Judgement.SYMMETRY if failures == 0 else Judgement.APPROXIMATE


def _times(candidate: Candidate, sample: Sample, lengths: Sequence[float]) -> list[float]:
    if isinstance(candidate, Transformation):
        return [1.0]
    speed = float(velocities(candidate, sample).norm(dim=1).square().mean().sqrt())
    unit = float(sample.theta.norm(dim=1).square().mean().sqrt()) / speed if speed > 0 else 1.0
    return [*(unit * length for length in lengths), -unit * max(lengths)]


def _at(sample: Sample, theta: Float[Tensor, "p n"]) -> Sample:
    return Sample(theta, sample.x, sample.y)


def _drifts(
    problem: Problem, sample: Sample, there: Sequence[Tensor]
) -> tuple[Float[Tensor, "p b"], Float[Tensor, "p b"]]:
    """Largest relative changes of every data point's loss and outputs, over the moved points."""
    losses, outputs = sample_losses(problem, sample), sample_outputs(problem, sample)
    loss_scale, output_scale = (t.square().mean().sqrt() for t in (losses, outputs))
    changed = [(sample_losses(problem, _at(sample, t)) - losses).abs() for t in there]
    turned = [(sample_outputs(problem, _at(sample, t)) - outputs).norm(dim=2) for t in there]
    width = outputs.shape[2] ** 0.5
    return torch.stack(changed).amax(0) / loss_scale, torch.stack(turned).amax(0) / (output_scale * width)


def _rival_drifts(
    problem: Problem, sample: Sample, there: Sequence[Tensor], count: int, seed: int
) -> tuple[Float[Tensor, "k p"], Float[Tensor, "k p"]]:
    """Drifts of constant random fields that carry every point as far as the candidate did."""
    generator = torch.Generator().manual_seed(HELD_OUT + seed)
    losses, outputs = [], []
    for _ in range(count):
        direction = torch.randn(*sample.theta.shape, generator=generator, dtype=torch.float64)
        direction = direction.to(sample.theta)
        direction /= direction.norm(dim=1, keepdim=True)
        rivals = [sample.theta + (t - sample.theta).norm(dim=1, keepdim=True) * direction for t in there]
        changed, turned = _drifts(problem, sample, rivals)
        losses.append(changed.amax(1))
        outputs.append(turned.amax(1))
    return torch.stack(losses), torch.stack(outputs)


def _derivative(problem: Problem, candidate: Candidate, sample: Sample) -> float | None:
    if isinstance(candidate, Transformation):
        return None
    tangents = velocities(candidate, sample)
    gradients = sample_gradients(problem, sample)  # reverse mode: some operations have no other
    along = torch.einsum("pbn,pn->pb", gradients, tangents)
    sizes = gradients.norm(dim=2) * tangents.norm(dim=1, keepdim=True)
    return float((along / sizes.clamp_min(torch.finfo(sizes.dtype).tiny)).square().mean().sqrt())


def _group_law(candidate: Candidate, sample: Sample, times: Sequence[float]) -> float | None:
    if isinstance(candidate, Transformation):
        return None
    s, t = times[0], 0.7 * times[-1]
    twice = moved(candidate, _at(sample, moved(candidate, sample, t)), s)
    once = moved(candidate, sample, s + t)
    return float(((twice - once).norm(dim=1) / sample.theta.norm(dim=1)).max())


def _other_data(
    problem: Problem, candidate: Candidate, sample: Sample, other: Sample, time: float
) -> tuple[float, float]:
    """Loss drift on another batch after moving with the first; how far the move depends on the batch."""
    there = moved(candidate, sample, time)
    unseen = Sample(sample.theta, other.x, other.y)
    strayed = float(_drifts(problem, unseen, [there])[0].max())
    elsewhere = moved(candidate, unseen, time)
    step = (there - sample.theta).norm(dim=1).square().mean().sqrt()
    apart = (elsewhere - there).norm(dim=1).square().mean().sqrt()
    return strayed, float(apart / step) if float(step) > 0 else 0.0


def _batch_drift(problem: Problem, candidate: Candidate, sample: Sample, times: Sequence[float]) -> float:
    return float(_drifts(problem, sample, [moved(candidate, sample, time) for time in times])[0].max())
