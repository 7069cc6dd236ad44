"""Verdicts follow from the numbers, and never from hope."""

from __future__ import annotations

import math

import pytest

from symscope import InputError
from symscope.runs import Claim, Verdict, above, below, holds, unchecked
from symscope.runs._claims import measured_text, without_cells


@pytest.mark.parametrize(
    ("claim", "good"),
    [
        (below("s", "f", 1.0, 1.0), True),
        (below("s", "f", 1.0000001, 1.0), False),
        (below("s", "f", math.nan, 1.0), False),
        (above("s", "f", 1.0, 1.0), True),
        (above("s", "f", 0.9999999, 1.0), False),
        (above("s", "f", math.nan, 1.0), False),
        (holds("s", "f", True, measured="yes", threshold="yes"), True),
        (holds("s", "f", False, measured="no", threshold="yes"), False),
    ],
)
def test_the_verdict_follows_from_the_measured_value(claim, good):
    assert claim.verdict is (Verdict.REPRODUCED if good else Verdict.NOT_REPRODUCED)


def test_missing_cells_take_back_what_was_reproduced_but_not_what_was_refuted():
    claims = [
        below("a", "f", 0.0, 1.0, why="Largest."),
        below("b", "f", 2.0, 1.0),
        unchecked("c", "f", "too small"),
    ]
    after = without_cells(claims, failed=1, total=4)
    assert [claim.verdict for claim in after] == [
        Verdict.NOT_CHECKED,
        Verdict.NOT_REPRODUCED,
        Verdict.NOT_CHECKED,
    ]
    assert after[0].why == "1 of 4 cells failed, so the evidence is incomplete. Largest."
    assert without_cells(claims, failed=0, total=4) == claims


def test_claims_need_words():
    with pytest.raises(InputError, match="statement and a source"):
        below(" ", "Fig. 1", 0.0, 1.0)
    with pytest.raises(InputError, match="say why"):
        Claim("s", "f", None, "", Verdict.NOT_CHECKED)


def test_values_are_read_by_people():
    assert measured_text(math.nan) == "not a number"
    assert measured_text(1234567.0) == "1.235e+06"
