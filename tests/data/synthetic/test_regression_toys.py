from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.data.synthetic._regression_toys import (
    RegressionToy,
    absolute_value,
    coordinate_sum,
    permuted_cube,
    swapped_squares,
)
from symscope.errors import InputError
from tests.tolerances import MONTE_CARLO_SIGMAS, ROUNDING

TRUTHS = {
    absolute_value: lambda x: x[:, 1].abs(),
    coordinate_sum: lambda x: x[:, 0] + x[:, 1],
    swapped_squares: lambda x: torch.stack([x[:, 1] ** 2, x[:, 0] ** 2], 1),
    # the same polynomial through power sums
    permuted_cube: lambda x: (x.sum(1) ** 2 - (x**2).sum(1)) / 2,
}
TOYS = pytest.mark.parametrize("made", TRUTHS, ids=lambda made: made.__name__)


@TOYS
@given(points=st.integers(1, 30), seed=st.integers(0, 2**32))
def test_targets_are_the_stated_function_on_every_point_of_every_orbit(made, points, seed):
    toy = made(points, seed)
    assert len(toy.features) == points
    assert (toy.targets - TRUTHS[made](toy.features)).abs().max() < ROUNDING
    whole = toy.completed()
    assert len(whole.features) == points * len(toy.group)
    assert (whole.targets - TRUTHS[made](whole.features)).abs().max() < ROUNDING
    # the points themselves come first, and the completed set is mapped to itself by every element
    assert torch.equal(whole.features[:points], toy.features)
    for g in toy.group:
        rows = torch.cat([whole.features, whole.targets.reshape(len(whole.features), -1)], 1)
        moved_targets = whole.targets @ g if toy.equivariant else whole.targets
        moved = torch.cat([whole.features @ g, moved_targets.reshape(len(rows), -1)], 1)
        assert torch.cdist(moved, rows, compute_mode="donot_use_mm_for_euclid_dist").amin(1).max() < ROUNDING


@TOYS
def test_the_matrices_form_a_group_of_orthogonal_matrices(made):
    group = made(2, 0).group
    assert torch.equal(group[0], torch.eye(group.shape[1], dtype=torch.float64))
    products = torch.einsum("aij,bjk->abik", group, group)
    hits = (products[:, :, None] == group[None, None]).all(-1).all(-1)
    assert (hits.sum(-1) == 1).all()
    transposes = (group.mT[:, None] == group[None]).all(-1).all(-1)
    assert (transposes.sum(-1) == 1).all()
    assert (group @ group.mT - torch.eye(group.shape[1])).abs().max() == 0


def test_the_groups_are_the_papers():
    assert absolute_value(1, 0).group[1].tolist() == [[1, 0], [0, -1]]
    assert coordinate_sum(1, 0).group[1].tolist() == [[0, 1], [1, 0]]
    assert swapped_squares(1, 0).group[1].tolist() == [[0, 1], [1, 0]]
    cube = permuted_cube(1, 0)
    names = dict(zip(cube.elements, cube.group, strict=True))
    point = torch.tensor([10.0, 20.0, 30.0], dtype=torch.float64)
    assert (point @ names["(1 2)"]).tolist() == [20, 10, 30]
    assert (point @ names["(1 2 3)"]).tolist() == [30, 10, 20]
    assert (point @ names["(1 3)"]).tolist() == [30, 20, 10]
    for name, order in (("(2 3)", 2), ("(1 2)", 2), ("(1 3)", 2), ("(1 2 3)", 3), ("(1 3 2)", 3)):
        assert torch.equal(torch.linalg.matrix_power(names[name], order), names["e"])
        assert not torch.equal(names[name], names["e"])


@TOYS
def test_reproducible_and_seeds_differ(made):
    assert torch.equal(made(9, 4).features, made(9, 4).features)
    assert torch.equal(made(9, 4).targets, made(9, 4).targets)
    assert not torch.equal(made(9, 4).features, made(9, 5).features)


