from __future__ import annotations

from dataclasses import replace

import pytest

from symscope import InputError
from symscope_papers.linear.few_points import few_points
from symscope_papers.linear.few_points.config import FewPoints
from tests.papers.linear.runs import FAILED, HOLDS, finished, verdicts


def test_few_points(tmp_path):
    outcome, tables = finished(
        tmp_path,
        "linear/few-points",
        "samples=2",
        "sigmas=0,0.1",
        "epochs=400",
        "learning_rate=0.1",
        "records=40",
    )
    result = verdicts(outcome.claims)
    assert [result[0], *result[3:]] == [HOLDS] * 4  # whether the line is straight depends on the sample
    samples = tables["samples"]
    assert (samples["coupling"] > 1e-3).all()  # orbits are not complete
    clean, noisy = samples[samples["sigma"] == 0], samples[samples["sigma"] > 0]
    assert (clean["floor"] < 1e-12).all()
    assert (noisy["floor"] > 1e-3).all()
    wrong = samples.assign(over_bound=1.1, floor=2 * samples["floor"] + 1e-3)
    worse = verdicts(few_points.claims(FewPoints(), {"samples": wrong}))
    assert [worse[0], *worse[4:]] == [FAILED] * 3
    exact = samples.assign(fitted_rate=samples["slow_eigenvalue"], straightness=1.0)
    assert verdicts(few_points.claims(FewPoints(), {"samples": exact}))[1:3] == [HOLDS] * 2
    bent = exact.assign(fitted_rate=1.02 * exact["slow_eigenvalue"], straightness=0.9)
    assert verdicts(few_points.claims(FewPoints(), {"samples": bent}))[1:3] == [FAILED] * 2
    assert "Chosen after the first run" in outcome.claims[0].why


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"points": 1}, "points: expected 2 or more"),
        ({"sigmas": (0.1,)}, "sigmas: expected 0, the paper's noise level"),
    ],
)
def test_bad_configs_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        replace(FewPoints(), **change)
