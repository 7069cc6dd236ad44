"""Verdicts follow from the numbers, and never from hope."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from symscope import InputError
from symscope.runs import Claim, ClaimKind, Verdict
from symscope.runs._claims import tally, without_cells


@pytest.mark.parametrize(
    ("claim", "good"),
    [
        (Claim.at_most("s", "f", 1.0, 1.0, quote="q"), True),
        (Claim.at_most("s", "f", 1.0000001, 1.0, quote="q"), False),
        (Claim.at_most("s", "f", math.nan, 1.0, quote="q"), False),
        (Claim.at_least("s", "f", 1.0, 1.0, quote="q"), True),
        (Claim.at_least("s", "f", 0.9999999, 1.0, quote="q"), False),
        (Claim.at_least("s", "f", math.nan, 1.0, quote="q"), False),
        (Claim.from_check("s", "f", True, measured="yes", threshold="yes", quote="q"), True),
        (Claim.from_check("s", "f", False, measured="no", threshold="yes", quote="q"), False),
    ],
)
def test_the_verdict_follows_from_the_measured_value(claim, good):
    assert claim.verdict is (Verdict.HOLDS if good else Verdict.CONTRADICTED)


def test_missing_cells_take_back_what_was_reproduced_but_not_what_was_refuted():
    claims = [
        Claim.at_most("a", "f", 0.0, 1.0, quote="q", why="Largest."),
        Claim.at_most("b", "f", 2.0, 1.0, quote="q"),
        Claim.not_checked("c", "f", "too small", quote="q"),
    ]
    after = without_cells(claims, failed=1, total=4)
    assert [claim.verdict for claim in after] == [
        Verdict.NOT_CHECKED,
        Verdict.CONTRADICTED,
        Verdict.NOT_CHECKED,
    ]
    assert after[0].why == "1 of 4 cells failed, so the evidence is incomplete. Largest."
    assert without_cells(claims, failed=0, total=4) == claims


def test_a_claim_whose_cells_are_all_there_keeps_its_verdict_when_others_were_not_run():
    part = Claim.at_most("a", "f", 0.0, 1.0, quote="q")
    whole = replace(part, complete=True)
    after = without_cells([whole, part], failed=0, total=9, missing=3)
    assert [claim.verdict for claim in after] == [Verdict.HOLDS, Verdict.NOT_CHECKED]
    assert after[1].why == "3 of 9 cells were not run, so the evidence is incomplete."


def test_claims_need_words():
    with pytest.raises(InputError, match="needs a statement and the place"):
        Claim.at_most(" ", "Fig. 1", 0.0, 1.0, quote="q")
    with pytest.raises(InputError, match="stated by the paper: quote its words"):
        Claim.at_most("s", "Fig. 1", 0.0, 1.0, quote=" ")
    with pytest.raises(InputError, match="say why"):
        Claim.not_checked("s", "f", " ", quote="q")
    with pytest.raises(InputError, match="verdict is for what the paper states"):
        Claim(ClaimKind.BEYOND, "s", "f", 1.0, verdict=Verdict.HOLDS)


def test_values_are_read_by_people():
    claims = [Claim(ClaimKind.QUANTIFIED, "s", "f", value) for value in (math.nan, 1234567.0, None, "twice")]
    assert [claim.measured_text for claim in claims] == ["not a number", "1.235e+06", "–", "twice"]
    assert Claim.quantified("s", "f", 0.5, uncertainty="± 0.1").measured_text == "0.5 ± 0.1"


def test_measurements_have_no_verdict_and_never_change_the_count_of_those_that_have():
    stated = Claim.from_check("s", "f", True, measured="yes", threshold="yes", quote="q")
    other = Claim.number_differs("s", "Table 1", measured=2.0, stated="1.0", quote="1.0", why="No epochs.")
    measured = [Claim.quantified("r", "Fig. 2", 0.7), Claim.beyond("d", np.float64(1e-16))]
    assert [claim.verdict for claim in measured] == [None, None]
    assert type(measured[1].measured) is float
    assert tally([stated, other, *measured]) == (
        "2 stated claims: 1 holds, 1 number differs, setting unknown; 2 measurements."
    )
    assert tally([]) == "No claim was checked."
