"""Several networks asked about one problem: their verdicts side by side, on one page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from symscope.errors import InputError
from symscope.forecast.answer import Forecast
from symscope.forecast.page import forecast_sections, repeat_section
from symscope.forecast.summary import answer
from symscope.report import (
    COLOURS,
    Block,
    Command,
    Facts,
    Picture,
    Section,
    Table,
    Text,
    figure_bytes,
    inline_svg,
    new_figure,
    page,
    style,
)


def comparison_page(forecasts: Sequence[Forecast], command: str = "") -> str:
    """Forecasts of several networks for the same data and group, as one page of HTML text.

    Args:
        forecasts: One for each network, in the order they are shown.
        command: What was typed, for the section on how to repeat it.

    Raises:
        InputError: No forecast, two of one name, or forecasts of different data or groups.
    """
    check_comparable(forecasts)
    problem = forecasts[0].problem
    sections = [_side_by_side(forecasts)]
    for found in forecasts:
        sections += forecast_sections(found, found.model.name)
    sections.append(_repeat(forecasts, command))
    title = f"Which network will learn {problem.group.name} by {problem.action.name}?"
    return page(title=title, lead=lead(forecasts), sections=sections)


def check_comparable(forecasts: Sequence[Forecast]) -> None:
    """Refuses forecasts that do not belong on one page."""
    if not forecasts:
        raise InputError("a comparison needs at least one forecast, got none.")
    names = [found.model.name for found in forecasts]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"every network of a comparison needs a name of its own, repeated: {repeated[0]}.")
    asked = {
        (found.problem.data.name, found.problem.group.name, found.problem.action.name) for found in forecasts
    }
    if len(asked) > 1:
        listed = "; ".join(", ".join(one) for one in sorted(asked))
        raise InputError(f"a comparison is about one data set, group and action, got {listed}.")


def lead(forecasts: Sequence[Forecast]) -> str:
    """What was found for each network, in one sentence each."""
    sentences = []
    for found in forecasts:
        words = f"{answer(found)} for {found.model.name}: {found.expected:.0%} expected"
        if found.outcome is not None:
            words += f", {found.outcome.accuracy:.0%} after training"
        sentences.append(words + ".")
    return " ".join(sentences)


def verdict_table(forecasts: Sequence[Forecast]) -> Table:
    """The answers side by side, for the page and the terminal; what was not measured is a dash.

    The difference is the mean over classes of |forecast - trained|; two trainings with different optimisers
    differ by the noise floor, measured in the same way.
    """
    rows = tuple(_row(found) for found in forecasts)
    columns = (
        "network",
        "learns it?",
        "forecast",
        "95 % interval",
        "trained",
        "difference",
        "noise floor",
        "first advice",
    )
    return Table(
        f"Share of missing transformations read right; the target is {forecasts[0].target:.2f}",
        columns,
        rows,
        numeric=(False, False, *(True,) * 5, False),
    )


def _row(found: Forecast) -> tuple[str, ...]:
    low, high = found.interval
    trained = apart = floor = math.nan
    if found.outcome is not None:
        trained, floor = found.outcome.accuracy, found.outcome.noise_floor
        apart = float((found.expected_by_class - found.outcome.class_accuracy).abs().nanmean())
    first = "none"
    if found.advice:
        best = found.advice[0]
        first = f"{best.text} Then {best.accuracy:.2f}."
    return (
        found.model.name,
        answer(found).lower(),
        f"{found.expected:.2f}",
        f"{low:.2f} to {high:.2f}",
        *("–" if math.isnan(value) else f"{value:.2f}" for value in (trained, apart, floor)),
        first,
    )


def _side_by_side(forecasts: Sequence[Forecast]) -> Section:
    order = forecasts[0].problem.group.order
    question = Text(
        f"Every item is shown in {order} transformations, except the items of one class, which lack one: "
        "does the network read the missing ones? The forecast is made before training. The check trains the "
        "network for each class in turn, twice with different optimisers: the noise floor is how much those "
        "two differ, mean over classes."
        if forecasts[0].missing is None
        else "Some classes lack some transformations: does the network read them? The forecast is made "
        "before training."
    )
    trained = any(found.outcome is not None for found in forecasts)
    alt = f"For each network, the share of missing transformations read right: {lead(forecasts)}"
    caption = (
        "Bars: where 95 % of new draws of items should lie, by the forecast; training has its own noise on "
        "top."
    )
    element = inline_svg(
        figure_bytes(comparison_figure(forecasts), "svg").decode(), prefix="comparison", alt=alt
    )
    picture = Picture(element, "Forecast and outcome" if trained else "The forecasts", caption)
    return Section("Side by side", (verdict_table(forecasts), picture, question), anchor="side-by-side")


def comparison_figure(forecasts: Sequence[Forecast]) -> Any:
    """A row for each network: forecast with its interval, and what two trainings gave."""
    figure = new_figure(8.0, 1.5 + 0.55 * len(forecasts))
    with style():
        axes = figure.subplots()
        for row, found in enumerate(forecasts):
            low, high = found.interval
            label = row == 0
            axes.plot([low, high], [row, row], "-", color=COLOURS[0], linewidth=5, alpha=0.35)
            axes.plot(
                [found.expected],
                [row],
                "o",
                color=COLOURS[0],
                markersize=10,
                label="forecast" if label else None,
            )
            if found.outcome is None:
                continue
            second = float(found.outcome.second_accuracy.nanmean())
            for value, mark, name in (
                (found.outcome.accuracy, "D", "trained"),
                (second, "d", "trained with another optimiser"),
            ):
                axes.plot(
                    [value],
                    [row],
                    mark,
                    color=COLOURS[1] if mark == "D" else "none",
                    markeredgecolor=COLOURS[1],
                    markersize=8,
                    label=name if label else None,
                )
        axes.axvline(forecasts[0].target, color="#8b939c", linestyle="--", label="target")
        axes.set_yticks(range(len(forecasts)), [found.model.name for found in forecasts])
        axes.set(
            xlabel="missing transformations read right",
            xlim=(-0.02, 1.02),
            ylim=(len(forecasts) - 0.5, -0.5),
        )
        figure.legend(loc="outside lower center", ncols=4, fontsize=9)
    return figure


def _repeat(forecasts: Sequence[Forecast], command: str) -> Section:
    """One command, the settings of each network folded away, and what a forecast is."""
    blocks: list[Block] = [Command(command)] if command else []
    closing: list[Block] = []
    for found in forecasts:
        name = found.model.name
        for block in repeat_section(found, "").blocks:
            if isinstance(block, Facts):
                blocks.append(replace(block, summary=f"Settings of {name}"))
            elif block not in closing:
                closing.append(block)
    return Section("How to repeat it", (*blocks, *closing), anchor="repeat")
