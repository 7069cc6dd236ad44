"""Pictures of a forecast: whatever classes are called, nothing is cut and nothing overlaps."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from symscope.data import custom_action
from symscope.forecasting import CheckOptions, forecast, forecast_page
from symscope.forecasting._check import PilotForecast
from symscope.forecasting._forecast_figures import cases_figure, classes_figure
from symscope.groups import cyclic
from tests.forecasting.own_code import turned_points
from tests.forecasting.problems import FEW, blobs

BIRDS = ("great crested grebe", "lapwing", "oystercatcher", "common ringed plover", "kingfisher", "$5 x_ $")


def checked(classes, names=None):
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, classes))
    training = CheckOptions(epochs=1, kernel_classes=0)
    result = forecast(
        net,
        blobs(classes=classes),
        "flip",
        train=training,
        class_names=names,
        options=FEW,
    )
    there = torch.ones(classes, dtype=torch.float64)
    return replace(result, pilot=PilotForecast(1000, there, 0 * there))  # the longest key there is


def apart(boxes):
    return all(first.x1 <= second.x0 for first, second in pairwise(boxes))


@pytest.mark.parametrize(
    ("classes", "names"), [(2, None), (6, BIRDS), (20, [f"{BIRDS[k % 6]} {k}" for k in range(20)])]
)
def test_key_and_names_are_whole_and_apart(classes, names):
    result = checked(classes, names)
    figure = classes_figure(result)
    figure.draw_without_rendering()
    [key], [axes] = figure.legends, figure.axes
    labels = axes.get_xticklabels()
    shown = [label.get_text() for label in labels]
    assert [text.replace("\n", " ") for text in shown] == list(result.question.class_names)
    for part in (key, *labels):
        box = part.get_window_extent()
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    assert apart([label.get_window_extent() for label in labels])


def test_missing_cases_carry_the_names_of_classes_without_touching():
    result = checked(6, BIRDS)
    figure = cases_figure(result)
    figure.draw_without_rendering()
    for row in {axes.get_subplotspec().rowspan.start for axes in figure.axes}:
        line = [axes.title for axes in figure.axes if axes.get_subplotspec().rowspan.start == row]
        assert apart([title.get_window_extent() for title in line if title.get_text()])
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    begins = [title.split("\n")[0].partition(" → ")[0].removesuffix("…") for title in titles]
    assert all(any(name.startswith(begin) for name in BIRDS) for begin in begins)


def test_points_are_drawn_at_their_coordinates_and_series_as_lines():
    x = torch.randn(8, 10, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    turned = custom_action(cyclic(5), turned_points, 2)
    net = nn.Sequential(nn.Flatten(), nn.Linear(20, 8), nn.ReLU(), nn.Linear(8, 2))
    result = forecast(net, (x, torch.arange(8) % 2), turned, options=FEW)
    assert (result.question.kind, result.question.standardised) == ("points", False)
    drawn = [axes.collections[0].get_offsets() for axes in cases_figure(result).axes if axes.collections]
    samples = result.prediction.resample.images[:, 0]
    assert drawn
    for offsets in drawn:
        assert any(np.allclose(offsets, one) for one in samples)
    assert "first two coordinates" in forecast_page(result)
    result = forecast(net, (x.reshape(8, 1, 20), torch.arange(8) % 2), "C2 shift-x", options=FEW)
    assert (result.question.kind, result.question.standardised) == ("series", True)
    lines = [axes.lines[0].get_ydata() for axes in cases_figure(result).axes if axes.lines]
    assert lines
    for line in lines:
        assert any(np.allclose(line, one[0]) for one in result.prediction.resample.images[:, 0])
