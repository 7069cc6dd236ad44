"""Do numbers to predict survive? Where moved samples look like samples of the data, a fit to others tells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.auditing._two_sample import LEVEL, gaussian_kernel, typical_square

RIDGE = 0.05  # of the fit, added to a kernel whose diagonal is 1
LEARNED = 0.2  # part of the variance that the fit must explain on samples as they are
CHANGED = (
    0.05  # of the variance by which the error must surely grow for "changes", and must not for "survives"
)


@final
@dataclass(frozen=True)
class TargetTest:
    """Numbers to predict under one element, by a fit to other samples.

    Attributes:
        element: Element that moves samples.
        error: Mean squared error on held-out samples as they are, in variances of the numbers.
        moved_error: Mean squared error on the same samples, moved.
        low: Lower end of the 95 % interval of the difference.
        high: Upper end of it.
        verdict: "survives", "changes", "unknown" (too few samples), or "not testable": moved samples do not
            look like the data, or the numbers cannot be predicted from it.
    """

    element: int
    error: float
    moved_error: float
    low: float
    high: float
    verdict: str


def target_tests(
    fitted: tuple[Float64[Tensor, "k d"], Float64[Tensor, "k t"]],
    asked: tuple[Float64[Tensor, "m d"], Float64[Tensor, "m t"]],
    moved: Mapping[int, tuple[Float64[Tensor, "m d"], Float64[Tensor, "m t"]]],
    comparable: Sequence[int],
) -> tuple[TargetTest, ...]:
    """For each element: is the error of a fit larger on moved samples than on the same ones as they are?

    The fit is kernel ridge regression. Only where moved samples look like the data is its error on them
    evidence: elsewhere it extrapolates.

    Args:
        fitted: Features and numbers of the samples that are fitted.
        asked: Features and numbers of other samples, as they are.
        moved: Features of these moved by each element, and the numbers they should then have.
        comparable: Elements under which samples look like the data.
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
        return (predicted - (wanted - centre) / scale).square().mean(1)

    before = errors(*asked)
    result = []
    for g, (features, wanted) in moved.items():
        after = errors(features, wanted)
        growth = after - before
        half = LEVEL * float(growth.std()) / math.sqrt(len(growth))
        low, high = float(growth.mean()) - half, float(growth.mean()) + half
        verdict = "unknown"
        if g not in comparable or float(before.mean()) > 1 - LEARNED:
            verdict = "not testable"
        elif low > CHANGED:
            verdict = "changes"
        elif high <= CHANGED:
            verdict = "survives"
        result.append(TargetTest(g, float(before.mean()), float(after.mean()), low, high, verdict))
    return tuple(result)
