"""How many cells make progress at a time."""

from __future__ import annotations

import pytest

from symscope.runs import Workers
from symscope.runs._environment import usable_cores


@pytest.mark.parametrize("processes", [None, 1, 2, 64])
def test_more_processes_than_cores_are_no_faster_and_share_the_threads(processes):
    workers, cores = Workers(processes), usable_cores()
    assert 1 <= workers.slots("cpu") <= cores
    assert workers.slots("cpu") == min(processes or cores, cores)
    assert workers.slots("cuda") == 1
    assert workers.threads == max(1, cores // (processes or cores))
    assert Workers(None, "tcp://head:1").threads == 1
