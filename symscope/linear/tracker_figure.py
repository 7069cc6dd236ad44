"""The picture of a tracked training: asymmetry with the theory over it, parts of predictions and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from symscope.errors import InputError
from symscope.report import COLOURS, new_figure, style

if TYPE_CHECKING:
    from symscope.linear.records import Record


def tracker_figure(records: Sequence[Record], theory: Sequence[Record] = ()) -> Any:
    """Log asymmetry against steps, and symmetric beside asymmetric parts; solid measured, dashed predicted.

    Args:
        records: What was measured.
        theory: What was predicted.

    Returns:
        A matplotlib figure with two panels, and a third where parts of weights were recorded.

    Raises:
        InputError: Nothing was recorded.

    >>> from symscope.linear import Record
    >>> figure = tracker_figure([Record(0, 1.0, 0.5, 0.0), Record(1, 1.0, 0.25, 0.0)])
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['Asymmetry loss', 'Parts of the predictions']
    """
    if not records:
        raise InputError("expected at least one record to draw, got none.")
    names = list(records[0].weights)
    panels = 3 if names else 2
    figure = new_figure(4.1 * panels, 3.9)
    with style():
        axes = figure.subplots(1, panels)
        _asymmetry(axes[0], records, theory)
        _curves(axes[1], "symmetric", [r.symmetric for r in records], records, theory, 0, "symmetric")
        _curves(axes[1], "asymmetric", [r.asymmetry for r in records], records, theory, 1, "asymmetry")
        axes[1].set(title="Parts of the predictions", ylabel="mean size")
        if names:
            for number, name in enumerate(names):
                for line, part in (("-", "symmetric"), (":", "asymmetric")):
                    _weight(axes[2], name, part, records, theory, number, line)
            axes[2].set(title="Parts of the weights", ylabel="Frobenius norm")
        for panel in axes:
            panel.set_xlabel("step")
            panel.grid(True)
            panel.margins(y=0.12)
        for panel in axes[1:]:
            panel.set_ylim(bottom=0)
            panel.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=1)
        axes[0].legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=1)
    return figure


def _asymmetry(axes: Any, records: Sequence[Record], theory: Sequence[Record]) -> None:
    steps, values = [r.step for r in records], [r.asymmetry for r in records]
    axes.plot(steps, values, color=COLOURS[1], label="measured")
    if any(r.standard_error > 0 for r in records):
        low = [max(r.asymmetry - 2 * r.standard_error, 1e-300) for r in records]
        high = [r.asymmetry + 2 * r.standard_error for r in records]
        axes.fill_between(steps, low, high, color=COLOURS[1], alpha=0.25, label="two standard errors")
    if theory:
        axes.plot(
            [r.step for r in theory],
            [r.asymmetry for r in theory],
            "--",
            color=COLOURS[0],
            label="theory: linearised at the start",
        )
    axes.set(title="Asymmetry loss", ylabel="mean |f(x) - mean over g of f(gx)|")
    if any(value > 0 for value in values):
        axes.set_yscale("log")


def _curves(
    axes: Any,
    label: str,
    values: Sequence[float],
    records: Sequence[Record],
    theory: Sequence[Record],
    colour: int,
    field: str,
) -> None:
    axes.plot([r.step for r in records], values, color=COLOURS[colour], label=label)
    if theory:
        predicted = [getattr(r, field) for r in theory]
        axes.plot(
            [r.step for r in theory], predicted, "--", color=COLOURS[colour + 2], label=f"{label}, theory"
        )


def _weight(
    axes: Any,
    name: str,
    part: str,
    records: Sequence[Record],
    theory: Sequence[Record],
    number: int,
    line: str,
) -> None:
    colour = COLOURS[number % len(COLOURS)]
    values = [getattr(r.weights[name], part) for r in records]
    axes.plot([r.step for r in records], values, line, color=colour, label=f"{name}, {part}")
    if theory:
        predicted = [getattr(r.weights[name], part) for r in theory]
        axes.plot([r.step for r in theory], predicted, "--", color=colour, alpha=0.6, linewidth=3)
