"""Data sets of two classes with several seeds: against regression solved outright; claims can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope.data import mnist_sample
from symscope.runs import ClaimKind, RunRequest, Verdict, Workers, run_experiments
from symscope.spectral import dense
from symscope_papers.spectral.pairs.errors import pair_errors
from symscope_papers.spectral.pairs.orbits import rotated
from symscope_papers.spectral.seeds.claims import judge_claims
from symscope_papers.spectral.seeds.config import Seeds
from symscope_papers.spectral.seeds.measure import trial_errors, two_classes
from symscope_papers.spectral.wide_networks import mlp_kernels, section_kernels
from tests.tolerances import LEAVE_OUT

SMALL = ["seeds=3", "trials=8", "angles=4,8"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    wanted = RunRequest.of("spectral/seeds", changes=SMALL, seed=5, device="cpu")
    [outcome] = run_experiments([wanted], tmp_path_factory.mktemp("runs"), Workers(processes=0))
    return outcome, outcome.tables(), wanted.config


def test_errors_are_regression_without_the_upright_images_and_the_mean_over_pairs(made):
    _, tables, _ = made
    row = tables["trials"].query("angles == 8 and trial == 6 and kernel == 'NTK'").iloc[0]
    drawn = two_classes(mnist_sample(), 6, 3, seed=5)
    assert drawn.labels.tolist() == [row["class_a"]] * 3 + [row["class_b"]] * 3
    points = rotated(drawn.x, 8, centred=False)
    kernel = section_kernels("app-b3").ntk
    gram = kernel(points.flatten(0, 1))
    labels = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat_interleave(24)
    errors = []
    for first in (0, 24):
        missing = first + torch.arange(0, 24, 8)
        prediction = dense.regression(gram, labels, missing, 0.0)
        errors.append(float((1 - labels[missing] * prediction).mean()))
    assert row["exact"] == pytest.approx(sum(errors) / 2, rel=1e-7)
    pairs = torch.stack([torch.stack([points[s], points[t]]) for s in range(3) for t in range(3, 6)])
    each = pair_errors(kernel.batched(pairs.flatten(1, 2)), 0.0)
    assert row["spectral"] == pytest.approx(float(each.spectral.mean()), rel=1e-7)
    assert row["spectral"] > 0


def test_one_seed_per_class_is_the_pair():
    drawn = two_classes(mnist_sample(), 1, 1, seed=0)
    gram = mlp_kernels(1).ntk.batched(rotated(drawn.x, 6).flatten(0, 1)[None])
    result, pair = trial_errors(gram[0], torch.tensor([0, 1]), 6), pair_errors(gram, 0.0)
    for name in ("exact", "spectral", "projected"):
        assert result[name] == pytest.approx(float(getattr(pair, name)), rel=LEAVE_OUT), name


def test_trials_differ_and_do_not_depend_on_each_other(made):
    _, tables, _ = made
    table = tables["trials"]
    assert table["exact"].nunique() == len(table) == 2 * 16
    assert (table["class_a"] != table["class_b"]).all()
    by_trial = table[table["kernel"] == "NTK"].pivot(index="trial", columns="angles", values="class_a")
    assert (by_trial[4] == by_trial[8]).all()  # the same data sets at every number of angles


def test_claims_are_made_and_can_fail(made):
    outcome, tables, config = made
    assert outcome.failed == 0
    assert all(claim.quote for claim in outcome.claims if claim.kind is ClaimKind.STATED)
    assert len(list((outcome.folder / "figures").glob("*.svg"))) == 3
    good = tables["trials"].assign(spectral=lambda t: t["exact"] + 1e-3)
    assert [c.verdict for c in judge_claims(config, {"trials": good})[:3]] == [Verdict.HOLDS] * 3
    bad = good.assign(spectral=lambda t: 2 + 0.3 * t["exact"])
    assert [c.verdict for c in judge_claims(config, {"trials": bad})[:2]] == [Verdict.CONTRADICTED] * 2
    means = good.groupby(["angles", "kernel"])["exact"].transform("mean")
    flat = good.assign(spectral=0.4 * good["exact"] + 0.6 * means)
    wanted = [Verdict.CONTRADICTED, Verdict.HOLDS]  # not one to one, but better than the mean
    assert [c.verdict for c in judge_claims(config, {"trials": flat})[:2]] == wanted
    other = good.assign(spectral=lambda t: t["exact"].where(t["kernel"] == "NTK", t["exact"] + 2))
    assert judge_claims(config, {"trials": other})[2].verdict is Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": 0}, "seeds: expected 1 or more"),
        ({"trials": 2}, "trials: expected 3 or more"),
        ({"angles": ()}, "angles: expected at least one"),
        ({"network": "mlp-9"}, "network: unknown 'mlp-9'"),
        ({"shown": 5}, "shown: expected one of the angles"),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(Seeds(), **change)
