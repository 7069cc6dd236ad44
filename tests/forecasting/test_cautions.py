"""Warnings, each where it is due and nowhere else."""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from symscope.forecasting._cautions import layer_cautions, symmetry_cautions, target_cautions
from symscope.forecasting._question import as_question
from symscope.forecasting._resample import draw_resample
from symscope.networks import user_model
from tests.forecasting.problems import blobs


def warned(net, action, side=6):
    question = as_question(blobs(side=side), action)
    return layer_cautions(net.double(), user_model(net, (side, side), 3), question, question.data.x)


def test_strides_and_padding_that_break_the_symmetry_are_named():
    strided = nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.Flatten(), nn.Linear(8, 3))
    [words] = warned(strided, "C4")
    assert "Layer '0' (Conv2d): windows of 3 in steps of 2 on 6 positions leave 1 over" in words
    # and they do break it: windows that fit have a smaller error under a mirror-symmetric filter
    fits = nn.Sequential(nn.Conv2d(1, 2, 2, stride=2), nn.Flatten(), nn.Linear(18, 3))
    assert warned(fits, "C4") == ()
    padded = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 3))
    zero, step = warned(padded, "C6 shift-x")
    assert "zero padding of 1" in zero
    assert "one position is 2 of the input's; shifts by 1 are" in step
    circular = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"), nn.Flatten(), nn.Linear(72, 3)
    )
    assert warned(circular, "C6 shift-x") == ()


def test_outputs_that_are_probabilities_are_named():
    """Logits, their logarithms and shares that do not sum to one need no caution."""
    question = as_question(blobs(), "C4")
    body = nn.Sequential(nn.Flatten(), nn.Linear(36, 3)).double()

    def said(*last):
        net = nn.Sequential(body, *last)
        return target_cautions(net, user_model(net, (6, 6), 3), question, question.data.x[:5])

    [words] = said(nn.Softmax(1))
    assert "are probabilities" in words
    assert "Leave the last softmax out" in words
    assert said() == said(nn.LogSoftmax(1)) == said(nn.Sigmoid()) == ()


def test_images_that_reach_into_the_corners_are_named():
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    [words] = warned(net, "C8")
    assert "outside the inscribed circle" in words
    assert "pad them to 9 x 9 pixels" in words
    assert warned(net, "C4") == warned(net, "D4") == ()


def test_a_kernel_near_the_group_and_points_apart_need_no_caution():
    question = as_question(blobs(), "C8")
    resample = draw_resample(question, 2, 0)
    assert symmetry_cautions(0.049, resample, question.group) == ()
    assert symmetry_cautions(0.051, resample, question.group)[0].startswith(
        "The kernel is not invariant under C8 (5 %)"
    )


def test_points_that_coincide_without_a_subgroup_are_seen():
    """The nearest pixels of a small turn are the pixels themselves, those of twice the turn are not."""
    question = as_question(blobs(), "C8")
    resample = draw_resample(question, 2, 0)
    images = resample.images.clone()
    images[3, 1] = images[3, 0]
    (caution,) = symmetry_cautions(0.0, replace(resample, images=images), question.group)
    assert caution.startswith("1 of 6 samples are the same under elements of C8 that are no subgroup (e, r)")
