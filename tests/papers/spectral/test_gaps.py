"""Gaps of angles: patterns, errors against regression solved outright, a small run."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope.data import mnist_sample
from symscope.runs import ClaimKind, RunRequest, Workers, run_experiments
from symscope.spectral.dense import regression
from symscope_papers.spectral.gaps.config import Gaps, missing_elements
from symscope_papers.spectral.gaps.measure import FORMULA, KERNEL, formula_errors, kernel_errors, patterns
from symscope_papers.spectral.pairs.errors import exact_errors, pair_errors
from symscope_papers.spectral.pairs.orbits import digit_pairs, orbit_signs, rotated
from symscope_papers.spectral.wide_networks import mlp_kernels

SMALL = ["pairs=4", "angles=8,16", "gaps=90", "runs=pytorch-adam", "width=8", "epochs=20", "tolerance=1e-2"]


@pytest.fixture(scope="module")
def gram():
    data = mnist_sample()
    return mlp_kernels(1).ntk.batched(rotated(data.x[digit_pairs(data, 3, 1)], 16, False).flatten(1, 2))


@pytest.mark.parametrize("n", [8, 16, 32, 64])
def test_the_ends_of_a_gap_are_seen_and_nothing_inside_is(n):
    away = torch.tensor([min(k, n - k) * 360 / n for k in range(n)])
    missing = set(missing_elements(n, 90))
    assert missing == {k for k in range(n) if away[k] < 45}
    assert (away == 45).sum() == 2
    found = patterns(Gaps(), n, seed=2)
    assert len(found["scattered angles"]) == len(missing)
    assert all(elements[0] == 0 for elements in found.values())
    assert ("gap of 45°" in found) == (n >= 16)


def test_errors_are_regression_without_the_gap(gram):
    missing = torch.tensor(missing_elements(16, 90))
    errors = kernel_errors(gram, missing)
    signs = orbit_signs(16)
    for orbit in (0, 1):
        places = missing + 16 * orbit
        expected = 1 - signs[places] * regression(gram[2], signs, places, 0.0)
        torch.testing.assert_close(errors[2, orbit], expected, rtol=1e-8, atol=1e-10)
    one = torch.tensor([0])
    torch.testing.assert_close(kernel_errors(gram, one)[:, :, 0], exact_errors(gram, 0.0)[:, :, 0])
    torch.testing.assert_close(formula_errors(gram, one).mean((1, 2)), pair_errors(gram, 0.0).spectral)


def test_a_small_run_is_complete_and_a_gap_is_harder_than_one_angle(tmp_path):
    wanted = RunRequest.of("spectral/gaps", changes=SMALL, device="cpu")
    [outcome] = run_experiments([wanted], tmp_path, Workers(processes=0))
    assert (outcome.failed, outcome.problems) == (0, ())
    table = outcome.tables()["errors"]
    assert {claim.kind for claim in outcome.claims} == {ClaimKind.BEYOND}
    assert len(outcome.claims) == 3 * 3 + 2 * 3
    means = table.groupby(["by", "angles", "pattern"])["upright"].mean()
    assert means[KERNEL, 16, "gap of 90°"] > means[KERNEL, 16, "one angle"]
    # at 8 angles the neighbours of upright are 45° away: one missing angle is a gap of 90°
    assert means[KERNEL, 8, "gap of 90°"] == pytest.approx(means[KERNEL, 8, "one angle"])
    assert set(table["by"]) == {KERNEL, FORMULA, "pytorch-adam"}
    assert {path.stem for path in (outcome.folder / "figures").glob("*.png")} == {"density", "profile"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gaps": (50,)}, "ends are among the angles"),
        ({"gaps": (270,)}, "gaps: expected numbers from 1 to 180"),
        ({"runs": ("adam",)}, "runs: unknown 'adam'"),
        ({"pairs": 2}, "pairs: expected 3 or more"),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(Gaps(), **change)
