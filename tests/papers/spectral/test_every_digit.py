"""`spectral/every-digit`: its cells, and what three and ten digits decide."""

from __future__ import annotations

import pandas as pd
import pytest

from symscope.runs import RunRequest, Verdict, Workers, run_experiments
from symscope.runs._registry import find_experiment
from symscope.runs._settings import replace_fields
from symscope_papers.spectral.every_digit import every_digit as experiment
from symscope_papers.spectral.every_digit.measure import cells

TINY = ("networks=conv,mlp", "left_out=3,7", "images=2", "epochs=1", "batch=64", "measured_points=20")


def test_the_paper_preset_leaves_out_every_digit_at_8_angles():
    config = replace_fields(find_experiment("spectral/every-digit").presets["paper"].config, ["mnist=sample"])
    listed = cells(config)
    assert [cell["network"] for cell in listed] == ["conv"] * 10 + ["mlp"] + ["vit"] * 10
    assert {(cell["part"], cell["angles"]) for cell in listed} == {("figure", 8)}
    assert sorted(cell["digits"] for cell in listed[:10]) == [str(digit) for digit in range(10)]
    assert (config.images, config.epochs, config.batch) == (None, 20, 2048)


def test_a_tiny_run_is_complete(tmp_path):
    request = RunRequest.of("spectral/every-digit", changes=TINY, device="cpu")
    [outcome] = run_experiments([request], tmp_path, Workers(processes=0))
    assert (outcome.failed, outcome.problems) == (0, ())
    assert len(outcome.claims) == 4
    assert {figure["name"] for figure in outcome.figures()} == {"epochs", "digits"}


def course(shares, networks=("conv",)):
    rows = [
        {"part": "figure", "network": network, "angles": 8, "epoch": 1, "left_out": digit, "train": 1.0}
        | {"in-test": 0.98, "out-test": share}
        for network in networks
        for digit, share in shares.items()
    ]
    return {"course": pd.DataFrame(rows)}


def test_digits_that_differ_decide_when_they_are_enough():
    seen = {0: 0.98, 3: 0.64, 7: 0.16}
    few = replace_fields(experiment.presets["quick"].config, ["left_out=0,3,7", "networks=conv"])
    tracks, lower = experiment.claims(few, course(seen))
    assert (tracks.verdict, lower.verdict) == (Verdict.HOLDS, Verdict.NOT_CHECKED)
    every = replace_fields(few, [f"left_out={','.join(map(str, range(10)))}"])
    shares = {digit: list(seen.values())[digit % 3] for digit in range(10)}
    _, lower = experiment.claims(every, course(shares))
    assert lower.verdict is Verdict.HOLDS
    assert lower.measured == pytest.approx(0.98 - sum(shares.values()) / 10)


def test_networks_without_all_digits_are_not_judged():
    both = replace_fields(experiment.presets["quick"].config, ["left_out=0,3,7", "networks=conv,vit"])
    tables = course({0: 0.1, 3: 0.2, 7: 0.1})
    part = course({0: 0.1}, ("vit",))
    tables["course"] = pd.concat([tables["course"], part["course"]])
    claims = experiment.claims(both, tables)
    assert [claim.verdict for claim in claims[2:]] == [Verdict.NOT_CHECKED] * 2
    assert {claim.why for claim in claims[2:]} == {"trained for 1 of 3 digits"}
    assert [plot.name for plot in experiment.plot(both, tables)] == ["epochs", "digits"]
    assert experiment.plot(both, part) == []
