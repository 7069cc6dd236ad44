"""Kernel regression on all samples of a question: the architecture alone at full size."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from symscope.errors import TooLargeError
from symscope.forecasting._designs import Design, true_designs
from symscope.forecasting._kernel_choice import TangentKernel
from symscope.forecasting._question import Question
from symscope.forecasting._sample_split import ForecastSamples, OrbitSamples, orbit_points
from symscope.forecasting._trained_answer import ScoreTable
from symscope.groups import FiniteGroup
from symscope.numerics import Progress, explained
from symscope.spectral import CoverageRegression, coverage_cost, coverage_regression

MEMORY = 4 * 10**9  # bytes, unless the caller gives others
FEW, MANY = 10, 400  # samples of a class at which the discrepancies below were measured
FEW_DISCREPANCY, MANY_DISCREPANCY = 0.15, 0.3
TRIED = 4  # samples on which costs are measured


@final
@dataclass(frozen=True, eq=False)
class FullKernelPrediction:
    """What regression with the architecture's kernel on all known samples predicts.

    Attributes:
        known: Known samples at points that the training data lacks.
        new: New samples at elements that their class lacks; empty without new samples.
        covered: New samples at elements that their class has; empty without new samples.
        samples: Fewest and most known samples of a class.
        notes: What was special, in words.
        seconds: Time it took.
        complete: Whether all samples of the data were used.
        infinite: Whether it is the kernel of infinite width.
    """

    known: ScoreTable
    new: ScoreTable
    covered: ScoreTable
    samples: tuple[int, int]
    notes: tuple[str, ...]
    seconds: float
    complete: bool = True
    infinite: bool = True

    def __repr__(self) -> str:
        return f"FullKernelPrediction({self.headline}, {self.samples[1]} samples of a class)"

    @property
    def headline(self) -> ScoreTable:
        """New samples where there are some, else known ones."""
        return self.new if bool(self.new.count.any()) else self.known


def kernel_discrepancy(samples: int) -> float:
    """Standard deviation of what trainings reach around what the architecture's kernel predicts.

    Kernels do not learn features, networks do, the more the more samples they have: 83 cases of up to ten
    samples of a class were 0.12 off on average, networks with 400 samples of each digit 0.20 to 0.37. Between
    them by the logarithm of the samples.

    >>> kernel_discrepancy(5), round(kernel_discrepancy(63), 3), kernel_discrepancy(4000)
    (0.15, 0.225, 0.3)
    """
    share = math.log(max(FEW, min(samples, MANY)) / FEW) / math.log(MANY / FEW)
    return FEW_DISCREPANCY + share * (MANY_DISCREPANCY - FEW_DISCREPANCY)


@explained
def full_kernel_prediction(
    tangent: TangentKernel,
    question: Question,
    samples: ForecastSamples,
    ridge: float,
    seconds: float,
    device: torch.device,
    progress: Progress | None = None,
    measured: Callable[[str, Callable[[], float]], float] = lambda what, measure: measure(),
    *,
    memory: int = MEMORY,
) -> FullKernelPrediction | str:
    """Regression on all samples, if it fits the time; else the reason why not.

    Args:
        tangent: Kernel of the network, of infinite width.
        question: Data and action.
        samples: Known and new samples, and their coverage.
        ridge: Number added to the kernel's diagonal.
        seconds: Time it may take, by the estimate.
        device: Device to compute on.
        progress: Called as `progress(words, done, total)`.
        measured: Gives a time that a function measures, as `Trainings.measured` does.
        memory: Bytes it may take.
    """
    start = time.perf_counter()
    group = question.group
    designs = true_designs(samples, group)
    seen = torch.stack([design.seen for design in designs])
    known, new = samples.known, samples.new
    kernel = tangent.kernel(0)
    labels = class_targets(samples)
    few = orbit_points(question, question.data, known.indices[:TRIED]).to(device)
    fresh = 0 if new is None else len(new)
    try:
        cost = measured(
            "kernel regression",
            lambda: (
                coverage_cost(
                    kernel, few, seen, group, outputs=labels.shape[1], new_samples=fresh, memory=memory
                ).seconds
            ),
        )
    except TooLargeError as error:
        return str(error).removesuffix("; allow more, or take fewer samples")
    if cost > seconds:
        return f"about {cost:.0f} s for all {len(known)} samples"
    result = coverage_regression(
        kernel,
        orbit_points(question, question.data, known.indices),  # in double: exact symmetries stay exact
        labels,
        seen,
        group,
        ridge,
        new=None if new is None else orbit_points(question, question.new_data or question.data, new.indices),
        memory=memory,
        device=device,
        progress=progress,
    )
    tables = regression_tables(samples, group, result)
    return FullKernelPrediction(*tables, samples.per_class(), result.notes, time.perf_counter() - start)


def regression_tables(
    samples: ForecastSamples, group: FiniteGroup, result: CoverageRegression
) -> tuple[ScoreTable, ScoreTable, ScoreTable]:
    """Scores of all designs together: known at missing points, new at missing and at covered elements."""
    tables = [_tables(samples, one, result, k) for k, one in enumerate(true_designs(samples, group))]
    total = tables[0]
    for other in tables[1:]:
        total = [one + two for one, two in zip(total, other, strict=True)]
    return total[0], total[1], total[2]


def class_targets(samples: ForecastSamples) -> Float64[Tensor, "p c"]:
    """One-hot classes in the order of their places, or standardised numbers, of each sample.

    Of each point, sample after sample, where numbers change with the element.
    """
    known = samples.known
    if known.wanted.is_floating_point():
        wanted = known.wanted.double()
        return wanted[:, 0] if samples.target_action is None else wanted.flatten(0, 1)
    return torch.nn.functional.one_hot(known.positions, samples.classes).double()


def _tables(
    samples: ForecastSamples, design: Design, result: CoverageRegression, number: int
) -> list[ScoreTable]:
    """Scores of one design: known at missing points, new at missing and at covered elements."""
    known = _table(samples, samples.known, result.prediction[number].cpu(), ~design.seen)
    if samples.new is None:
        empty = ScoreTable(torch.zeros_like(known.total), torch.zeros_like(known.count))
        return [known, empty, empty]
    lacks = design.missing[samples.new.positions]
    own = lacks.any(1, keepdim=True) if samples.coverage is None else torch.ones_like(lacks)
    outputs = result.new_prediction[number].cpu()
    return [known, *(_table(samples, samples.new, outputs, mask) for mask in (lacks, ~lacks & own))]


def _table(
    samples: ForecastSamples,
    orbit: OrbitSamples,
    outputs: Float64[Tensor, "m n c"],
    mask: Bool[Tensor, "m n"],
) -> ScoreTable:
    at = mask.nonzero()
    chosen, positions = outputs[at[:, 0], at[:, 1]], orbit.positions[at[:, 0]]
    if orbit.wanted.is_floating_point():
        scores = samples.scores(chosen, orbit.wanted[at[:, 0], at[:, 1]])
    else:
        scores = (chosen.argmax(1) == positions).double()
    cells = positions * samples.order + at[:, 1]
    size = samples.classes * samples.order
    total = torch.zeros(size, dtype=torch.float64).index_add(0, cells, scores)
    shape = (samples.classes, samples.order)
    return ScoreTable(total.reshape(shape), cells.bincount(minlength=size).reshape(shape))
