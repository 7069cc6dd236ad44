"""The part of docs/results/forecast.md on forecasts asked in seconds: made from the tables beside it."""

from __future__ import annotations

import pandas as pd

from docs.tooling.forecast_bank import RESULTS, read_tables
from docs.tooling.forecast_budgets import TABLES, budgets_section
from symscope_papers.forecast.bank.scores import CASE
from symscope_papers.forecast.budgets.config import budget_cases


def test_the_page_is_made_from_the_kept_tables():
    kept = read_tables(RESULTS / "forecast-budgets", TABLES)
    assert budgets_section(kept) in (RESULTS / "forecast.md").read_text(encoding="utf-8")
    listed = pd.DataFrame(budget_cases())[[*CASE, "length", "held_out"]]
    both = kept["cases"].merge(listed, on=CASE, suffixes=("", "_listed"))
    assert len(both) == len(kept["cases"]) == len(listed)
    assert (both["length"] == both["length_listed"]).all()
    assert (both["held_out"] == both["held_out_listed"]).all()


def test_what_came_out_and_what_did_not_is_marked():
    """Two cases of 10 % of the time made up by hand, one of them held out and refused in 3 %."""
    first = dict.fromkeys(CASE, "a") | {"length": "minutes", "held_out": False}
    second = first | {"network": "b", "held_out": True}
    answer = {"share": 0.1, "position": 0, "method": "pilot", "forecast": 0.5, "low": 0.4, "high": 0.7}
    asked = {"share": 0.1, "method": "pilot", "seconds": 2.0, "budget": 4.0, "fitted": 0.8}
    asked["steps_share"] = 0.04
    trained = {"position": 0, "first_accuracy": 0.6, "second_accuracy": 0.7, "other_accuracy": 0.8}
    tables = {
        "cases": pd.DataFrame([first, second]),
        "trained": pd.DataFrame([first | trained, second | trained]),
        "asked": pd.DataFrame(
            [first | asked, second | asked, second | asked | {"share": 0.03, "method": "refused"}]
        ),
        "forecasts": pd.DataFrame([first | answer, second | answer | {"forecast": 0.6}]),
    }
    text = budgets_section(tables)
    assert "2 cases, 1 of them held out" in text
    # a pair of trainings counts both ways: (0 + 0.1) / 2 = 0.05 over 0.1
    assert "| 1 held out | 10% | 4.0% | 0.050 | 0.100 | 0.50 ✓ | 0.200 | 0.25 |" in text
    assert "| 2 all | 10% | 4.0% | 0.100 | 0.100 | 1.00 ✓ | 0.200 | 0.50 |" in text
    assert "100% ✗" in text  # intervals hold all, 90 to 97 % was claimed
    assert "0 of 2 | 0.50, at most 0.50 |" in text
    assert "| b, held out | minutes | 0.050 | 0.100 | 0.200 | -0.050 | 80% | 1 |" in text
    assert "two to sixteen seconds" not in text
