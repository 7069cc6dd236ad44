"""Pairs of rotated digits: the engine's run against the spectral package, and claims that can fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from symscope import InputError, spectral
from symscope.data import mnist_sample
from symscope.runs import ClaimKind, RunRequest, Verdict, Workers, run_experiments
from symscope.spectral import circulant, geometry
from symscope_papers.spectral.mlp_rotations.claims import judge_claims
from symscope_papers.spectral.mlp_rotations.config import MlpRotations
from symscope_papers.spectral.pairs.orbits import digit_pairs, rotated
from symscope_papers.spectral.symmetrised import symmetrised_error
from symscope_papers.spectral.wide_networks import mlp_kernels
from tests.tolerances import LEAVE_OUT

SMALL = ["pairs=24", "angles=4,8", "hidden=2"]  # figures take most of the time: one depth


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    wanted = RunRequest.of("spectral/mlp-rotations", changes=SMALL, seed=3, device="cpu")
    [outcome] = run_experiments([wanted], tmp_path_factory.mktemp("runs"), Workers(processes=0))
    return outcome, outcome.tables(), wanted.config


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """Standard errors of what is judged again, by 30 resamples: 200 take most of a second."""
    monkeypatch.setattr("symscope_papers.spectral.pairs.judged.RESAMPLES", 30)


def test_numbers_are_those_of_the_spectral_package(made):
    _, tables, _ = made
    table = tables["pairs"]
    assert len(table) == 2 * 2 * 24
    data = mnist_sample()
    points = rotated(data.x[digit_pairs(data, 24, seed=3)], 8, centred=False)[17]
    for kernel, gram in (("NTK", mlp_kernels(2).ntk), ("NNGP", mlp_kernels(2).nngp)):
        interleaved = gram(points.transpose(0, 1).flatten(0, 1))
        mine = table.query(f"hidden == 2 and angles == 8 and pair == 17 and kernel == '{kernel}'").iloc[0]
        spectrum = circulant.circulant_spectrum(circulant.circulant_row(interleaved))
        for name, value in {
            "exact": symmetrised_error(interleaved, 0.0, 0),
            "mean_exact": symmetrised_error(interleaved, 0.0, None),
            "spectral": circulant.spectral_error(spectrum, 0.0),
            "separation": spectral.orbit_separations(points)[0, 1],
            "density": geometry.orbit_densities(points)[0, 1],
        }.items():
            assert mine[name] == pytest.approx(float(value), rel=1e-7), name
        classes = data.labels[digit_pairs(data, 24, seed=3)[17]].tolist()
        assert [mine["class_a"], mine["class_b"]] == classes


def test_quarter_turns_are_exact_and_the_matrices_are_what_they_say(made):
    _, tables, _ = made
    table = tables["pairs"]
    quarter = table[table["angles"] == 4]
    np.testing.assert_allclose(quarter["projected"], quarter["exact"], rtol=LEAVE_OUT)
    part = tables["matrices"].query("hidden == 2")
    grids = {
        name: torch.tensor(part.pivot(index="row", columns="column", values=name).to_numpy(copy=True))
        for name in ("kernel", "circularised", "projected")
    }
    row = circulant.circulant_row(grids["kernel"])
    torch.testing.assert_close(grids["circularised"][0], row, rtol=LEAVE_OUT, atol=0)
    torch.testing.assert_close(grids["circularised"][5].roll(-5), row, rtol=LEAVE_OUT, atol=0)
    # projecting keeps what circularising keeps, and is nearer to the kernel
    torch.testing.assert_close(circulant.circulant_row(grids["projected"]), row, rtol=LEAVE_OUT, atol=0)
    off = {name: float((grids["kernel"] - grids[name]).norm()) for name in ("circularised", "projected")}
    assert off["projected"] < 0.5 * off["circularised"]


def test_claims_and_figures_are_made(made):
    outcome, tables, _ = made
    assert outcome.failed == 0
    stated = [claim for claim in outcome.claims if claim.kind is ClaimKind.STATED]
    assert all(claim.quote for claim in stated)
    assert sum(claim.verdict is Verdict.HOLDS for claim in stated) >= 12
    clear = [claim for claim in stated if "near half" not in claim.why]
    assert sum(claim.verdict is Verdict.NOT_TESTABLE for claim in clear) == 1
    assert len(list((outcome.folder / "figures").glob("*.svg"))) == 6
    three = tables["spectra"].query("hidden == 2 and angles == 8")
    assert three["place"].unique().tolist() == ["best", "border", "worst"]
    assert sorted(three["frequency"].unique()) == list(range(9))


def verdict_of(config, tables, words):
    [claim] = [c for c in judge_claims(config, tables) if words in c.statement and c.verdict is not None]
    return claim.verdict


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("spectral", "tracks the symmetrised"),
        ("spectral", "over the whole range"),
        ("lambda_n", "between orbit averages"),
        ("mean_inverse", "orbit density"),
    ],
)
def test_claims_can_fail(made, column, words):
    _, tables, config = made
    table = tables["pairs"].copy()
    table[column] = table[column].sample(frac=1, random_state=0).to_numpy()
    assert verdict_of(config, {**tables, "pairs": table}, words) is Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("orbit_gap", 1e-6, "Over a single orbit"),
        ("diagonal_spread", 1e-6, "diagonal"),
        ("circularised", 0.0, "Over two orbits"),
        ("across_right", lambda t: t["across_left"], "equally far from its two neighbours"),
        ("neighbours_b", lambda t: t["neighbours_a"], "Neighbours on the two orbits"),
        ("neighbours_a", -0.1, "between 0 and 1"),
        ("neighbours_a", 1.0, "nearer to an upright digit"),
        ("exact", lambda t: t["separation"], "further apart"),
        ("exact", lambda t: t["angles"] + t["exact"], "falls with the number of angles"),
    ],
)
def test_structure_claims_can_fail(made, column, value, words):
    _, tables, config = made
    table = tables["pairs"].assign(**{column: value})
    assert verdict_of(config, {**tables, "pairs": table}, words) is Verdict.CONTRADICTED


def test_the_other_kernel_can_disagree(made):
    _, tables, config = made
    table = tables["pairs"].copy()
    other = table["kernel"] == "NNGP"
    table.loc[other, "spectral"] = 2 - table.loc[other, "exact"]
    words = "With the NNGP kernel"
    assert verdict_of(config, {**tables, "pairs": table}, words) is Verdict.CONTRADICTED


def test_without_exact_rotations_assumption_1_cannot_be_judged(made):
    _, tables, config = made
    part = {**tables, "pairs": tables["pairs"].query("angles == 8")}
    assert verdict_of(config, part, "Over a single orbit") is Verdict.NOT_CHECKED
    assert verdict_of(config, part, "falls with the number of angles") is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pairs": 2}, "pairs: expected 3 or more"),
        ({"angles": (1, 8)}, "angles: expected 2 or more"),
        ({"angles": (8, 8)}, "angles: expected .* different"),
        ({"hidden": ()}, "hidden: expected at least one"),
        ({"shown": 7}, "shown: expected one of the angles"),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(MlpRotations(), **change)


@pytest.mark.parametrize("name", ["mlp-rotations", "seeds", "trained"])
def test_the_paper_presets_want_all_of_mnist_before_anything_runs(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wanted = RunRequest.of(f"spectral/{name}", preset="paper", device="cpu")
    with pytest.raises(InputError, match="mnist=fetched: this needs all of MNIST"):
        run_experiments([wanted], tmp_path / "runs", Workers(processes=0))


def test_where_the_ridges_differ_what_fails_says_so(made):
    _, tables, config = made
    table = tables["pairs"].assign(spectral=lambda t: 2 - t["exact"])
    ridges = replace(config, spectral_ridge=1e-5, relative_ridge=1e-10)
    for settings, told in ((config, False), (ridges, True)):
        claims = judge_claims(settings, {**tables, "pairs": table})
        [claim] = [c for c in claims if "tracks the symmetrised" in c.statement and c.verdict is not None]
        assert claim.verdict is Verdict.CONTRADICTED
        assert ("A ridge of 1e-05 of the trace is in the spectral error" in claim.why) is told