def test_inputs_are_uniform_on_the_stated_sets():
    for features, low in (
        (absolute_value(4000, 0).features[:, 1:], -1.0),
        (coordinate_sum(4000, 0).features, -1.0),
        (swapped_squares(4000, 0).features, -1.0),
        (permuted_cube(4000, 0).features, 0.0),
    ):
        unit = (features - low) / (1 - low)
        assert unit.min() >= 0
        assert unit.max() <= 1
        assert (unit.mean(0) - 0.5).abs().max() < MONTE_CARLO_SIGMAS / math.sqrt(12 * 4000)
        assert (unit.std(0) - 1 / math.sqrt(12)).abs().max() < 0.01


@TOYS
def test_noise_is_gaussian_of_that_size_and_one_draw_for_all_sizes(made):
    toy = made(3000, 1)
    noise = toy.noisy(0.5, seed=2).targets - toy.targets
    assert abs(noise.mean()) < MONTE_CARLO_SIGMAS * 0.5 / math.sqrt(noise.numel())
    # the standard error of a standard deviation is sigma / sqrt(2 n)
    assert abs(noise.std() - 0.5) < MONTE_CARLO_SIGMAS * 0.5 / math.sqrt(2 * noise.numel())
    half = toy.noisy(0.25, seed=2).targets - toy.targets
    assert (2 * half - noise).abs().max() < ROUNDING
    assert torch.equal(toy.noisy(0.0, seed=2).targets, toy.targets)
    assert not torch.equal(toy.noisy(0.5, seed=3).targets, toy.noisy(0.5, seed=2).targets)
    assert torch.equal(toy.noisy(0.5, seed=2).features, toy.features)
    # the noise of a seed is not the data of that seed
    assert (
        abs(torch.corrcoef(torch.stack([made(3000, 2).features[:, 1], noise.reshape(3000, -1)[:, 0]]))[0, 1])
        < 0.08
    )


def test_orbits_share_their_noise_only_when_it_came_first():
    toy = absolute_value(5, 0)
    first = toy.noisy(0.3, seed=1).completed().targets.reshape(2, 5)
    assert torch.equal(first[0], first[1])
    after = toy.completed().noisy(0.3, seed=1).targets.reshape(2, 5)
    assert (after[0] != after[1]).all()


def test_the_absolute_value_is_learned_by_an_invariant_weight():
    # least squares on completed orbits: w = (mean |x|, 0) exactly
    whole = absolute_value(40, 3).completed()
    weights = torch.linalg.lstsq(whole.features, whole.targets[:, None]).solution[:, 0]
    assert abs(weights[0] - whole.targets.mean()) < ROUNDING
    assert abs(weights[1]) < ROUNDING


def test_bad_parameters():
    with pytest.raises(InputError, match="points: expected an integer of at least 1, got 0"):
        absolute_value(0, 0)
    with pytest.raises(InputError, match="seed: expected an integer of at least 0"):
        permuted_cube(3, -1)
    for sigma in (-0.1, math.nan, math.inf):
        with pytest.raises(InputError, match="sigma: expected a finite standard deviation"):
            coordinate_sum(3, 0).noisy(sigma, 0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"features": torch.ones(4)}, r"expected features \[n, d\], got shape \(4,\)"),
        ({"targets": torch.ones(3)}, r"expected targets \[4\] \(invariant\) or \[4, 2\] .* got shape \(3,\)"),
        ({"targets": torch.ones(4, 3)}, "expected targets"),
        ({"group": torch.ones(2, 3, 3)}, "expected 2 group matrices of 2 x 2, one per name"),
        ({"elements": ("e",)}, "expected 1 group matrices"),
        (
            {"targets": torch.tensor([1.0, 2.0, math.nan, 0.0])},
            r"targets: expected finite numbers, got 1 of 4 .*\(2,\)",
        ),
    ],
)
def test_problems_that_do_not_fit_together(changed, message):
    right = {
        "features": torch.ones(4, 2),
        "targets": torch.ones(4),
        "group": torch.eye(2).expand(2, 2, 2),
        "elements": ("e", "f"),
        "name": "made",
    }
    with pytest.raises(InputError, match=message):
        RegressionToy(**{**right, **changed})
