"""Features of pictures: what is left of blur, cut corners and shifts."""

import pytest
import torch

from symscope.auditing._comparable import comparable_features, kept_pixels, small_pictures
from symscope.auditing._two_sample import two_sample_test
from symscope.data import custom_action, mnist_sample, rotation
from symscope.data.images import flip, shift
from symscope.groups import cyclic
from symscope.numerics import seeded


def test_corners_are_left_out_only_where_an_element_cuts_them():
    assert bool(kept_pixels(rotation(4), (3, 28, 28)).all())
    assert bool(kept_pixels(flip("x"), (1, 12, 15)).all())
    kept = kept_pixels(rotation(8), (28, 28))
    rows, columns = (~kept).nonzero().T.double() - 13.5
    assert float((rows**2 + columns**2).min()) > 12.0**2  # an octagon, one pixel smaller
    assert 0.6 < float(kept.double().mean()) < 0.83
    torch.testing.assert_close(rotation(4).act(1, kept.double()), kept.double())


def test_what_is_no_picture_is_taken_as_it_is():
    negated = custom_action(cyclic(2), lambda g, x: -x if g else x, 2)
    assert kept_pixels(negated, (9, 9)) is None  # no pixel of a constant image is kept
    assert kept_pixels(shift(4), (28, 28)) is None
    assert kept_pixels(flip("x"), (1, 28)) is None  # a series
    x = torch.randn(3, 1, 5, generator=seeded(0))
    assert torch.equal(comparable_features(x, None), x.flatten(1).double())


def relative(a, b):
    return float((a - b).norm() / b.norm())


def test_a_shift_by_a_pixel_and_the_background_leave_little_trace():
    images = mnist_sample().x[::100]
    inside = kept_pixels(flip("x"), (28, 28))
    plain = comparable_features(images, inside)
    assert relative(comparable_features(images.roll(1, 2), inside), plain) < 0.05
    assert relative(images.roll(1, 2), images) > 0.4
    torch.testing.assert_close(comparable_features(images + 3, inside), plain, atol=1e-4, rtol=1e-4)
    assert relative(comparable_features(images.roll(6, 2), inside), plain) > 0.5  # a real shift is seen


@pytest.mark.parametrize("textured", [False, True])
def test_interpolation_alone_is_not_told_apart(textured):
    """Samples turned there and back by 45 degrees, against others: plain pixels tell, features do not."""
    if textured:  # images that fill the frame, with corners to lose
        images = torch.nn.functional.avg_pool2d(torch.rand(300, 44, 44, generator=seeded(1)), 3, 2)
    else:
        images = mnist_sample(torch.float32).x[torch.randperm(2000, generator=seeded(2))[:300]]
    action = rotation(8)
    inside = kept_pixels(action, tuple(images.shape[1:]))
    returned = action.act(7, action.act(1, images[:150]))
    features = two_sample_test(
        comparable_features(returned, inside), comparable_features(images[150:], inside), 0, 99
    )
    assert features.p_value > 0.05
    if textured:
        pixels = two_sample_test(returned.flatten(1), images[150:].flatten(1), 0, 99)
        assert pixels.accuracy > 0.9


def test_large_pictures_are_averaged_before_they_are_moved():
    x = torch.rand(2, 3, 96, 96, generator=seeded(4))
    small = small_pictures(rotation(8), x)
    torch.testing.assert_close(small, torch.nn.functional.avg_pool2d(x, 3))
    torch.testing.assert_close(rotation(4).act(1, small), small_pictures(rotation(4), rotation(4).act(1, x)))
    assert small_pictures(shift(4), x) is x  # cyclic shifts depend on the size
    assert small_pictures(rotation(8), x[..., :40, :40]).shape[-1] == 40
