"""Parts of charts: every name once in a legend, ticks where the values are."""

from __future__ import annotations

from symscope.report import new_figure
from symscope_papers.chart_parts import accuracy_axes, doubling_axis, error_line, shared_legend, wrong_line


def test_a_shared_legend_has_every_name_once_in_the_order_of_the_panels():
    figure = new_figure(4, 3)
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], label="theory")
    right.plot([0, 1], label="measured")
    right.plot([0, 1], label="theory")
    shared_legend(figure, (left, right), "lower center")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["theory", "measured"]


def test_axis_and_border():
    axes = new_figure(4, 3).subplots()
    doubling_axis(axes, [8, 2, 4], "angles n")
    wrong_line(axes, "wrong above")
    assert axes.get_xticks().tolist() == [2, 4, 8]
    assert [text.get_text() for text in axes.texts] == ["wrong above"]
    assert set(axes.lines[0].get_ydata()) == {1}


def test_accuracies_have_bars_of_their_errors_on_all_of_the_axis():
    axes = new_figure(4, 3).subplots()
    error_line(axes, [2, 8], [0.25, 0.75], [0.05, 0.1], "o-", "black", "trained")
    accuracy_axes(axes, [2, 8])
    [bars] = axes.containers
    ends = [bar[:, 1].tolist() for bar in bars[2][0].get_segments()]
    assert ends == [[0.25 - 0.05, 0.25 + 0.05], [0.75 - 0.1, 0.75 + 0.1]]
    assert axes.get_ylim() == (-0.05, 1.05)
    assert axes.get_xticks().tolist() == [2, 8]
