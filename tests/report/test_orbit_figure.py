"""Pictures of orbits."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.report import orbit_figure


def test_every_image_is_shown_where_it_belongs():
    images = torch.rand(2, 3, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    figure = orbit_figure(images, rows=["a", "b"], columns=["e", "r", "s"], title="three")
    shown = [axes.images[0].get_array() for axes in figure.axes]
    for index, image in enumerate(images.flatten(0, 1)):
        assert torch.equal(torch.tensor(shown[index].tolist(), dtype=torch.float64), image)
    assert [axes.get_title() for axes in figure.axes[:3]] == ["e", "r", "s"]
    # one scale of grey for all, or elements could not be compared
    assert len({axes.images[0].get_clim() for axes in figure.axes}) == 1


def test_bad_input_is_refused():
    images = torch.zeros(1, 2, 3, 3)
    with pytest.raises(InputError, match="expected 1 row and 2 column labels"):
        orbit_figure(images, rows=["a"], columns=["e"], title="")
    with pytest.raises(InputError, match="not finite"):
        orbit_figure(images.log() * 0, rows=["a"], columns=["e", "r"], title="")


def test_three_channels_are_colours_and_others_grey():
    images = torch.zeros(1, 1, 3, 2, 4)
    images[0, 0, 0, 0, 1] = 4.0  # red
    images[0, 0, 2, 1, 3] = 2.0  # half as bright, blue
    figure = orbit_figure(images, rows=["a"], columns=["e"], title="Colours")
    [shown] = figure.axes[0].get_images()
    pixels = shown.get_array()
    assert pixels.shape == (2, 4, 3)
    assert pixels[0, 1].tolist() == [1.0, 0.0, 0.0]
    assert pixels[1, 3].tolist() == [0.0, 0.0, 0.5]
    figure = orbit_figure(images[:, :, :2], rows=["a"], columns=["e"], title="Two channels")
    [shown] = figure.axes[0].get_images()
    assert shown.get_array().tolist() == [[0.0, 2.0, 0.0, 0.0], [0.0] * 4]
