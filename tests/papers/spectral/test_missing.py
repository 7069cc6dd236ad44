"""Several missing points."""

from __future__ import annotations

from dataclasses import replace

import pytest

from symscope import InputError
from symscope.runs import RunRequest, Verdict, Workers, run_experiments
from symscope_papers.spectral.missing import missing_points
from symscope_papers.spectral.missing.config import Missing


def test_the_system_is_the_regression_and_patterns_are_varied(tmp_path):
    [outcome] = run_experiments(
        [RunRequest.of("spectral/missing", device="cpu")], tmp_path, Workers(processes=0)
    )
    assert [claim.verdict for claim in outcome.claims[:2]] == [Verdict.HOLDS] * 2
    assert all(claim.measured > 0.9 for claim in outcome.claims[2:])
    every = outcome.tables()["patterns"]
    table = every[every["data"] == "circles"].reset_index(drop=True)
    random = table[(table["kind"] == "random") & (table["missing"] == 5)]
    assert random["points"].nunique() > 10
    # neighbours in a row are harder than scattered points: nothing near them is left
    arc = table[(table["kind"] == "arc") & (table["missing"] == 5)]["mean_error"].iloc[0]
    assert arc > random["mean_error"].mean()

    on_digits = every[every["data"] == "digits"]
    assert on_digits["pattern"].nunique() == 16
    assert (
        on_digits["mean_error"] - on_digits["kernel_error"]
    ).abs().max() > 1e-6  # circularising is not exact

    worse = table.copy()
    worse.loc[3, "difference"] = 1e-6
    worse.loc[0, "mean_error"] += 1e-6
    verdicts = [claim.verdict for claim in missing_points.claims(Missing(), {"patterns": worse})]
    assert verdicts == [Verdict.CONTRADICTED] * 2


def test_bad_configs_are_refused():
    with pytest.raises(InputError, match="relative_ridge: expected 0 or more, got -1"):
        replace(Missing(), relative_ridge=-1.0)
    with pytest.raises(InputError, match="points: expected 2 or more"):
        replace(Missing(), points=-3)
    with pytest.raises(InputError, match="counts: expected numbers from 1 to 23"):
        replace(Missing(), counts=(24,))
    with pytest.raises(InputError, match="patterns: expected 1 or more"):
        replace(Missing(), patterns=0)
