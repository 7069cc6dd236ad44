"""The rows of the price list: what to do, what it reaches, what it costs, and which comes first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from symscope.forecasting._task_wording import seconds_text, target_text
from symscope.numerics import byte_text

# the order of equally good ones: the least work first
EASE = ("nothing", "average", "augment", "samples", "build in", "architecture")


@final
@dataclass(frozen=True)
class Change:
    """What a row of the price list changes, for those who combine changes.

    Attributes:
        samples: Samples of each class, as a multiple of today's.
        elements: Elements in which the training data holds every sample; 0 as today.
        chosen: Which these are: "spread" evenly, "drawn" for each sample, or a "range" about upright.
        remedy: "none", "average", "build in", the name of another architecture, or that with ", averaged".
    """

    samples: int = 1
    elements: int = 0
    remedy: str = "none"
    chosen: str = "spread"


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
        training_seconds: Seconds of a whole training on this machine, about.
        data_bytes: Bytes of its data.
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
    training_seconds: float = math.nan
    data_bytes: int = 0

    @property
    def training_data_text(self) -> str:
        """The training data over today's, and in bytes.

        >>> Advice("samples", "", 0.9, 0.8, 1.0, 0.1, 2.0, 1, "", data_bytes=25_088_000).training_data_text
        'x 2.0, 25 MB'
        """
        size = f", {byte_text(float(f'{self.data_bytes:.2g}'))}" if self.data_bytes else ""
        return f"x {self.training_cost:.1f}{size}"

    @property
    def training_time_text(self) -> str:
        """How long a whole training takes, about; a dash where nothing was timed.

        >>> Advice("samples", "", 0.9, 0.8, 1.0, 0.1, 2.0, 1, "", training_seconds=41.2).training_time_text
        '42 s'
        """
        return "–" if math.isnan(self.training_seconds) else seconds_text(self.training_seconds)


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


def rank_combinations(rows: list[Advice]) -> tuple[Advice, ...]:
    """Two changes at a time: what reaches most first, of those the least training.

    >>> rows = [Advice("combined", "", score, 0.0, 1.0, 0.1, 1.0, 8, "") for score in (0.2, 0.9)]
    >>> [one.accuracy for one in rank_combinations(rows)]
    [0.9, 0.2]
    """
    return tuple(sorted(rows, key=lambda one: (-one.accuracy, one.training_cost)))


def cheapest_ways(advice: Sequence[Advice], combinations: Sequence[Advice], target: float) -> str:
    """The ways to a target in one sentence; two changes at a time where none reaches it alone.

    Args:
        advice: Single changes, ranked.
        combinations: Two changes at a time.
        target: Score to reach.

    >>> cheapest_ways([Advice("augment", "Augment.", 0.95, 0.9, 1.0, 0.4, 2.0, 1, "")], [], 0.9)
    'To reach 0.90: augment.'
    """
    ways = [one for one in advice if one.accuracy >= target]
    ways = ways or [one for one in combinations if one.accuracy >= target]
    if any(one.kind == "nothing" for one in ways):
        return f"Nothing is needed to reach {target_text(target)}."
    if not ways:
        best = max((*advice, *combinations), key=lambda one: one.accuracy)
        most = f"the most, {best.accuracy:.3f}: {best.text}"
        return f"Nothing that was tried is predicted to reach {target_text(target)}; {most}"
    named = [one.text.rstrip(".") for one in ways[:3]]
    listed = "; or ".join(f"{text[0].lower()}{text[1:]}" for text in named)
    return f"To reach {target_text(target)}: {listed}."
