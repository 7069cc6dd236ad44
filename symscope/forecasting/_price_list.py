"""The rows of the price list: what to do, what it reaches, what it costs, and which comes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

# the order of equally good ones: the least work first
EASE = ("nothing", "average", "augment", "samples", "build in", "architecture")


@final
@dataclass(frozen=True)
class Change:
    """What a row of the price list changes, for those who combine changes.

    Attributes:
        samples: Samples of each class, as a multiple of today's.
        elements: Elements in which the training data holds every sample; 0 as today.
        remedy: "none", "average", "build in", the name of another architecture, or that with ", averaged".
    """

    samples: int = 1
    elements: int = 0
    remedy: str = "none"


@final
@dataclass(frozen=True)
class Advice:
    """One thing to do, and its price.

    Attributes:
        kind: One of `EASE`; "combined" for two changes at a time.
        text: What to do, in a sentence.
        accuracy: Score it is predicted to reach at what the training data lacks now.
        low: Lower end of the 95 % interval.
        high: Upper end.
        gain: Predicted score minus the forecast for the network as it is.
        training_cost: Points per epoch over those of today.
        inference_cost: Forward passes for one answer.
        evidence: How the number was found.
        change: The same for programs.
    """

    kind: str
    text: str
    accuracy: float
    low: float
    high: float
    gain: float
    training_cost: float
    inference_cost: int
    evidence: str
    change: Change = Change()


def rank_advice(rows: list[Advice], target: float) -> tuple[Advice, ...]:
    """What reaches the target first, of those the least work, then the least training; then by accuracy.

    >>> rows = [("build in", 1.0), ("augment", 0.95)]
    >>> a = (Advice(kind, "", score, 1.0, 1.0, 0.4, 1.0, 1, "") for kind, score in rows)
    >>> [one.kind for one in rank_advice(list(a), 0.9)]
    ['augment', 'build in']
    """
    return tuple(
        sorted(
            rows,
            key=lambda one: (
                (False, EASE.index(one.kind), one.training_cost)
                if one.accuracy >= target
                else (True, -one.accuracy, one.training_cost)
            ),
        )
    )
