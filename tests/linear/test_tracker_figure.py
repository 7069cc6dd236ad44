"""The tracker's picture shows the numbers it was given."""

from __future__ import annotations

import math

import pytest

from symscope import InputError
from symscope.linear._records import AsymmetryRecord, PartSizes
from symscope.linear._tracker_figure import tracker_figure
from symscope.report import figure_bytes


def made(step, factor=1.0, error=0.0):
    return AsymmetryRecord(step, 2.0, factor * 0.5**step, error, {"w": PartSizes(1.0, factor * 0.3**step)})


def test_lines_are_the_records_and_the_theory():
    records, theory = [made(s) for s in range(5)], [made(s, 1.1) for s in (0, 4, math.inf)]
    figure = tracker_figure(records, theory)
    assert [axes.get_yscale() for axes in figure.axes] == ["log"] * 3
    measured, predicted = figure.axes[0].get_lines()
    assert list(measured.get_ydata()) == [0.5**s for s in range(5)]
    assert list(predicted.get_xdata()) == [0, 4]  # the limit has no place on the axis
    assert len(figure.axes[1].get_lines()) == len(figure.axes[2].get_lines()) == 4
    assert figure_bytes(figure, "png")[1:4] == b"PNG"


def test_margins_do_not_reach_zero():
    figure = tracker_figure([made(s, error=10.0) for s in range(3)])
    [band] = figure.axes[0].collections
    assert band.get_paths()[0].vertices[:, 1].min() > 1e-3


def test_zeros_and_nothing():
    still = tracker_figure([AsymmetryRecord(0, 0.0, 0.0, 0.0), AsymmetryRecord(1, 0.0, 0.0, 0.0)])
    assert still.axes[0].get_yscale() == "linear"
    assert len(still.axes) == 2
    with pytest.raises(InputError, match="at least one record to draw"):
        tracker_figure([])
