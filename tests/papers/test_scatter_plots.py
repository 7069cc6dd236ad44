"""Scatter plots: what is drawn is what the table says."""

from __future__ import annotations

import pandas as pd
import pytest

from symscope.report import figure_bytes
from symscope_papers.scatter_plots import agreement, scatter_grid

TABLE = pd.DataFrame({"theory": [0.2, 0.9, 1.3, 1.6], "measured": [0.1, 1.1, 1.2, 0.8]})


def test_dots_are_coloured_by_the_measured_error_not_by_the_theory():
    figure = scatter_grid([("n = 4", TABLE), ("n = 8", TABLE[:1])], "theory", "measured", ("x", "y"))
    first, second = figure.axes
    drawn = {dots.get_label(): dots.get_offsets().tolist() for dots in first.collections}
    assert drawn == {
        "prediction right": [[0.2, 0.1], [1.6, 0.8]],
        "prediction wrong": [[0.9, 1.1], [1.3, 1.2]],
    }
    assert [dots.get_label() for dots in second.collections] == ["prediction right"]
    assert first.get_title(loc="left") == "n = 4"
    assert first.get_xlim() == first.get_ylim()
    r, gap = agreement(TABLE, "theory", "measured")
    assert first.texts[0].get_text() == f"r = {r:.3f}\nmean gap {gap:.2g}"
    assert gap == pytest.approx(0.3)
    assert [text.get_text() for text in figure.legends[0].get_texts()].count("prediction right") == 1
    assert figure_bytes(figure, "png").startswith(b"\x89PNG")
