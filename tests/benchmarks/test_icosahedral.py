"""The icosahedral benchmark at a small size: both ways solve the same regression."""

from __future__ import annotations

from benchmarks.icosahedral import clouds, compare


def test_the_group_form_and_the_dense_solve_agree():
    row = compare(count=4, points=4, dense=True)
    assert row["points"] == 240
    assert row["largest_difference"] < 1e-10
    assert "ratio" not in compare(count=3, points=4, dense=False)


def test_clouds_are_centred_and_differ():
    x = clouds(3, 6, seed=1)
    assert float(x.mean(1).abs().max()) < 1e-12
    assert float((x[0] - x[1]).abs().max()) > 0.1
