"""Planted faults are named first, and clean networks come out clean; all of them: "
"`benchmarks.audit_faults`."""

from __future__ import annotations

import pytest

from symscope.auditing import audit
from tests.auditing.planted import CLEAN, FAULTS, Fault, is_named

FAST = [one for one in (*FAULTS, *CLEAN) if one.fast]


def test_there_are_thirty_faults_or_more():
    assert len(FAULTS) >= 30
    assert len({one.name for one in (*FAULTS, *CLEAN)}) == len(FAULTS) + len(CLEAN)


@pytest.mark.parametrize("fault", FAST, ids=[one.name for one in FAST])
def test_the_fault_is_named_first(fault: Fault):
    given = fault.make()
    result = audit(given.pop("model"), given.pop("data"), given.pop("action"), repairs=False, **given)
    assert is_named(fault, result), result.verdict
    if result.causes:
        assert sum(one.share for one in result.causes) == pytest.approx(1.0)
        assert all(one.low <= one.share <= one.high for one in result.causes)
