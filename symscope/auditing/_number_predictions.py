"""A network's predictions of numbers for moved samples: errors in the units of the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from jaxtyping import Float64
from torch import Tensor

from symscope.auditing._error_table import interval, resample_weights
from symscope.auditing._subject import Subject
from symscope.data import MeasuredData

MOST_NUMBERS = 16  # numbers to predict whose errors are listed one by one


@final
@dataclass(frozen=True)
class ElementPredictions:
    """A network's predictions of one number for all samples moved by one element.

    Attributes:
        element: Element that moves the samples.
        element_name: Name of the element.
        column: Which of the numbers to predict.
        error: Root mean square error, in the number's own units, after moving outputs back.
        low: Lower end of its 95 % interval, by bootstrap over samples.
        high: Upper end of it.
        change: Error minus that on the same samples unmoved.
        change_low: Lower end of its 95 % interval, by bootstrap over samples.
        change_high: Upper end of it.
    """

    element: int
    element_name: str
    column: int
    error: float
    low: float
    high: float
    change: float
    change_low: float
    change_high: float


def element_predictions(
    subject: Subject, kept: Sequence[int], outputs: Float64[Tensor, "e m t"], data: MeasuredData, seed: int
) -> tuple[ElementPredictions, ...]:
    """Errors of each number under each element, the first of which is the identity; of many, of all together.

    Args:
        subject: Network, data and actions.
        kept: Elements that were tried.
        outputs: Predictions for each element and sample, moved back.
        data: The samples.
        seed: Seed for bootstrap resamples.
    """
    squares = (outputs - data.targets.double()).square()
    if squares.shape[2] > MOST_NUMBERS:
        squares = squares.mean(2, keepdim=True)
    weights = resample_weights(len(data), seed)
    plain, before = (weights @ squares[0]).sqrt(), squares[0].mean(0).sqrt()
    rows = []
    for k, g in enumerate(kept):
        errors, resampled = squares[k].mean(0).sqrt(), (weights @ squares[k]).sqrt()
        rows += [
            ElementPredictions(
                g,
                subject.element_name(g),
                column,
                float(errors[column]),
                *interval(resampled[:, column]),
                float(errors[column] - before[column]),
                *interval(resampled[:, column] - plain[:, column]),
            )
            for column in range(squares.shape[2])
        ]
    return tuple(rows)


def harmful_elements(rows: Sequence[ElementPredictions]) -> tuple[int, ...]:
    """The elements that surely raise an error, the worst first.

    Numbers have their own units: an element is as bad as its largest relative growth.
    """
    growth: dict[int, float] = {}
    for one in rows:
        if one.change_low > 0:
            before = max(one.error - one.change, 1e-300)
            growth[one.element] = max(growth.get(one.element, 0.0), one.change / before)
    return tuple(sorted(growth, key=lambda g: -growth[g]))


def number_findings(rows: Sequence[ElementPredictions]) -> list[str]:
    """The main findings in sentences."""
    several = max(one.column for one in rows) > 0
    result = []
    for column in sorted({one.column for one in rows}):
        own = [one for one in rows if one.column == column]
        name = f"Number {column}: unmoved" if several else "Unmoved"
        sentence = f"{name}, the error is {own[0].error:.3g} ({own[0].low:.3g} to {own[0].high:.3g})"
        most = max(own, key=lambda one: one.error)
        if most.change_low > 0:
            sentence += (
                f"; moved by {most.element_name} it is {most.error:.3g} ({most.low:.3g} to {most.high:.3g})"
            )
        result.append(f"{sentence}.")
    if not harmful_elements(rows):
        result.append("No transformation surely raises the error.")
    return result
