"""Pictures of a forecast: whatever classes are called, nothing is cut and nothing overlaps."""

from __future__ import annotations

from itertools import pairwise

import pytest
from torch import nn

from symscope.forecasting import ForecastOptions, TrainingOptions, forecast
from symscope.forecasting._cases_figure import cases_figure
from symscope.forecasting._forecast_figures import classes_figure
from tests.forecasting.problems import blobs

BIRDS = ("great crested grebe", "lapwing", "oystercatcher", "common ringed plover", "kingfisher", "$5 x_ $")


def checked(classes, names=None):
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, classes))
    return forecast(
        net,
        blobs(classes=classes),
        "flip",
        train=True,
        training=TrainingOptions(steps=6, max_classes=2),
        class_names=names,
        options=ForecastOptions(method="pilot", budget=20),
    )


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
