"""Figures: written the same every time, readable on light and dark pages, without touching global state."""

from __future__ import annotations

import matplotlib
import pytest

from symscope import InputError
from symscope.report import COLOURS, RIGHT, WRONG, figure_bytes, new_figure, save_figure, style
from tests.report.contrast import contrast


def drawn():
    figure = new_figure(3, 2)
    with style():
        axes = figure.subplots()
        axes.plot([0, 1, 3], [2, 1, 5], label="a line")
        axes.legend()
    return figure


@pytest.mark.parametrize(("format", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_same_figure_gives_the_same_bytes(format, start):
    first = figure_bytes(drawn(), format)
    assert first.startswith(start)
    assert figure_bytes(drawn(), format) == first


def test_drawing_changes_no_global_setting():
    before = dict(matplotlib.rcParams)
    figure_bytes(drawn(), "svg")
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("colour", [*COLOURS, RIGHT, WRONG])
@pytest.mark.parametrize("paper", ["#ffffff", "#14171a"])
def test_every_line_stands_out_on_both_papers(colour, paper):
    assert contrast(colour, paper) >= 3.0


def test_bad_sizes_formats_and_folders_are_refused(tmp_path):
    with pytest.raises(InputError, match="positive width and height"):
        new_figure(0, 3)
    with pytest.raises(InputError, match="svg, png or pdf, got 'gif'"):
        figure_bytes(drawn(), "gif")
    with pytest.raises(InputError, match="cannot write"):
        save_figure(drawn(), tmp_path / "nowhere" / "figure.png")
    save_figure(drawn(), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes() == figure_bytes(drawn(), "png")
