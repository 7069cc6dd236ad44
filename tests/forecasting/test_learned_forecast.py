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
    mean_width,
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


SHORT = table([[0.1, 0.3], [0.4, 0.9], [math.nan, math.nan]])
PILOT = table([[0.2, 0.6], [0.5, 0.9], [math.nan, math.nan]])
PILOTS = (SHORT, PILOT)
COVERED = table([[0.9, 0.8], [0.95, 0.9], [0.9, 0.7]])
NEAR = table([[0.4, 0.5], [0.1, 0.2], [math.nan, math.nan]])


def test_a_whole_training_is_not_corrected():
    shift = learned_shift(PILOTS, COVERED, 0.9, NEAR, 1.0)
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
    result = learned_prediction(PILOT, learned_shift(PILOTS, COVERED, 0.9, NEAR, share), share)
    torch.testing.assert_close(result.table[:2].mean(1), result.class_score[:2], rtol=0, atol=1e-9)
    assert result.table[2].isnan().all()
    assert result.class_score[2].isnan()
    assert (result.class_low[:2] <= result.class_score[:2]).all()
    assert (result.class_score[:2] <= result.class_high[:2]).all()
    assert result.interval[0] <= result.mean <= result.interval[1]


def test_regression_pulls_up_never_down_and_less_after_longer_pilots():
    better = table([[0.9, 0.9], [0.9, 0.9], [math.nan, math.nan]])
    worse, equal = (table([[share, share]] * 2 + [[math.nan, math.nan]]) for share in (0.05, 0.4))
    for share in (0.01, 0.1, 0.5):
        up, down, same = (
            learned_shift(PILOTS, COVERED, 0.9, near, share)[0] for near in (better, worse, equal)
        )
        assert up > down == same
        longer = [learned_shift(PILOTS, COVERED, 0.9, near, 1.5 * share)[0] for near in (better, worse)]
        assert abs(longer[0] - longer[1]) < abs(up - down)
    wide, narrow = (
        half_widths(torch.tensor([0.5]).double(), share, torch.tensor([200]))[0] for share in (0.01, 0.5)
    )
    assert wide > narrow


def test_a_class_without_covered_elements_has_the_fitted_score():
    nothing = table([[math.nan, math.nan]] * 3)
    shift = learned_shift(PILOTS, nothing, 0.8, NEAR, 0.1)
    same = learned_shift(PILOTS, table([[0.8, 0.8]] * 3, count=400), 0.8, NEAR, 0.1)
    torch.testing.assert_close(shift, same, equal_nan=True)


def test_one_pilot_has_no_rise():
    once, twice = (learned_shift(one, COVERED, 0.9, NEAR, 0.1) for one in ((PILOT,), (PILOT, PILOT)))
    torch.testing.assert_close(once, twice, equal_nan=True)


def test_the_interval_of_the_mean_is_that_of_one_class_and_narrower_over_several():
    nan = math.nan
    one = learned_prediction(table([[0.3, 0.5], [nan, nan]]), torch.tensor([0.3, nan]).double(), 0.2)
    assert one.interval == pytest.approx((float(one.class_low[0]), float(one.class_high[0])))
    four = learned_prediction(table([[0.3, 0.5]] * 4), torch.full((4,), 0.3).double(), 0.2)
    ratio = (four.interval[1] - four.interval[0]) / float(four.class_high[0] - four.class_low[0])
    assert ratio == pytest.approx(math.sqrt(library.SHARED + (1 - library.SHARED) / 4))


def test_the_mean_of_classes_keeps_the_shared_part_of_their_errors():
    generator = torch.Generator().manual_seed(0)
    classes, cases, shared = 4, 20_000, library.SHARED
    common, own = (torch.randn(cases, size, generator=generator) for size in (1, classes))
    errors = math.sqrt(shared) * common + math.sqrt(1 - shared) * own
    inside = (errors.mean(1).abs() <= 1.96 * mean_width(classes)).double().mean()
    assert inside.item() == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / cases))


def test_features_by_hand():
    points = torch.tensor([98, 98, 0])
    shares = {
        "short": [0.3, 0.2, math.nan],
        "long": [0.5, 0.4, math.nan],
        "covered": [0.8, 0.3, 0.9],
        "near": [0.7, 0.1, math.nan],
    }
    short, long, covered, near = (torch.tensor(one).double() for one in shares.values())

    def z(share):
        return math.log((98 * share + 1) / (98 * (1 - share) + 1))

    assert class_logits(covered, points)[0].item() == pytest.approx(z(0.8))
    rise = ((z(0.5) - z(0.3)) + (z(0.4) - z(0.2))) / 2
    first = [1, 0.25, z(0.7) - z(0.5), 0.25 * (z(0.7) - z(0.5)), z(0.8) - z(0.5), rise]
    second = [1, 0.25, 0, 0, z(0.3) - z(0.4), rise]
    coming = 0.9 / (1 + 0.1 / 0.15)
    found = correction_features(torch.stack([short, long]), covered, near, 0.75, points, 0.1)
    for row, wanted in zip(found, (first, second), strict=False):
        assert row.tolist() == pytest.approx([coming * one for one in wanted])


def test_the_numbers_of_the_library_are_those_that_the_bank_gives():
    rows = correction_rows(read_bank())
    rows = rows[~held_out(rows)]
    assert fit_weights(rows).tolist() == pytest.approx(library.WEIGHTS, abs=0.02)
    widths = fit_widths(rows, left_out(rows, "network"))
    numbers = (library.WIDTH, library.FURTHER_WIDTH, library.SHARED)
    assert (widths.whole, widths.further, widths.shared) == pytest.approx(numbers, abs=0.02)
