"""Verdicts follow from the numbers, and never from hope."""

from __future__ import annotations

import math

import pytest

from symscope import InputError
from symscope.runs import Claim, Verdict
from symscope.runs._claims import without_cells


@pytest.mark.parametrize(
    ("claim", "good"),
    [
        (Claim.at_most("s", "f", 1.0, 1.0), True),
        (Claim.at_most("s", "f", 1.0000001, 1.0), False),
        (Claim.at_most("s", "f", math.nan, 1.0), False),
        (Claim.at_least("s", "f", 1.0, 1.0), True),
        (Claim.at_least("s", "f", 0.9999999, 1.0), False),
        (Claim.at_least("s", "f", math.nan, 1.0), False),
        (Claim.from_check("s", "f", True, measured="yes", threshold="yes"), True),
        (Claim.from_check("s", "f", False, measured="no", threshold="yes"), False),
    ],
)
def test_the_verdict_follows_from_the_measured_value(claim, good):
    assert claim.verdict is (Verdict.REPRODUCED if good else Verdict.NOT_REPRODUCED)


def test_missing_cells_take_back_what_was_reproduced_but_not_what_was_refuted():
    claims = [
        Claim.at_most("a", "f", 0.0, 1.0, why="Largest."),
        Claim.at_most("b", "f", 2.0, 1.0),
        Claim.not_checked("c", "f", "too small"),
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
        Claim.at_most(" ", "Fig. 1", 0.0, 1.0)
    with pytest.raises(InputError, match="say why"):
        Claim("s", "f", None, "", Verdict.NOT_CHECKED)


def test_values_are_read_by_people():
    claims = [
        Claim("s", "f", value, "", Verdict.REPRODUCED) for value in (math.nan, 1234567.0, None, "twice")
    ]
    assert [claim.measured_text for claim in claims] == ["not a number", "1.235e+06", "–", "twice"]
