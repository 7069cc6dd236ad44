from __future__ import annotations

from dataclasses import replace

import pytest

from symscope import InputError
from symscope_papers.linear.few_points import few_points
from symscope_papers.linear.few_points.config import FewPoints
from tests.papers.linear.runs import FAILED, HOLDS, finished, measured, verdicts


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
    assert verdicts(outcome.claims) == [HOLDS] * 2
    samples = tables["samples"]
    assert (samples["coupling"] > 1e-3).all()  # orbits are not complete
    clean, noisy = samples[samples["sigma"] == 0], samples[samples["sigma"] > 0]
    assert (clean["floor"] < 1e-12).all()
    assert (noisy["floor"] > 1e-3).all()
    wrong = samples.assign(over_bound=1.1, floor=2 * samples["floor"] + 1e-3)
    assert verdicts(few_points.claims(FewPoints(), {"samples": wrong})) == [FAILED] * 2
    # a straight line is no statement of the paper: bent curves are measured, not judged
    bent = few_points.claims(FewPoints(), {"samples": samples.assign(straightness=0.9)})
    assert verdicts(bent) == [HOLDS] * 2
    assert measured(bent, "R² of a straight line") == pytest.approx(0.9)
    assert "Chosen after a first run" in outcome.claims[0].reading


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
