"""Convolutions on shifted digits: a small run against dense regression, and claims that can fail."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.data.images import shift
from symscope.groups import cyclic
from symscope.runs import CellContext, ClaimKind, Verdict
from symscope.spectral import profile_gram
from symscope_papers.spectral.conv_shifts import conv_shifts
from symscope_papers.spectral.conv_shifts.claims import judge_claims
from symscope_papers.spectral.conv_shifts.config import ConvShifts
from symscope_papers.spectral.conv_shifts.measure import dense_errors, shift_profiles
from symscope_papers.spectral.wide_networks import conv_kernels

SMALL = ConvShifts(pairs=6, angles=(2, 4), dense=2, shown=4)


@pytest.fixture(scope="module")
def tables():
    result = {}
    for cell in conv_shifts.cells(SMALL):
        for name, rows in conv_shifts.measure(SMALL, cell, CellContext(1, 0, "cpu")).items():
            result.setdefault(name, []).extend({**cell, **row} for row in rows)
    return {name: pd.DataFrame(rows) for name, rows in result.items()}


def test_pooling_is_exact_and_says_why(tables):
    stated = [claim for claim in judge_claims(SMALL, tables) if claim.kind is ClaimKind.STATED]
    assert all(claim.quote for claim in stated)
    # whether the formula predicts needs more than six pairs, and so does what the other kernel changes
    assert [c.verdict for c in stated if "predict" not in c.statement][:4] == [Verdict.HOLDS] * 4
    assert max(claim.measured for claim in judge_claims(SMALL, tables)[-2:]) < 1e-6
    gap = tables["pairs"][tables["pairs"]["readout"] == "gap"]
    assert (gap["exact"] == 0).all()
    assert gap["explanation"].str.contains("every non-trivial irrep").all()
    assert (gap["zero_frequencies"] == 2 * gap["angles"] - 2).all()
    fc = tables["pairs"][tables["pairs"]["readout"] == "fc"]
    assert (fc["zero_frequencies"] == 0).all()
    assert (fc["explanation"] == "").all()


def test_profiles_make_the_whole_kernel_matrix():
    draw = torch.rand(1, 2, 28, 28, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    points = shift(4).act_all(draw)
    for readout in ("fc", "gap"):
        kernel = conv_kernels(readout, 3).ntk
        profile = shift_profiles(kernel, points)[0]
        whole = kernel(points.flatten(0, 2)[:, None])
        torch.testing.assert_close(profile_gram(profile, cyclic(4)), whole, rtol=1e-7, atol=0)


def test_least_norm_regression_follows_what_was_seen():
    """A kernel that sees only the mean of an image: shifted images are one point to it, the error is 0."""

    def means(x, y):
        a, b = x.mean((1, 2, 3)), y.mean((1, 2, 3))
        return a[:, None] * b + a[:, None] ** 2 * b**2

    draw = torch.rand(1, 2, 6, 6, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    draw[:, 1] += 0.7
    [error] = dense_errors(means, shift(3).act_all(draw))
    assert abs(error) < 1e-10


def test_claims_can_fail(tables):
    for words, readout, column, value in [
        ("not predicted perfectly", "fc", "exact", [1e-14, 2e-14, 4e-14, 3e-14, 7e-14, 5e-14] * 3),
        ("spectral error predicts", "fc", "spectral", [5.3, 6.9, 5.1, 6.2, 5.8, 6.5] * 3),
        ("zero to rounding", "gap", "exact", 1e-9),
        ("constant on each block", "gap", "unseen", 0),
        ("denominator diverges", "gap", "zero_frequencies", 1),
    ]:
        worse = tables["pairs"].copy()
        worse.loc[worse["readout"] == readout, column] = value
        [claim] = [c for c in judge_claims(SMALL, {"pairs": worse}) if words in c.statement]
        assert claim.verdict is Verdict.CONTRADICTED, words
    worse = tables["pairs"].copy()
    worse.loc[(worse["kernel"] == "NNGP") & (worse["readout"] == "gap"), "exact"] = 1e-9
    [claim] = [c for c in judge_claims(SMALL, {"pairs": worse}) if "NNGP" in c.statement]
    assert claim.verdict is Verdict.CONTRADICTED


def test_figures(tables):
    plots = conv_shifts.plot(SMALL, tables)
    assert [plot.name for plot in plots] == ["spectral-fc", "errors", "spectra", "geometry"]


def test_paper_preset_needs_all_of_mnist(tmp_path):
    config = replace(conv_shifts.presets["paper"].config, mnist=str(tmp_path))
    with pytest.raises(InputError, match="symscope data fetch"):
        conv_shifts.measure(config, conv_shifts.cells(config)[0], CellContext(0, 0, "cpu"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pairs": 2}, "expected 3 or more"),
        ({"dense": 7}, "dense: expected numbers from 1 to 6, got 7"),
        ({"angles": (2, 5)}, "divisors of 28 from 2 on"),
        ({"shown": 7}, r"one of \(2, 4\), got 7"),
        ({"filter": 2}, "an odd side"),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(SMALL, **change)
