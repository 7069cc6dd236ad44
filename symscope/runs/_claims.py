"""Claims: a paper's statement, what was measured, the threshold, and the verdict that follows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import final

from symscope.errors import InputError


@final
class Verdict(StrEnum):
    """Whether a claim was reproduced."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    NOT_CHECKED = "not checked at this size"


@final
@dataclass(frozen=True)
class Claim:
    """One statement of a paper, checked.

    Make it with `Claim.at_most`, `Claim.at_least`, `Claim.from_check` or `Claim.not_checked`: the verdict
    then follows from the numbers.

    Attributes:
        statement: What is claimed, in a sentence that stands alone.
        source: Where the paper states it, for example "Fig. 3B"; "beyond the paper" when it does not.
        measured: The number, or words where no single number is enough.
        threshold: The condition on the measured value, for example "<= 1e-08".
        verdict: Whether the claim was reproduced.
        why: Why it was not checked, or how to interpret the number.
    """

    statement: str
    source: str
    measured: float | int | str | None
    threshold: str
    verdict: Verdict
    why: str = ""

    def __post_init__(self) -> None:
        if not self.statement.strip() or not self.source.strip():
            raise InputError(
                f"a claim needs a statement and a source, got {self.statement!r} and {self.source!r}"
            )
        if self.verdict is Verdict.NOT_CHECKED and not self.why.strip():
            raise InputError(f"claim {self.statement!r} was not checked: say why")

    @property
    def measured_text(self) -> str:
        """The measured value with four digits, words as they are, nothing as a dash."""
        if self.measured is None:
            return "–"
        if isinstance(self.measured, str):
            return self.measured
        return "not a number" if math.isnan(self.measured) else f"{self.measured:.4g}"

    @staticmethod
    def at_most(
        statement: str, source: str, measured: float | int, threshold: float | int, *, why: str = ""
    ) -> Claim:
        """A claim that a number is at most a threshold; NaN never is.

        >>> Claim.at_most("both errors agree", "Fig. 3B", 3e-12, 1e-8).verdict.value
        'reproduced'
        >>> Claim.at_most("both errors agree", "Fig. 3B", float("nan"), 1e-8).verdict.value
        'not reproduced'
        """
        good = bool(measured <= threshold)  # a number of numpy compares to one of numpy
        return Claim(statement, source, float(measured), f"<= {threshold:g}", _verdict(good), why)

    @staticmethod
    def at_least(
        statement: str, source: str, measured: float | int, threshold: float | int, *, why: str = ""
    ) -> Claim:
        """A claim that a number is at least a threshold; NaN never is.

        >>> Claim.at_least("the two rank alike", "Fig. 5A", 0.97, 0.9).verdict.value
        'reproduced'
        """
        good = bool(measured >= threshold)
        return Claim(statement, source, float(measured), f">= {threshold:g}", _verdict(good), why)

    @staticmethod
    def from_check(
        statement: str, source: str, good: bool, *, measured: float | int | str, threshold: str, why: str = ""
    ) -> Claim:
        """A claim decided by a comparison of your own; `measured` and `threshold` describe it in words.

        >>> words = {"measured": "rises once", "threshold": "never rises"}
        >>> Claim.from_check("falls with N", "Fig. 3E", False, **words).verdict.value
        'not reproduced'
        """
        return Claim(statement, source, measured, threshold, _verdict(good), why)

    @staticmethod
    def not_checked(statement: str, source: str, why: str) -> Claim:
        """A claim this run is too small to decide.

        >>> Claim.not_checked("no grokking in 1000 epochs", "App. B", "quick trains for 20").verdict.value
        'not checked at this size'
        """
        return Claim(statement, source, None, "", Verdict.NOT_CHECKED, why)


def tally(claims: Sequence[Claim]) -> str:
    """How many claims had which verdict, as a sentence.

    >>> tally([Claim.at_most("small", "Fig. 1", 0.1, 1.0), Claim.at_most("tiny", "Fig. 1", 0.1, 0.01)])
    '1 of 2 checked claims reproduced; 1 not reproduced.'
    """
    counts = {verdict: sum(claim.verdict is verdict for claim in claims) for verdict in Verdict}
    checked = len(claims) - counts[Verdict.NOT_CHECKED]
    if not checked:
        return "No claim was checked."
    whole = "All" if counts[Verdict.REPRODUCED] == checked else f"{counts[Verdict.REPRODUCED]} of"
    words = [f"{whole} {checked} checked claims reproduced"]
    words += [f"{counts[v]} {v}" for v in (Verdict.NOT_REPRODUCED, Verdict.NOT_CHECKED) if counts[v]]
    return "; ".join(words) + "."


def without_cells(claims: list[Claim], failed: int, total: int) -> list[Claim]:
    """The same claims when some cells failed: nothing counts as reproduced on part of the evidence.

    >>> claim = Claim.at_most("small", "Fig. 1", 0.1, 1.0)
    >>> without_cells([claim], failed=2, total=9)[0].verdict.value
    'not checked at this size'
    """
    if failed == 0:
        return claims
    why = f"{failed} of {total} cells failed, so the evidence is incomplete."
    return [
        replace(claim, verdict=Verdict.NOT_CHECKED, why=f"{why} {claim.why}".strip())
        if claim.verdict is Verdict.REPRODUCED
        else claim
        for claim in claims
    ]


def _verdict(good: bool) -> Verdict:
    return Verdict.REPRODUCED if good else Verdict.NOT_REPRODUCED
