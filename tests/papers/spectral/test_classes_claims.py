"""Claims of `spectral/classes` from tables made by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from symscope_papers.spectral.classes_claims import class_claims, half_way, mean_accuracy


def tables(trained=(0.1, 0.3, 0.9), rule=(0.0, 0.2, 0.95), gap=1e-12, angles=(4, 8, 16)):
    curves = {
        "trained": trained,
        "rule": rule,
        "regression": rule,
        "group form": rule,
        "trained, on training points": (1.0, 0.99, 0.98),
    }
    rows = [
        {"angles": n, "trial": trial, "left_out": 3, "method": method, "accuracy": value}
        for method, values in curves.items()
        for n, value in zip(angles, values, strict=True)
        for trial in (0, 1)
    ]
    agreement = [{"angles": n, "trial": 0, "largest_difference": gap, "departure": 0.0} for n in angles]
    return {"accuracy": pd.DataFrame(rows), "agreement": pd.DataFrame(agreement)}


def verdicts(**changes):
    return [claim.verdict.value for claim in class_claims(None, tables(**changes))]


def test_half_way_is_where_the_line_between_two_points_crosses_one_half():
    assert half_way([2, 4, 16], [0.0, 0.25, 0.75]) == 3.0
    assert half_way([2, 4], [0.6, 0.9]) is None
    assert half_way([2, 4], [0.1, 0.4]) is None


def test_the_error_is_that_of_the_mean_over_trials_of_means_over_digits():
    values = {(0, 3): 0.0, (0, 7): 0.4, (1, 3): 0.6, (1, 7): 1.0}
    rows = [
        {"angles": 8, "trial": t, "left_out": c, "method": "rule", "accuracy": a}
        for (t, c), a in values.items()
    ]
    [[_, mean, error]] = mean_accuracy(pd.DataFrame(rows), "rule").to_numpy().tolist()
    assert mean == pytest.approx(0.5)
    assert error == pytest.approx(0.3)  # of 0.2 and 0.8


def test_what_the_paper_says_is_reproduced_and_its_opposite_is_not():
    assert verdicts() == ["reproduced"] * 6
    assert verdicts(trained=(0.7, 0.3, 0.9))[0] == "not reproduced"
    assert verdicts(gap=1e-6)[4] == "not reproduced"


def test_a_rule_that_is_off_by_two_doublings_is_not_reproduced():
    found = verdicts(trained=(0.1, 0.3, 0.9), rule=(0.1, 0.3, 0.9), angles=(4, 16, 64))
    assert found[1] == "reproduced"
    far = verdicts(trained=(0.1, 0.2, 0.9), rule=(0.1, 0.9, 0.95), angles=(4, 16, 64))
    assert far[1] == far[3] == "not reproduced"


def test_what_cannot_be_decided_is_not_checked():
    found = verdicts(rule=(0.6, 0.7, 0.9), angles=(8, 16, 32))
    assert found[1] == found[2] == found[4] == "not checked at this size"
