"""The benchmark of regression on a coverage, with a few digits."""

from __future__ import annotations

from benchmarks import coverage


def test_a_small_run_agrees_with_dense_regression():
    result = coverage.run(None, per_class=3, new=1, check=2)
    assert result["points"] == 240
    assert result["new points"] == 80
    assert result["largest difference to dense regression"] < 1e-8
    assert result["operations"] > result["kernel entries"] * 1568
    assert 0 < result["invariance error"] < 0.01
