"""Do numbers to predict survive? Where moved samples look like samples of the data, a fit to others tells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.auditing._two_sample import LEVEL, gaussian_kernel, holm, typical_square

RIDGE = 0.05  # of the fit, added to a kernel whose diagonal is 1
LEARNED = 0.2  # part of the variance that the fit must explain on samples as they are
CHANGED = (
    0.05  # of the variance by which the error must surely grow for "changes", and must not for "survives"
)
SIGNIFICANCE = 0.05  # corrected p-value for "changes"
NO_TEST = "not testable"


@final
@dataclass(frozen=True)
class TargetTest:
    """Numbers to predict, or masks, under one element, by a fit to other samples.

    Attributes:
        element: Element that moves samples.
        error: Mean squared error on held-out samples as they are, in variances of the numbers.
        moved_error: Mean squared error on the same samples, moved.
        low: Lower end of the 95 % interval of the difference.
        high: Upper end of it.
        p_value: Chance of a difference so far from 5 % of the variance, were that the truth; corrected for
            all elements (Holm).
        verdict: "survives", "changes", "unknown" (too few samples), or "not testable": moved samples do not
            look like the data, or the numbers cannot be predicted from it.
    """

    element: int
    error: float
    moved_error: float
    low: float
    high: float
    p_value: float
    verdict: str


def target_tests(
    fitted: tuple[Float64[Tensor, "k d"], Float64[Tensor, "k t"]],
    asked: tuple[Float64[Tensor, "m d"], Float64[Tensor, "m t"]],
    moved: Mapping[int, tuple[Float64[Tensor, "m d"], Float64[Tensor, "m t"]]],
    comparable: Sequence[int],
    positions: int = 1,
) -> tuple[TargetTest, ...]:
    """For each element: is the error of a fit larger on moved samples than on the same ones as they are?

    The fit is kernel ridge regression. Only where moved samples look like the data is its error on them
    evidence: elsewhere it extrapolates. "changes" is said where the error surely grows by more than 5 % of
    the variance, by a normal test over samples, corrected for the number of elements (Holm).

    Args:
        fitted: Features and numbers of the samples that are fitted.
        asked: Features and numbers of other samples, as they are.
        moved: Features of these moved by each element, and the numbers they should then have.
        comparable: Elements under which samples look like the data.
        positions: Rows of each sample, one after another; samples are independent, rows of one are not.
    """
    base, numbers = fitted
    scale = numbers.std(0).clamp_min(1e-300)
    centre = numbers.mean(0)
    squares = torch.cdist(base, base).square()
    typical = typical_square(squares)
    kernel = gaussian_kernel(squares, typical) + RIDGE * torch.eye(len(base), dtype=torch.float64)
    weights = torch.linalg.solve(kernel, (numbers - centre) / scale)

    def errors(features: Tensor, wanted: Tensor) -> Tensor:
        predicted = gaussian_kernel(torch.cdist(features, base).square(), typical) @ weights
        rows = (predicted - (wanted - centre) / scale).square().mean(1)
        return rows.reshape(-1, positions).mean(1)

    before = errors(*asked)
    learned = float(before.mean()) <= 1 - LEARNED
    result = []
    for g, (features, wanted) in moved.items():
        after = errors(features, wanted)
        growth = after - before
        mean, deviation = float(growth.mean()), float(growth.std()) / math.sqrt(len(growth))
        away = (mean - CHANGED) / max(deviation, 1e-300)
        chance = math.erfc(abs(away) / math.sqrt(2)) if away > 0 else 1.0
        ends = (mean - LEVEL * deviation, mean + LEVEL * deviation)
        result.append(TargetTest(g, float(before.mean()), float(after.mean()), *ends, chance, ""))
    corrected = holm([one.p_value for one in result])
    return tuple(
        replace(
            one, p_value=p, verdict=_verdict(one, p) if learned and one.element in comparable else NO_TEST
        )
        for one, p in zip(result, corrected, strict=True)
    )


def _verdict(test: TargetTest, p_value: float) -> str:
    if p_value <= SIGNIFICANCE:
        return "changes"
    return "survives" if test.high <= CHANGED else "unknown"
