from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.linear import second_moments, streamed_moments
from tests.linear.problems import draw
from tests.tolerances import ROUNDING


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5), width=st.sampled_from([None, 1, 3]))
def test_batches_add_up_to_the_whole(sizes, width):
    n = sum(sizes)
    x = draw(1, n, 4)
    y = draw(2, n) if width is None else draw(2, n, width)
    whole = second_moments(x, y)
    parts = streamed_moments(zip(x.split(sizes), y.split(sizes), strict=True))
    for moments in (whole, parts):
        assert (moments.xx - x.T @ x).abs().max() < ROUNDING * n
        assert (moments.xy - x.T @ y).abs().max() < ROUNDING * n
        assert abs(moments.yy - float((y**2).sum())) < ROUNDING * n
        assert moments.points == n
        assert moments.xy.shape == x.T.matmul(y).shape


def test_a_generator_is_read_once_and_single_precision_is_summed_in_double():
    seen = []

    def batches():
        for i in range(50):
            seen.append(i)
            yield draw(i, 20, 5).float(), draw(i + 99, 20).float()

    moments = streamed_moments(batches())
    assert seen == list(range(50))
    x = torch.cat([draw(i, 20, 5).float() for i in range(50)]).double()
    assert moments.xx.dtype == torch.float64
    assert (moments.xx - x.T @ x).abs().max() < 1000 * ROUNDING


def test_more_features_than_one_panel():
    x, y = draw(3, 30, 1100), draw(4, 30)
    moments = streamed_moments(zip(x.split(11), y.split(11), strict=True))
    assert (moments.xx - x.T @ x).abs().max() < 30 * ROUNDING
    assert torch.equal(moments.xx[:512, 512:], moments.xx[512:, :512].T)


def test_bad_input():
    x, y = draw(0, 3, 2), draw(1, 3)
    with pytest.raises(InputError, match="expected at least one batch"):
        streamed_moments([])
    with pytest.raises(InputError, match=r"expected labels as \[3\] or \[3, m\], got shape \(2,\)"):
        streamed_moments([(x, y[:2])])
    with pytest.raises(InputError, match=r"expected features as \[n, d\], got shape \(3,\)"):
        streamed_moments([(y, y)])
    with pytest.raises(InputError, match="every batch with 2 features and labels of shape"):
        streamed_moments([(x, y), (draw(0, 3, 4), y)])
    with pytest.raises(InputError, match="every batch with 2 features and labels of shape"):
        streamed_moments([(x, y), (x, y[:, None])])
    with pytest.raises(InputError, match="some are NaN or infinite"):
        second_moments(x * math.nan, y)
