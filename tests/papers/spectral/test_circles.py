"""The circle experiments against stored numbers of another program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from symscope import InputError
from symscope.runs import ClaimKind, RunRequest, Verdict, Workers, run_experiments
from symscope_papers.spectral.circles.claims import judge_density, judge_distance
from symscope_papers.spectral.circles.config import Density, Distance
from tests.tolerances import LEAVE_OUT_ORACLE

ORACLE = np.load(Path(__file__).parents[2] / "data" / "fixtures" / "circles.npz", allow_pickle=False)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    names = ("spectral/circles-distance", "spectral/circles-density")
    both = ["relative_ridges=1e-5,0"]  # the authors' ridge, and none
    asked = [RunRequest.of(name, preset="paper", changes=both, device="cpu") for name in names]
    return run_experiments(asked, tmp_path_factory.mktemp("runs"), Workers(processes=0))


def test_every_claim_of_the_paper_is_reproduced(runs):
    for outcome in runs:
        assert outcome.status == 0
        stated = [claim for claim in outcome.claims if claim.kind is ClaimKind.STATED]
        assert len(stated) == 7
        assert {claim.verdict for claim in stated} == {Verdict.HOLDS}
        assert all(claim.quote for claim in stated)


def test_the_authors_ridge_hides_how_small_the_error_gets(runs):
    bare, ridged = (claim.measured for claim in reversed(runs[1].claims[-2:]))
    assert ridged == pytest.approx(1.8e-4, rel=0.05)
    assert bare < 1e-15


@pytest.mark.parametrize(
    ("index", "name", "sizes", "column"), [(0, "d", "ds", "distance"), (1, "N", "Ns", "points")]
)
def test_errors_are_those_of_another_program(runs, index, name, sizes, column):
    table = runs[index].tables()["errors"]
    ridged = table[table["relative_ridge"] == 1e-5]
    np.testing.assert_allclose(ridged[column], ORACLE[sizes], rtol=1e-12)
    for error in ("spectral_error", "closed_form_error", "exact_error"):
        np.testing.assert_allclose(ridged[error], ORACLE[f"{name}_spectral_err"], rtol=1e-8)
    bare = table[(table["relative_ridge"] == 0) & (table[column] < 20)]
    stored = ORACLE[f"{name}_spectral_err_reg0"][: len(bare)]
    np.testing.assert_allclose(bare["closed_form_error"], stored, rtol=LEAVE_OUT_ORACLE)
    np.testing.assert_allclose(bare["exact_error"], stored, rtol=1e-8)


def test_where_rounding_hides_the_answer_there_is_none(runs):
    table = runs[1].tables()["errors"]
    last = table[(table["points"] == 48) & (table["relative_ridge"] == 0)].iloc[0]
    assert np.isnan(last["exact_error"]) or last["exact_error"] < 1e-12
    assert last["closed_form_error"] == pytest.approx(1.512e-16, rel=1e-3)


def test_claims_can_fail(runs):
    """Worsened by hand, each table is found out."""
    tables = [outcome.tables() for outcome in runs]
    distance, density = (judge_distance, Distance(), 0), (judge_density, Density(), 1)
    for (judge, config, number), name, column, row, value, words in [
        (distance, "errors", "distance_gap", 0, 1e-6, "matrix of distances"),
        (distance, "errors", "circulant_gap", 0, 1e-6, "the Gaussian kernel"),
        (distance, "errors", "spectrum_asymmetry", 0, 1e-6, "symmetric"),
        (distance, "errors", "spectral_error", 4, 9.0, "equals"),
        (distance, "errors", "closed_form_error", -1, 2.0, "error decreases"),
        (distance, "errors", "inverse_lambda_n", 9, 1e9, "power to the highest"),
        (distance, "spectra", "inverse_lambda", 7, 1e9, "in one plane"),
        (density, "errors", "exact_error", 0, 0.9, "equals"),
        (density, "errors", "closed_form_error", -2, 1e-3, "error decreases"),
        (density, "errors", "mean_inverse_lambda", -1, 1.0, "raise the average"),
        (density, "spectra", "inverse_lambda", 5, 1e9, "largest between"),
    ]:
        table = tables[number][name].copy()
        assert table["relative_ridge"].nunique() == 2
        table.loc[table.index[row], column] = value
        [claim] = [c for c in judge(config, {**tables[number], name: table}) if words in c.statement]
        assert claim.verdict is Verdict.CONTRADICTED, (column, value)


def test_small_configs_say_what_they_cannot_check(runs):
    tables = runs[0].tables()
    far = {name: table[table["distance"] > 0.5] for name, table in tables.items()}
    [claim] = [c for c in judge_distance(Distance(), far) if "in one plane" in c.statement]
    assert claim.verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("config", "change", "message"),
    [
        (Distance(), {"inverse_scale": 0.0}, "positive number, got 0.0"),
        (Distance(), {"distances": (1.0, 0.5)}, "distances: expected 2 or more increasing"),
        (Distance(), {"distances": (1.0,)}, "2 or more increasing"),
        (Distance(), {"distances": (-1.0, 1.0)}, "distances: expected 0 or more"),
        (Density(), {"points": (4, 4)}, "points: expected 2 or more increasing"),
        (Density(), {"relative_ridges": ()}, "from 0 to below 1"),
        (Density(), {"relative_ridges": (-1e-5,)}, "from 0 to below 1"),
    ],
)
def test_bad_configs_are_refused(config, change, message):
    with pytest.raises(InputError, match=message):
        replace(config, **change)
