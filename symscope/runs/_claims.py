"""Claims: what a paper states, quoted and judged; what makes a sentence measurable; what goes beyond it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, final

from symscope.errors import InputError


@final
class ClaimKind(StrEnum):
    """Whose sentence it is; only what the paper states gets a verdict."""

    STATED = "stated"
    QUANTIFIED = "quantified"
    BEYOND = "beyond the paper"


@final
class Verdict(StrEnum):
    """The verdict on a sentence or number of the paper."""

    HOLDS = "holds"
    CONTRADICTED = "contradicted"
    NUMBER_DIFFERS = "number differs, setting unknown"
    NOT_TESTABLE = "not testable as written"
    NOT_CHECKED = "not checked at this size"


@final
@dataclass(frozen=True)
class Claim:
    """A statement of a paper with a verdict, or a measurement without one.

    Stated by the paper: `Claim.at_most`, `Claim.at_least`, `Claim.from_check`, `Claim.number_differs`,
    `Claim.not_testable`, `Claim.not_checked`; the verdict follows from the numbers. Measurements:
    `Claim.quantified` makes a sentence of the paper measurable, `Claim.beyond` is not about the paper.

    Attributes:
        kind: Stated by the paper, a number that quantifies one of its sentences, or beyond the paper.
        statement: What was checked or measured, in a sentence that stands alone.
        source: Where the paper says it, for example "Fig. 3B"; empty for what goes beyond it.
        measured: The number, or words where no single number is enough.
        threshold: The condition on the measured value, for example "<= 1e-08"; for a measurement, the
            value theory expects, if there is one.
        verdict: Whether the paper's statement holds; None for measurements.
        quote: The paper's own words.
        reading: How the words were read where they allow more than one reading, and why that one.
        uncertainty: What the measured value varies by, in words, for example "± 0.02 over 30 seeds".
        why: Why it was not checked, or how to interpret the number.
        complete: Whether the experiment has seen in the tables that every cell the claim rests on is there;
            it then keeps its verdict where other cells are missing.
    """

    kind: ClaimKind
    statement: str
    source: str
    measured: float | int | str | None = None
    threshold: str = ""
    verdict: Verdict | None = None
    quote: str = ""
    reading: str = ""
    uncertainty: str = ""
    why: str = ""
    complete: bool = False

    def __post_init__(self) -> None:
        beyond = self.kind is ClaimKind.BEYOND
        if not self.statement.strip() or (not beyond and not self.source.strip()):
            raise InputError(
                f"a claim needs a statement and the place in the paper, got {self.statement!r} and "
                f"{self.source!r}; what the paper does not say is made with Claim.beyond"
            )
        if (self.kind is ClaimKind.STATED) != (self.verdict is not None):
            raise InputError(
                f"claim {self.statement!r}: a verdict is for what the paper states, and only that"
            )
        if self.kind is ClaimKind.STATED and not self.quote.strip():
            raise InputError(f"claim {self.statement!r} is stated by the paper: quote its words")
        if self.verdict in (Verdict.NOT_CHECKED, Verdict.NOT_TESTABLE) and not self.why.strip():
            raise InputError(f"claim {self.statement!r} was not checked: say why")

    @property
    def measured_text(self) -> str:
        """The measured value with four digits and its uncertainty, words as they are, nothing as a dash."""
        if self.measured is None:
            return "–"
        if isinstance(self.measured, str):
            shown = self.measured
        else:
            shown = "not a number" if math.isnan(self.measured) else f"{self.measured:.4g}"
        return f"{shown} {self.uncertainty}".rstrip()

    @property
    def outcome(self) -> str:
        """The verdict in words, or the kind of measurement where there is none."""
        return self.kind.value if self.verdict is None else self.verdict.value

    @staticmethod
    def at_most(
        statement: str,
        source: str,
        measured: float | int,
        threshold: float | int,
        *,
        quote: str,
        reading: str = "",
        uncertainty: str = "",
        why: str = "",
    ) -> Claim:
        """A number the paper states as an upper bound, or an equality to rounding; NaN never holds.

        >>> Claim.at_most("errors agree", "Fig. 3B", 3e-12, 1e-8, quote="coincide").verdict.value
        'holds'
        >>> Claim.at_most("errors agree", "Fig. 3B", float("nan"), 1e-8, quote="coincide").verdict.value
        'contradicted'
        """
        good = bool(measured <= threshold)  # a number of numpy compares to one of numpy
        words = {"quote": quote, "reading": reading, "uncertainty": uncertainty, "why": why}
        return _stated(statement, source, float(measured), f"<= {threshold:g}", _verdict(good), words)

    @staticmethod
    def at_least(
        statement: str,
        source: str,
        measured: float | int,
        threshold: float | int,
        *,
        quote: str,
        reading: str = "",
        uncertainty: str = "",
        why: str = "",
    ) -> Claim:
        """A number the paper states as a lower bound; NaN never holds.

        >>> Claim.at_least("accuracy stays high", "Fig. 5A", 0.97, 0.9, quote="above 90 %").verdict.value
        'holds'
        """
        good = bool(measured >= threshold)
        words = {"quote": quote, "reading": reading, "uncertainty": uncertainty, "why": why}
        return _stated(statement, source, float(measured), f">= {threshold:g}", _verdict(good), words)

    @staticmethod
    def from_check(
        statement: str,
        source: str,
        good: bool,
        *,
        measured: float | int | str,
        threshold: str,
        quote: str,
        reading: str = "",
        uncertainty: str = "",
        why: str = "",
    ) -> Claim:
        """A direction or shape the paper states; `measured` and `threshold` describe its test in words.

        >>> words = {"measured": "rises once", "threshold": "never rises", "quote": "decreases with N"}
        >>> Claim.from_check("falls with N", "Fig. 3E", False, **words).verdict.value
        'contradicted'
        """
        words = {"quote": quote, "reading": reading, "uncertainty": uncertainty, "why": why}
        return _stated(statement, source, measured, threshold, _verdict(good), words)

    @staticmethod
    def number_differs(
        statement: str,
        source: str,
        *,
        measured: float | int | str,
        stated: str,
        why: str,
        quote: str,
        uncertainty: str = "",
    ) -> Claim:
        """A number of the paper that comes out differently where the paper leaves settings open.

        >>> words = {"measured": 0.12, "stated": "0.011", "quote": "1.1e-2", "why": "Epochs are not given."}
        >>> Claim.number_differs("error of the trained network", "Table 1", **words).verdict.value
        'number differs, setting unknown'
        """
        words = {"quote": quote, "uncertainty": uncertainty, "why": why}
        return _stated(statement, source, measured, f"the paper has {stated}", Verdict.NUMBER_DIFFERS, words)

    @staticmethod
    def not_testable(
        statement: str,
        source: str,
        why: str,
        *,
        quote: str,
        measured: float | str | None = None,
        uncertainty: str = "",
    ) -> Claim:
        """A sentence of the paper that no computation can decide as it is written.

        What was measured is shown where the words have no border, and it lies between yes and no.

        >>> Claim.not_testable("it is natural", "Sec. 1", "no test", quote="naturally").verdict.value
        'not testable as written'
        >>> words = {"quote": "roughly linear", "measured": 0.6, "uncertainty": "± 0.05"}
        >>> Claim.not_testable("y is linear in x", "Fig. 4", "no border", **words).measured_text
        '0.6 ± 0.05'
        """
        words = {"quote": quote, "uncertainty": uncertainty, "why": why}
        return _stated(statement, source, measured, "", Verdict.NOT_TESTABLE, words)

    @staticmethod
    def not_checked(statement: str, source: str, why: str, *, quote: str) -> Claim:
        """A statement of the paper that this run is too small to decide.

        >>> Claim.not_checked("no grokking", "App. B", "20 epochs", quote="1000 epochs").verdict.value
        'not checked at this size'
        """
        return _stated(statement, source, None, "", Verdict.NOT_CHECKED, {"quote": quote, "why": why})

    @staticmethod
    def quantified(
        statement: str,
        source: str,
        measured: float | int | str,
        *,
        quote: str = "",
        uncertainty: str = "",
        why: str = "",
    ) -> Claim:
        """A measurement that puts a number to a sentence of the paper which states none.

        >>> Claim.quantified("Spearman correlation", "Fig. 5", 0.79, uncertainty="± 0.03").measured_text
        '0.79 ± 0.03'
        """
        return Claim(
            ClaimKind.QUANTIFIED,
            statement,
            source,
            _plain(measured),
            quote=quote,
            uncertainty=uncertainty,
            why=why,
        )

    @staticmethod
    def beyond(
        statement: str,
        measured: float | int | str,
        *,
        expected: str = "",
        uncertainty: str = "",
        why: str = "",
        source: str = "",
    ) -> Claim:
        """A measurement of something the paper does not say, with the value theory expects if there is one.

        >>> Claim.beyond("Largest difference from the dense oracle.", 3e-15, expected="0 to rounding").outcome
        'beyond the paper'
        """
        value = _plain(measured)
        return Claim(ClaimKind.BEYOND, statement, source, value, expected, uncertainty=uncertainty, why=why)


def tally(claims: Sequence[Claim]) -> str:
    """How many stated claims had which verdict, and how many measurements there are, as a sentence.

    >>> stated = Claim.at_most("small", "Fig. 1", 0.1, 1.0, quote="small")
    >>> tally([stated, Claim.at_most("tiny", "Fig. 1", 0.1, 0.01, quote="tiny"), Claim.beyond("size", 3)])
    '2 stated claims: 1 holds, 1 contradicted; 1 measurement.'
    >>> tally([stated, stated])
    '2 stated claims: 2 hold.'
    """
    counts = {verdict: sum(claim.verdict is verdict for claim in claims) for verdict in Verdict}
    stated = sum(counts.values())
    words = []
    if stated:
        several = {Verdict.HOLDS: "hold", Verdict.NUMBER_DIFFERS: "numbers differ, setting unknown"}
        named = {one: several.get(one, one) if count > 1 else one for one, count in counts.items() if count}
        verdicts = ", ".join(f"{counts[one]} {word}" for one, word in named.items())
        words.append(f"{stated} stated claim{'s' if stated > 1 else ''}: {verdicts}")
    if rest := len(claims) - stated:
        words.append(f"{rest} measurement{'s' if rest > 1 else ''}")
    return "; ".join(words) + "." if words else "No claim was checked."


def without_cells(claims: list[Claim], failed: int, total: int, missing: int = 0) -> list[Claim]:
    """The same claims when some cells failed or are missing: nothing holds on part of its evidence.

    Args:
        claims: Claims judged from the cells that are there.
        failed: Number of cells that failed.
        total: Number of cells of the experiment.
        missing: Number of cells that were not run.

    >>> claim = Claim.at_most("small", "Fig. 1", 0.1, 1.0, quote="small")
    >>> without_cells([claim], failed=2, total=9)[0].verdict.value
    'not checked at this size'
    >>> without_cells([replace(claim, complete=True)], failed=2, total=9)[0].verdict.value
    'holds'
    """
    if failed == missing == 0:
        return claims
    why = f"{cells_left_out(failed, missing, total)}, so the evidence is incomplete."
    return [
        replace(claim, verdict=Verdict.NOT_CHECKED, why=f"{why} {claim.why}".strip())
        if claim.verdict is Verdict.HOLDS and not claim.complete
        else claim
        for claim in claims
    ]


def cells_left_out(failed: int, missing: int, total: int) -> str:
    """How many cells give no evidence, in words.

    >>> cells_left_out(2, 0, 9), cells_left_out(1, 3, 9)
    ('2 of 9 cells failed', '1 of 9 cells failed and 3 were not run')
    """
    if not missing:
        return f"{failed} of {total} cells failed"
    return (
        f"{failed} of {total} cells failed and {missing} were not run"
        if failed
        else (f"{missing} of {total} cells were not run")
    )


def plain_claim(claim: Claim) -> dict[str, Any]:
    """A claim as it is stored: what a reader of the run needs."""
    return {name: value for name, value in asdict(claim).items() if name != "complete"}


def _stated(
    statement: str,
    source: str,
    measured: float | int | str | None,
    threshold: str,
    verdict: Verdict,
    words: dict[str, Any],
) -> Claim:
    return Claim(ClaimKind.STATED, statement, source, _plain(measured), threshold, verdict, **words)


def _plain(measured: float | int | str | None) -> float | int | str | None:
    """Numbers of numpy and pandas as Python's own, so that they can be written as JSON."""
    return measured if measured is None or isinstance(measured, str | int) else float(measured)


def _verdict(good: bool) -> Verdict:
    return Verdict.HOLDS if good else Verdict.CONTRADICTED
