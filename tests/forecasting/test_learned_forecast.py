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
    USUAL_ERROR,
    class_logits,
    correction_features,
    half_widths,
    learned_prediction,
    learned_shift,
    mean_width,
    shift_towards,
)
from symscope.forecasting._trained_answer import ScoreTable, TrainedAnswer
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
NEAR = table([[0.4, 0.5], [0.1, 0.2], [math.nan, math.nan]])
SURE = table([[0.3, 0.5], [0.4, 0.7], [math.nan, math.nan]])
FIT = table([[0.9, math.nan], [math.nan, 0.8], [1.0, 1.0]])
NOTHING = table([[math.nan, math.nan]] * 3)


def answer(near=NEAR, sure=SURE, fit=FIT):
    return TrainedAnswer(NOTHING, PILOT, NOTHING, NOTHING, fit, near, sure, (), 0.5, 60)


def test_a_whole_training_is_not_corrected():
    shift = learned_shift(answer(), NEAR, 1.0)
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
    result = learned_prediction(PILOT, learned_shift(answer(), None, share), share)
    torch.testing.assert_close(result.table[:2].mean(1), result.class_score[:2], rtol=0, atol=1e-9)
    assert result.table[2].isnan().all()
    assert result.class_score[2].isnan()
    assert (result.class_low[:2] <= result.class_score[:2]).all()
    assert (result.class_score[:2] <= result.class_high[:2]).all()
    assert result.interval[0] <= result.mean <= result.interval[1]


def test_the_better_of_both_neighbours_pulls_and_less_after_longer_pilots():
    better, worse = (table([[share, share]] * 2 + [[math.nan, math.nan]]) for share in (0.9, 0.05))
    for share in (0.01, 0.1, 0.5):
        up, down, alone = (learned_shift(answer(), near, share)[:2] for near in (better, worse, None))
        assert (up > alone).all()
        torch.testing.assert_close(down, alone)  # those of the pilot have the classes more often
        same = learned_shift(answer(near=better), worse, share)[:2]
        torch.testing.assert_close(same, up)
        longer = [learned_shift(answer(), near, 1.5 * share)[:2] for near in (better, None)]
        assert ((longer[0] - longer[1]) < (up - alone)).all()
    wide, narrow = (
        half_widths(torch.tensor([0.5]).double(), share, torch.tensor([200]))[0] for share in (0.01, 0.5)
    )
    assert wide > narrow


def test_what_was_not_asked_counts_as_the_pilot_itself():
    """A pilot without a fitted last layer has no neighbours; a class without points seen has the mean fit."""
    bare = learned_shift(answer(near=NOTHING, sure=NOTHING), None, 0.1)
    torch.testing.assert_close(bare, learned_shift(answer(near=PILOT, sure=PILOT), None, 0.1), equal_nan=True)
    some, mean = table([[0.9, 0.9], [math.nan] * 2, [0.6, 0.6]]), table([[0.9, 0.9], [0.75] * 2, [0.6, 0.6]])
    torch.testing.assert_close(
        learned_shift(answer(fit=some), None, 0.1), learned_shift(answer(fit=mean), None, 0.1), equal_nan=True
    )


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
    pilot, near, sure, fitted = (
        torch.tensor(one).double()
        for one in (
            [0.5, 0.4, math.nan],
            [0.7, 0.1, math.nan],
            [0.6, 0.3, math.nan],
            [0.75, 0.9, 1.0],
        )
    )

    def z(share):
        return math.log((98 * share + 1) / (98 * (1 - share) + 1))

    assert class_logits(near, points)[0].item() == pytest.approx(z(0.7))
    first = [1, 0.25, z(0.7) - z(0.5), z(0.6) - z(0.5), z(0.5)]
    second = [1, 0.1, z(0.1) - z(0.4), z(0.3) - z(0.4), z(0.4)]
    coming = 0.9 / (1 + 0.1 / 0.15)
    found = correction_features(pilot, near, sure, fitted, points, 0.1)
    for row, wanted in zip(found, (first, second), strict=False):
        assert row.tolist() == pytest.approx([coming * one for one in wanted])


def test_the_numbers_of_the_library_are_those_that_the_bank_gives():
    rows = correction_rows(read_bank())
    rows = rows[~held_out(rows)]
    assert fit_weights(rows).tolist() == pytest.approx(library.WEIGHTS, abs=0.02)
    widths = fit_widths(rows, left_out(rows, "network"))
    numbers = (library.WIDTH, library.FURTHER_WIDTH, library.SHARED)
    assert (widths.whole, widths.further, widths.shared) == pytest.approx(numbers, abs=0.02)


@given(
    scores=st.lists(st.floats(0.02, 0.98), min_size=1, max_size=6),
    known=st.floats(0, 1),
    spread=st.floats(0.02, 0.3),
)
def test_a_common_error_goes_towards_what_is_known_and_never_past_it(scores, known, spread):
    z = torch.logit(torch.tensor(scores, dtype=torch.float64))
    shift = shift_towards(torch.tensor(scores, dtype=torch.float64), known, spread)
    mean, moved = (float(torch.sigmoid(z + by).mean()) for by in (0.0, shift))
    assert (shift <= 0.01) if known < mean else (shift >= -0.01)
    assert abs(moved - known) <= abs(mean - known) + 1e-9
    # the least cost on a finer grid of its own
    cost = [
        ((float(torch.sigmoid(z + by).mean()) - known) / spread) ** 2 + (by / USUAL_ERROR) ** 2
        for by in (shift, shift - 0.02, shift + 0.02)
    ]
    assert cost[0] <= min(cost) + 1e-9 or abs(shift) > 3.97


def test_a_common_error_is_known_better_by_a_longer_pilot():
    scores = torch.tensor([0.7, 0.8], dtype=torch.float64)
    shifts = [shift_towards(scores, 0.4, spread) for spread in (0.01, 0.05, 0.5)]
    assert shifts == sorted(shifts)
    assert shifts[0] == pytest.approx(
        float(torch.logit(torch.tensor(0.4)) - torch.logit(torch.tensor(0.75))), abs=0.05
    )
    assert shifts[-1] > -0.3
