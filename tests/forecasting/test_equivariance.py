"""Equivariance by layer: zero where it must be, and the grid's part apart from the model's."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import nn

from symscope.forecasting._equivariance import equivariance, layer_cautions, symmetry_cautions
from symscope.forecasting._question import as_question
from symscope.forecasting._resample import draw_resample
from symscope.networks import user_model
from tests.forecasting.problems import blobs
from tests.tolerances import ROUNDING


class Isotropic(nn.Module):
    """A convolution whose filter looks the same from all four sides."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor([0.7, -0.4, 0.2], dtype=torch.float64))

    def forward(self, x):
        centre, edge, corner = self.weights
        filters = torch.stack([corner, edge, corner, edge, centre, edge, corner, edge, corner])
        return nn.functional.conv2d(x, filters.reshape(1, 1, 3, 3).to(x), padding=1)


def measured(net, action, side=6):
    question = as_question(blobs(side=side), action)
    model = user_model(lambda: net, (side, side), 3)
    return equivariance(net, model, question, question.data.x)


def test_an_equivariant_layer_has_no_error_of_its_own_and_the_grid_s_part_is_apart():
    net = nn.Sequential(
        Isotropic(), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1, 3)
    ).double()
    exact = measured(net, "C4")
    assert all(one.model < ROUNDING for one in exact.layers)
    assert all(math.isnan(one.discretisation) for one in exact.layers)
    assert exact.asymmetry < ROUNDING
    rough = measured(net, "C8")
    first = rough.layers[0]
    assert (first.target, rough.layers[-1].target) == ("equivariant", "invariant")
    assert first.model < ROUNDING < 0.01 < first.discretisation
    assert rough.control == "3 elements of C8 that move pixels exactly"
    assert rough.asymmetry > 0.001


def test_a_group_without_exact_elements_is_held_against_quarter_turns():
    net = nn.Sequential(Isotropic(), nn.Flatten(), nn.Linear(36, 3)).double()
    result = measured(net, "C3 rotation")
    assert result.control == "quarter turns of the same images"
    assert result.layers[0].model < ROUNDING < result.layers[0].discretisation


def test_an_ordinary_convolution_s_error_is_its_own():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.Flatten(), nn.Linear(108, 3)).double()
    result = measured(net, "C4")
    assert result.layers[0].model > 0.3
    x = blobs().x[:6]
    x = (x - x.mean((1, 2), keepdim=True)) / x.std((1, 2), keepdim=True, correction=0)
    with torch.no_grad():
        plain = net[0](x[:, None])
        errors = [
            (net[0](torch.rot90(x, k, (1, 2))[:, None]) - torch.rot90(plain, k, (2, 3))).norm() / plain.norm()
            for k in (1, 2, 3)
        ]
    assert abs(result.layers[0].model - float(sum(errors)) / 3) < 1e-10


def test_tokens_are_moved_on_their_grid():
    class Patches(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.Identity()
            self.inner = nn.LayerNorm(4, elementwise_affine=False)
            self.readout = nn.Linear(4, 3)

        def forward(self, x):
            tokens = nn.functional.unfold(x, 2, stride=2).transpose(1, 2)
            return self.readout(self.inner(tokens.sort(-1).values).mean(1))

    result = measured(Patches().double(), "C4")
    assert result.layers[0].target == "equivariant"
    assert result.layers[0].model < ROUNDING  # sorted patches do not know their own orientation


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
