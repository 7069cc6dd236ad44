"""Pictures of spectra: what is drawn is what the table says."""

from __future__ import annotations

import pandas as pd
import pytest

from symscope.report import new_figure
from symscope_papers.spectrum_plots import FLOOR, draw_spectra, inverse_panels


def test_the_rectangle_is_as_high_as_the_last_inverse_eigenvalue():
    part = pd.DataFrame({"frequency": [0, 1, 2], "inverse_lambda": [0.5, 3.0, 2.0]})
    figure = inverse_panels([("best", part)])
    area, rectangle = figure.axes[0].collections
    assert area.get_paths()[0].vertices[:, 1].max() == 3.0
    assert rectangle.get_paths()[0].vertices[:, 1].max() == 2.0
    assert figure.axes[0].get_xlim() == (0, 2)


def test_every_group_has_a_line_and_zeros_are_drawn_at_the_floor():
    table = pd.DataFrame(
        {"pair": [7, 7, 9, 9], "frequency": [0, 1, 0, 1], "relative_eigenvalue": [1.0, -0.25, 1.0, 0.0]}
    )
    axes = new_figure(3, 3).subplots()
    draw_spectra(axes, table, "pair", "black")
    assert [line.get_ydata().tolist() for line in axes.lines] == [[1.0, 0.25], pytest.approx([1.0, FLOOR])]
    assert axes.get_yscale() == "log"
