"""The correction from a pilot to a whole training: laws, and that its numbers are those of the bank."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from docs.tooling.forecast_bank import read_bank
from symscope.forecasting import _learned_forecast as library
from symscope.forecasting._learned_forecast import (
    class_logits,
    correction_features,
    half_widths,
    learned_prediction,
    learned_shift,
)
from symscope.forecasting._trained_answer import ScoreTable
from symscope_papers.forecast.bank.correction import (
    correction_rows,
    fit_weights,
    fit_widths,
    held_out,
    left_out,
)


def table(scores, count=50):
    share = torch.tensor(scores, dtype=torch.float64)
    counts = torch.where(share.isnan(), 0, count).long()
    return ScoreTable(share.nan_to_num() * counts, counts)


PILOT = table([[0.2, 0.6], [0.5, 0.9], [math.nan, math.nan]])
COVERED = table([[0.9, 0.8], [0.95, 0.9], [0.9, 0.7]])
NEAR = table([[0.4, 0.5], [0.1, 0.2], [math.nan, math.nan]])


def test_a_whole_training_is_not_corrected():
    shift = learned_shift(PILOT, COVERED, 0.9, NEAR, 1.0)
    assert shift[:2].tolist() == [0, 0]
    result = learned_prediction(PILOT, shift, 1.0)
    torch.testing.assert_close(result.class_score[:2], torch.tensor([0.4, 0.7]).double())
    torch.testing.assert_close(result.table[:2], PILOT.mean[:2], rtol=0, atol=1e-9)


def test_few_points_leave_more_open():
    """As the binomial's own standard error, beyond that of the hundred points of the bank."""
    score = torch.tensor([0.5]).double()
    few, bank, many = (half_widths(score, 1.0, torch.tensor([n])) for n in (4, 100, 5000))
    assert few**2 - bank**2 == pytest.approx(1.96**2 * 0.25 * (1 / 4 - 1 / 100))
    assert bank == many
    none = half_widths(torch.tensor([0.0]).double(), 1.0, torch.tensor([2]))
    assert none > 0.4  # two of two points wrong say little


@given(share=st.floats(0.001, 1.0))
def test_cells_have_the_mean_of_their_class_and_intervals_hold_the_forecast(share):
    result = learned_prediction(PILOT, learned_shift(PILOT, COVERED, 0.9, NEAR, share), share)
    torch.testing.assert_close(result.table[:2].mean(1), result.class_score[:2], rtol=0, atol=1e-9)
    assert result.table[2].isnan().all()
    assert result.class_score[2].isnan()
    assert (result.class_low[:2] <= result.class_score[:2]).all()
    assert (result.class_score[:2] <= result.class_high[:2]).all()
    assert result.interval[0] <= result.mean <= result.interval[1]


def test_nearest_neighbours_pull_up_and_down_less_after_longer_pilots():
    better = table([[0.9, 0.9], [0.9, 0.9], [math.nan, math.nan]])
    for share in (0.01, 0.1, 0.5):
        up, down = (learned_shift(PILOT, COVERED, 0.9, near, share)[0] for near in (better, NEAR))
        assert up > down
        longer = [learned_shift(PILOT, COVERED, 0.9, near, 1.5 * share)[0] for near in (better, NEAR)]
        assert abs(longer[0] - longer[1]) < abs(up - down)
    wide, narrow = (
        half_widths(torch.tensor([0.5]).double(), share, torch.tensor([200]))[0] for share in (0.01, 0.5)
    )
    assert wide > narrow


def test_a_class_without_covered_elements_has_the_fitted_score():
    nothing = table([[math.nan, math.nan]] * 3)
    shift = learned_shift(PILOT, nothing, 0.8, NEAR, 0.1)
    same = learned_shift(PILOT, table([[0.8, 0.8]] * 3, count=400), 0.1, NEAR, 0.1)
    torch.testing.assert_close(shift, same, equal_nan=True)


def test_features_by_hand():
    points = torch.tensor([98])
    pilot, covered, near = (torch.tensor([one]).double() for one in (0.5, 0.8, 0.7))
    z = [math.log((98 * a + 1) / (98 * (1 - a) + 1)) for a in (0.5, 0.8, 0.7)]
    assert class_logits(covered, points).item() == pytest.approx(z[1])
    coming, lacking = 1 - 0.1**0.3, z[1] - z[0]
    wanted = [coming, coming * z[2], coming * z[2] * lacking / (1 + lacking), coming * z[1]]
    assert correction_features(pilot, covered, near, points, 0.1)[0].tolist() == pytest.approx(wanted)


def test_the_numbers_of_the_library_are_those_that_the_bank_gives():
    rows = correction_rows(read_bank())
    rows = rows[~held_out(rows)]
    assert fit_weights(rows).tolist() == pytest.approx(library.WEIGHTS, abs=0.02)
    widths = fit_widths(rows, left_out(rows, "network"))
    numbers = (library.WIDTH, library.FURTHER_WIDTH, library.MEAN_WIDTH)
    assert (widths.whole, widths.further, widths.mean) == pytest.approx(numbers, abs=0.02)
