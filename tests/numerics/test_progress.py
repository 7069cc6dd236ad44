from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from symscope.numerics import partial_progress


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_parts_add_up_to_the_whole(parts):
    total, calls = sum(parts), []
    for k, steps in enumerate(parts):
        part = partial_progress(lambda *now: calls.append(now), sum(parts[:k]), total)
        for done in range(1, steps + 1):
            part(f"part {k}", done, steps)
    assert [done for _, done, _ in calls] == list(range(1, total + 1))
    assert {whole for _, _, whole in calls} == {total}
    assert calls[-1][0] == f"part {len(parts) - 1}"


def test_silence_stays_silence():
    assert partial_progress(None, 1, 2) is None
