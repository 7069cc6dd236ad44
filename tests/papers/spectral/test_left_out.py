from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.data import LabelledData, mnist_sample, rotation
from symscope.errors import InputError
from symscope_papers.spectral.left_out import left_out_data, nearest_rotation

SAMPLE = mnist_sample()


def few(count: int = 4) -> LabelledData:
    return SAMPLE.per_class(count, seed=1)


@given(n=st.sampled_from([2, 4]), seed=st.integers(0, 9), split=st.sampled_from(["points", "samples"]))
def test_who_sees_what(n, seed, split):
    data = few()
    fig1 = left_out_data(data, rotation(n), [7, 0, 3], seed, split=split)
    element = torch.arange(40 * n) % n
    assert torch.equal(fig1.labels, data.labels[torch.arange(40 * n) // n])
    for row, digit in enumerate((7, 0, 3)):
        train, inside, outside = fig1.train[row], fig1.in_test[row], fig1.out_test[row]
        assert (train.int() + inside.int() + outside.int() == 1).all()
        assert torch.equal(outside, (fig1.labels == digit) & (element == 0))
    held = [inside | outside for inside, outside in zip(fig1.in_test, fig1.out_test, strict=True)]
    common = fig1.in_test[0] | (held[0] & held[1])
    assert int(common.sum()) == 4 * n  # one draw for every row: a tenth of all points
    if split == "samples":
        for row in fig1.in_test:
            items = (row.nonzero()[:, 0] // n).unique()
            seen = (fig1.train.any(0).nonzero()[:, 0] // n).unique()
            assert not set(items.tolist()) & set(seen.tolist())


def test_points_are_upright_first_and_turned_after():
    data = few(1)
    fig1 = left_out_data(data, rotation(4), [2], seed=0)
    upright = data.standardised().x
    assert torch.allclose(fig1.points.take(torch.arange(0, 40, 4))[:, 0], upright, atol=1e-12)
    turned = torch.rot90(upright, 1, (-2, -1))
    assert torch.allclose(fig1.points.take(torch.arange(1, 40, 4))[:, 0], turned, atol=1e-12)


def test_nearest_rotations_are_those_of_a_sampling_grid():
    draw = torch.rand(3, 9, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    turned = nearest_rotation(12).act_all(draw)
    for k in (1, 2, 5):
        cos, sin = math.cos(math.pi * k / 6), math.sin(math.pi * k / 6)
        theta = torch.tensor([[cos, -sin, 0], [sin, cos, 0]], dtype=torch.float64).expand(3, 2, 3)
        grid = torch.nn.functional.affine_grid(theta, (3, 1, 9, 9), align_corners=False)
        wanted = torch.nn.functional.grid_sample(draw[:, None], grid, mode="nearest", align_corners=False)[
            :, 0
        ]
        assert (turned[:, k] == wanted).double().mean() > 0.9  # half pixels may round either way
    assert torch.equal(turned[:, 3], torch.rot90(draw, 1, (-2, -1)))


def test_pixels_are_left_alone_and_unknown_preparations_refused():
    fig1 = left_out_data(few(1), rotation(4), [2], seed=0, prepared="pixels")
    assert torch.equal(fig1.points.take(torch.arange(0, 40, 4))[:, 0], few(1).x)
    with pytest.raises(InputError, match="expected 'centred', 'unit' or 'pixels', got 'raw'"):
        left_out_data(few(1), rotation(4), [2], seed=0, prepared="raw")


def test_kept_or_made_on_the_fly():
    kept = left_out_data(few(1), rotation(8), [2], seed=5, dtype=torch.float32)
    made = left_out_data(few(1), rotation(8), [2], seed=5, dtype=torch.float32, stored=False)
    everything = torch.arange(80)
    assert torch.allclose(kept.points.take(everything), made.points.take(everything), atol=1e-6)
    assert torch.equal(kept.train, made.train)
    assert kept.points.points.dtype == torch.float32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left_out": []}, "left_out: expected at least one class"),
        ({"left_out": [11]}, r"class 11 is not in MNIST sample; it has \(0, 1,"),
        ({"held_out": 0.0}, "held_out: expected a share between 0 and 1, got 0.0"),
        ({"held_out": 1.0}, "held_out: expected a share between 0 and 1, got 1.0"),
        ({"split": "images"}, "split: expected 'points' or 'samples', got 'images'"),
        ({"action": rotation(1)}, "two orientations or more"),
        ({"seed": -1}, "seed: expected an integer of at least 0"),
    ],
)
def test_bad_requests(change, message):
    request = {"action": rotation(2), "left_out": [3], "seed": 0} | change
    with pytest.raises(InputError, match=message):
        left_out_data(few(1), **request)
