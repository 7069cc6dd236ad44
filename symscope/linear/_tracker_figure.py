"""The picture of a tracked training: asymmetry with the theory over it, parts of predictions and weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from symscope.errors import InputError
from symscope.linear._records import AsymmetryRecord
from symscope.report import COLOURS, new_figure, style


def tracker_figure(records: Sequence[AsymmetryRecord], theory: Sequence[AsymmetryRecord] = ()) -> Any:
    """Asymmetry, parts of predictions and parts of weights against steps; solid measured, dashed predicted.

    Sizes are on logarithmic axes, on which exponential decay is a straight line; zeros are not drawn.

    Args:
        records: What was measured.
        theory: What was predicted.

    Returns:
        A matplotlib figure with two panels, and a third where parts of weights were recorded.

    Raises:
        InputError: Nothing was recorded.

    >>> figure = tracker_figure([AsymmetryRecord(0, 1.0, 0.5, 0.0), AsymmetryRecord(1, 1.0, 0.25, 0.0)])
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['Asymmetry loss', 'Parts of the predictions']
    """
    if not records:
        raise InputError("expected at least one record to draw, got none.")
    panels = 3 if records[0].weights else 2
    figure = new_figure(4.1 * panels, 3.9)
    with style():
        axes = figure.subplots(1, panels)
        _asymmetry(axes[0], records, theory)
        _predictions(axes[1], records, theory)
        if panels == 3:
            _weights(axes[2], records, theory)
        for panel in axes:
            panel.set_xlabel("step")
            panel.grid(True)
            panel.margins(y=0.12)
            panel.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return figure


def _asymmetry(axes: Any, records: Sequence[AsymmetryRecord], theory: Sequence[AsymmetryRecord]) -> None:
    _line(axes, records, lambda r: r.asymmetry, "-", color=COLOURS[1], label="measured")
    if any(r.standard_error > 0 for r in records):
        steps, values = [r.step for r in records], [r.asymmetry for r in records]
        margins = [2 * r.standard_error for r in records]
        # a margin that reaches zero would stretch a logarithmic axis without end
        low = [max(v - m, v / 100) for v, m in zip(values, margins, strict=True)]
        high = [v + m for v, m in zip(values, margins, strict=True)]
        axes.fill_between(steps, low, high, color=COLOURS[1], alpha=0.25, label="two standard errors")
    _line(axes, theory, lambda r: r.asymmetry, "--", color=COLOURS[0], label="theory, plain gradient descent")
    axes.set(title="Asymmetry loss", ylabel="mean |f(x) - mean over g of f(gx)|")


def _predictions(axes: Any, records: Sequence[AsymmetryRecord], theory: Sequence[AsymmetryRecord]) -> None:
    for number, (name, value) in enumerate(
        (("symmetric", _symmetric_size), ("asymmetric", _asymmetric_size))
    ):
        _line(axes, records, value, "-", color=COLOURS[number], label=name)
        _line(axes, theory, value, "--", color=COLOURS[number + 2], label=f"{name}, theory")
    axes.set(title="Parts of the predictions", ylabel="mean size")


def _weights(axes: Any, records: Sequence[AsymmetryRecord], theory: Sequence[AsymmetryRecord]) -> None:
    for number, name in enumerate(records[0].weights):
        for offset, part in enumerate(("symmetric", "asymmetric")):
            colour = COLOURS[(2 * number + offset) % len(COLOURS)]

            def size(record: AsymmetryRecord, name: str = name, part: str = part) -> float:
                return float(getattr(record.weights[name], part))

            _line(axes, records, size, "-", color=colour, label=f"{name}, {part}")
            _line(axes, theory, size, "--", color=colour, label=None, alpha=0.55, linewidth=4)
    axes.set(title="Parts of the weights", ylabel="Frobenius norm")


def _line(
    axes: Any,
    records: Sequence[AsymmetryRecord],
    value: Callable[[AsymmetryRecord], float],
    line: str,
    **look: Any,
) -> None:
    drawn = [record for record in records if math.isfinite(record.step)]
    if not drawn:
        return
    values = [value(record) for record in drawn]
    axes.plot([record.step for record in drawn], values, line, **look)
    if any(v > 0 for v in values):
        axes.set_yscale("log")


def _symmetric_size(record: AsymmetryRecord) -> float:
    return record.symmetric


def _asymmetric_size(record: AsymmetryRecord) -> float:
    return record.asymmetry
