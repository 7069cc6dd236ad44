from __future__ import annotations

from dataclasses import replace

import pytest

from symscope import InputError
from symscope.runs import Verdict
from symscope_papers.linear.noise import noise
from symscope_papers.linear.noise.config import Noise
from tests.papers.linear.runs import FAILED, HOLDS, finished, measured, verdicts


def test_noise(tmp_path):
    outcome, tables = finished(
        tmp_path,
        "linear/noise",
        "points=12",
        "sigmas=0,0.2,0.5",
        "epochs=800",
        "learning_rate=0.02",
        "records=30",
    )
    assert verdicts(outcome.claims) == [HOLDS] * 2
    assert measured(outcome.claims, "Largest over smallest fitted rate") < 1e-9
    levels = tables["levels"]
    floors = levels[levels["noise"] == "point"].set_index("sigma")["floor"]
    assert floors[0.0] < 1e-12
    assert floors[0.5] == pytest.approx(2.5 * floors[0.2])  # the same draw, scaled
    assert (levels[levels["noise"] == "orbit"]["floor"] < 1e-12).all()
    moved = tables["paths"].assign(asymmetric_weight=lambda p: p["asymmetric_weight"] + 1e-6 * p["sigma"])
    wrong = {"paths": moved, "levels": levels.assign(straightness=0.99)}
    assert verdicts(noise.claims(Noise(), wrong)) == [FAILED] * 2
    low = noise.claims(Noise(sigmas=(0.0, 0.2)), tables)
    assert verdicts(low) == [Verdict.NOT_CHECKED, HOLDS]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sigmas": (0.0, -1.0)}, "sigmas: expected 0 or more"),
        ({"records": 2}, "records: expected 4 or more"),
    ],
)
def test_bad_configs_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        replace(Noise(), **change)
