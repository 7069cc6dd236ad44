"""Claims: a paper's statement, what was measured, the threshold, and the verdict that follows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import final

from symscope.errors import InputError


@final
class Verdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    NOT_CHECKED = "not checked at this size"


@final
@dataclass(frozen=True)
class Claim:
    """One statement of a paper, checked.

    Make it with `below`, `above`, `holds` or `unchecked`: the verdict then follows from the numbers.

    Attributes:
        statement: What is claimed, in a sentence that stands alone.
        source: Where the paper says it, for example "Fig. 3B"; "beyond the paper" when it does not.
        measured: The number, or words where no single number says it.
        threshold: What was asked of it, for example "<= 1e-08".
        verdict: The outcome.
        why: A remark: why it was not checked, or how to read the number.
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


def below(
    statement: str, source: str, measured: float | int, threshold: float | int, *, why: str = ""
) -> Claim:
    """A claim that a number is at most a threshold; NaN never is.

    >>> below("both errors agree", "Fig. 3B", 3e-12, 1e-8).verdict.value
    'reproduced'
    >>> below("both errors agree", "Fig. 3B", float("nan"), 1e-8).verdict.value
    'not reproduced'
    """
    good = bool(measured <= threshold)  # a number of numpy compares to one of numpy
    return Claim(statement, source, float(measured), f"<= {threshold:g}", _verdict(good), why)


def above(
    statement: str, source: str, measured: float | int, threshold: float | int, *, why: str = ""
) -> Claim:
    """A claim that a number is at least a threshold; NaN never is.

    >>> above("the two rank alike", "Fig. 5A", 0.97, 0.9).verdict.value
    'reproduced'
    """
    good = bool(measured >= threshold)
    return Claim(statement, source, float(measured), f">= {threshold:g}", _verdict(good), why)


def holds(
    statement: str, source: str, good: bool, *, measured: float | int | str, threshold: str, why: str = ""
) -> Claim:
    """A claim decided by a comparison of your own; `measured` and `threshold` say it in words.

    >>> holds("falls with N", "Fig. 3E", False, measured="rises once", threshold="never rises").verdict.value
    'not reproduced'
    """
    return Claim(statement, source, measured, threshold, _verdict(good), why)


def unchecked(statement: str, source: str, why: str) -> Claim:
    """A claim this run is too small to decide.

    >>> unchecked("no grokking in 1000 epochs", "App. B", "quick trains for 20 epochs").verdict.value
    'not checked at this size'
    """
    return Claim(statement, source, None, "", Verdict.NOT_CHECKED, why)


def without_cells(claims: list[Claim], failed: int, total: int) -> list[Claim]:
    """The same claims when some cells failed: nothing counts as reproduced on part of the evidence.

    >>> [c.verdict.value for c in without_cells([below("small", "Fig. 1", 0.1, 1.0)], failed=2, total=9)]
    ['not checked at this size']
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


def measured_text(measured: float | int | str | None) -> str:
    """A measured value as a reader wants it: four digits, words as they are, nothing as a dash.

    >>> measured_text(0.000123456), measured_text(None), measured_text("rises once")
    ('0.0001235', '–', 'rises once')
    """
    if measured is None:
        return "–"
    if isinstance(measured, str):
        return measured
    return "not a number" if math.isnan(measured) else f"{measured:.4g}"


def _verdict(good: bool) -> Verdict:
    return Verdict.REPRODUCED if good else Verdict.NOT_REPRODUCED
