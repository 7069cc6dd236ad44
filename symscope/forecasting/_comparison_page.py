"""Forecasts of several networks for one question: their verdicts side by side, on one page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from symscope.errors import InputError
from symscope.forecasting._forecast_page import forecast_sections, repeat_section
from symscope.forecasting._result import Forecast
from symscope.forecasting._task_wording import WORSE, target_text
from symscope.numerics import explained
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

MARKS: dict[str, dict[str, Any]] = {
    "forecast": {"marker": "o", "color": COLOURS[0], "markersize": 10},
    "trained": {"marker": "D", "color": COLOURS[1], "markersize": 8},
    "trained with a second optimiser": {
        "marker": "D",
        "color": "none",
        "markeredgecolor": COLOURS[1],
        "markersize": 12,  # a ring where both are the same
    },
}
WILL = {"Yes": "will", "No": "will not", "Borderline": "may"}


@explained
def comparison_page(forecasts: Sequence[Forecast], command: str = "") -> str:
    """Forecasts of several networks for the same data and group, as one page of HTML text.

    Args:
        forecasts: One for each network, in the order they are shown.
        command: Command line that made them, for the section on how to repeat it.

    Raises:
        InputError: No forecast, two of one name, or forecasts of different data or groups.
    """
    check_comparable(forecasts)
    question = forecasts[0].question
    sections = [_side_by_side(forecasts)]
    for result in forecasts:
        sections += forecast_sections(result, result.model.name)
    sections.append(_repeat(forecasts, command))
    title = f"Which network will learn {question.group.name} ({question.action.name})?"
    return page(title=title, lead=comparison_sentences(forecasts), sections=sections)


def check_comparable(forecasts: Sequence[Forecast]) -> None:
    """Refuses forecasts that do not belong on one page."""
    if not forecasts:
        raise InputError("a comparison needs at least one forecast, got none.")
    names = [result.model.name for result in forecasts]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"every network of a comparison needs a name of its own, repeated: {repeated[0]}.")
    asked = {
        (result.question.data.name, result.question.group.name, result.question.action.name)
        for result in forecasts
    }
    if len(asked) > 1:
        listed = "; ".join(", ".join(one) for one in sorted(asked))
        raise InputError(f"a comparison is about one data set, group and action, got {listed}.")


@explained
def comparison_sentences(forecasts: Sequence[Forecast]) -> str:
    """The forecast for each network, in one sentence each; the first names what is counted."""
    sentences: list[str] = []
    for result in forecasts:
        words = result.question.task.words
        what = "unseen transformations" if result.question.coverage is None else "what is missing"
        share = WORSE if result.accuracy < 0 else f"{result.accuracy:.0%}"
        predicted = f"predicted to {words.prediction(result.accuracy, what)}" if not sentences else share
        text = f"{result.model.name} {WILL[result.answer]}: {predicted}"
        if result.check is not None:
            text += f"; trained, it {words.outcome(result.check.accuracy)}"
        if result.training_failure is not None:
            text += ", but it has not learned its training data"
        sentences.append(text + ".")
    return " ".join(sentences)


@explained
def verdict_table(forecasts: Sequence[Forecast]) -> Table:
    """The answers side by side, for the page and the terminal; what was not measured is a dash.

    The difference is the mean over classes of |forecast - trained|; the noise floor is that of two trainings
    with different optimisers.
    """
    words = forecasts[0].question.task.words
    rows = tuple(_row(result) for result in forecasts)
    columns = (
        "network",
        "learns it",
        "forecast",
        "95 % interval",
        "trained",
        "difference",
        "noise floor",
        "first advice",
    )
    return Table(
        f"{words.heading}; the target is {target_text(forecasts[0].question.target)}",
        columns,
        rows,
        numeric=(False, False, *(True,) * 5, False),
    )


def _row(result: Forecast) -> tuple[str, ...]:
    low, high = result.interval
    trained = floor = math.nan
    if result.check is not None:
        trained, floor = result.check.accuracy, result.check.noise_floor
    first = "none"
    if result.advice:
        best = result.advice[0]
        first = f"{best.text} Then {best.accuracy:.2f}."
    return (
        result.model.name,
        result.answer.lower(),
        f"{result.accuracy:.2f}",
        f"{low:.2f} to {high:.2f}",
        *("–" if math.isnan(value) else f"{value:.2f}" for value in (trained, result.difference, floor)),
        first,
    )


def _side_by_side(forecasts: Sequence[Forecast]) -> Section:
    trained = any(result.check is not None for result in forecasts)
    heading = forecasts[0].question.task.words.heading
    alt = f"{heading}, a row for each network. {comparison_sentences(forecasts)}"
    caption = "Bars: the forecast's 95 % interval."
    drawing = figure_bytes(comparison_figure(forecasts), "svg").decode()
    element = inline_svg(drawing, prefix="comparison", alt=alt)
    picture = Picture(element, "Forecast and training" if trained else "The forecasts", caption)
    blocks = (verdict_table(forecasts), picture, Text(_question(forecasts[0], trained)))
    return Section("Side by side", blocks, anchor="side-by-side")


def _question(result: Forecast, trained: bool) -> str:
    words = result.question.task.words
    if result.question.coverage is None:
        text = (
            f"{result.question.data.name}, {words.many} {', '.join(result.question.class_names)}: every "
            f"sample is shown in {result.question.group.order} transformations, except the samples of one "
            f"{words.one}, which lack one. Does the network generalise to those it lacks?"
        )
    else:
        text = f"Some {words.many} lack some transformations: does the network generalise to those?"
    text += " The forecast is made before training."
    if trained:
        text += (
            " The check trains the network twice, with different optimisers: what the two differ by, mean "
            f"over {words.many}, is the noise floor, and the forecast's difference is measured in the same "
            "way."
        )
    return text


def comparison_figure(forecasts: Sequence[Forecast]) -> Any:
    """A row for each network: forecast with its interval, and what two trainings gave."""
    figure = new_figure(8.0, 1.5 + 0.55 * len(forecasts))
    low = min(0.0, *(value for result in forecasts for _, value in _marks(result)))
    with style():
        axes = figure.subplots()
        for row, result in enumerate(forecasts):
            axes.plot(result.interval, [row, row], "-", color=COLOURS[0], linewidth=5, alpha=0.35)
            for name, value in _marks(result):
                label = name if row == 0 else None
                axes.plot([value], [row], linestyle="none", label=label, **MARKS[name])
        axes.axvline(forecasts[0].question.target, color="#8b939c", linestyle="--", label="target")
        axes.set_yticks(range(len(forecasts)), [result.model.name for result in forecasts])
        axes.set(
            xlabel=forecasts[0].question.task.words.heading,
            xlim=(low - 0.02, 1.02),
            ylim=(len(forecasts) - 0.5, -0.5),
        )
        figure.legend(loc="outside lower center", ncols=4, fontsize=9)
    return figure


def _marks(result: Forecast) -> list[tuple[str, float]]:
    """The points of a row, the last one on top."""
    marks = [("forecast", result.accuracy)]
    if result.check is not None:
        marks.append(("trained with a second optimiser", float(result.check.second_accuracy.nanmean())))
        marks.append(("trained", result.check.accuracy))
    return marks


def _repeat(forecasts: Sequence[Forecast], command: str) -> Section:
    """One command, the settings of each network folded away, and what a forecast is."""
    blocks: list[Block] = [Command(command)] if command else []
    closing: list[Block] = []
    for result in forecasts:
        name = result.model.name
        for block in repeat_section(result, "").blocks:
            if isinstance(block, Facts):
                blocks.append(replace(block, summary=f"Settings of {name}"))
            elif block not in closing:
                closing.append(block)
    return Section("How to repeat it", (*blocks, *closing), anchor="repeat")
