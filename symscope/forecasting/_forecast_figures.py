"""Figures of a forecast: scores by class and element, steps, the check, the spectrum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from symscope.forecasting._cases_figure import LONGEST, shortened_name
from symscope.forecasting._coverage import turned_degrees
from symscope.forecasting._result import Forecast
from symscope.forecasting._trained_answer import class_scores
from symscope.report import COLOURS, INK, WRONG, irrep_figure, new_figure, style

NARROWEST, WIDEST = 6.2, 11.0  # inches: what the key needs, and what a page has
LETTER = 0.085  # inches of a letter below an axis
MOST_TICKS = 70
MOST_LEVEL = 9  # letters of a transformation's name that fit side by side
COLUMNS = 16  # transformations whose numbers fit


def _score_axis(axes: Any, values: Iterable[float], label: str, bottom: float) -> None:
    """The axis of scores: from `bottom`, or from below the lowest score down to -1, where it is cut."""
    lowest = min([0.0, *(value for value in values if not math.isnan(value))])
    if lowest < 0:
        axes.axhline(0, color="#c4c9cf", linewidth=0.8, zorder=0)
        bottom = max(-1.0, lowest) - 0.03
    axes.set_ylabel(f"{label} (cut at -1)" if lowest < -1 else label)
    axes.set_ylim(bottom, 1.05)


def classes_figure(result: Forecast) -> Any:
    """The score on missing points by class: forecast with its 95 % interval, and what training gave.

    Classes of which nothing is missing have no place; the axis ends at -1.
    """
    words = result.question.task.words
    asked = ~result.class_accuracy.isnan()
    class_names = [name for name, there in zip(result.question.class_names, asked, strict=True) if there]
    count = len(class_names)
    bars: list[tuple[str, Tensor, str]] = [("forecast", result.class_accuracy, COLOURS[0])]
    if result.check is not None:
        trained = result.check.class_accuracy if result.about_new else result.check.known_accuracy
        bars.append(("trained", trained, COLOURS[1]))
        bars.append(("trained with a second optimiser", result.check.second_accuracy, COLOURS[4]))
    width = 0.8 / len(bars)
    wide = min(WIDEST, max(NARROWEST, 3.5 + 0.55 * count))
    names, upright = _tick_labels(class_names, wide - 0.8)
    figure = new_figure(wide, 3.6 + (LETTER * max(map(len, names)) if upright else 0))
    with style():
        axes = figure.subplots()
        places = torch.arange(count).double()
        for k, (name, whole, colour) in enumerate(bars):
            values = whole[asked]
            at = (places + (k - (len(bars) - 1) / 2) * width).tolist()
            # a sliver for zero, nothing for classes that were not trained for
            heights = values.where((values.abs() >= 0.008) | values.isnan(), 0.008).tolist()
            axes.bar(at, heights, width=width * 0.92, color=colour, label=name)
            if k == 0:
                middle, ends = values.double(), result.class_interval[asked]
                reach = torch.stack([middle - ends[:, 0], ends[:, 1] - middle]).clamp_min(0)
                axes.errorbar(
                    at,
                    middle.tolist(),
                    reach.tolist(),
                    fmt="none",
                    ecolor=INK,
                    elinewidth=1,
                    capsize=2,
                    label="95 % interval",
                )
        axes.axhline(result.question.target, color="#8b939c", linestyle="--", label="target")
        every = -(-count // MOST_TICKS)
        axes.set_xticks(
            places.tolist()[::every], names[::every], rotation=90 if upright else 0, parse_math=False
        )
        axes.set_xlabel(f"{words.one} with a missing transformation")
        _score_axis(axes, [float(value) for _, values, _ in bars for value in values], words.axis, 0.0)
        figure.legend(loc="outside lower center", ncols=min(3, len(bars) + 2), fontsize=8)
    return figure


def _tick_labels(names: Sequence[str], width: float) -> tuple[list[str], bool]:
    """Names below an axis, a line for each word, and whether they must stand upright, on one line, to fit.

    >>> _tick_labels(["lowest half", "highest half"], 3.0)
    (['lowest\\nhalf', 'highest\\nhalf'], False)
    """
    longest = max(len(word) for name in names for word in name.split(" "))
    if longest * LETTER * len(names) <= width:
        return [name.replace(" ", "\n") for name in names], False
    return [shortened_name(name, 2 * LONGEST) for name in names], True


def _by_angle(names: Sequence[str]) -> list[int]:
    """Elements in the order of how far they turn space; in their own order where they do not."""
    angles = turned_degrees(names)
    if all(angle is None for angle in angles[1:]):
        return list(range(len(names)))
    return sorted(range(len(names)), key=lambda g: (angles[g] is None, angles[g] or 0))


def table_figure(result: Forecast, table: Float[Tensor, "c n"], lacks: Bool[Tensor, "c n"]) -> Any:
    """Scores by class and element as a map; frames are what the training data lacks of a class.

    Args:
        result: The forecast.
        table: Score of each cell; NaN where it was not asked.
        lacks: Cells to frame.
    """
    from matplotlib.patches import Rectangle

    classes, order = table.shape
    places = _by_angle(result.question.element_names)
    names = [result.question.element_names[g] for g in places]
    table, lacks = table[:, places], lacks[:, places]
    longest = max(map(len, names))
    tall = LETTER * longest if longest > MOST_LEVEL else 0.0  # long names stand upright below the map
    figure = new_figure(min(WIDEST, 2.4 + 0.42 * order), 1.5 + 0.3 * classes + tall)
    with style():
        axes = figure.subplots()
        worst = float(table.nan_to_num(0.0).min())
        lowest = max(-1.0, min(0.0, worst))
        image = axes.imshow(table.tolist(), vmin=lowest, vmax=1, cmap="viridis", aspect="auto")
        axes.grid(visible=False)
        if order <= COLUMNS:
            for c in range(classes):
                for g in range(order):
                    value = float(table[c, g])
                    if not math.isnan(value):
                        colour = "white" if value < lowest + 0.6 * (1 - lowest) else "black"
                        axes.text(g, c, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
        for c, g in lacks.nonzero().tolist():
            box = Rectangle((g - 0.5, c - 0.5), 1, 1, fill=False, edgecolor=WRONG, linewidth=1.6)
            axes.add_patch(box)
        step = -(-order // COLUMNS)
        axes.set_xticks(range(0, order, step), names[::step], parse_math=False, rotation=90 if tall else 0)
        axes.set_yticks(range(classes), [shortened_name(name) for name in result.question.class_names])
        axes.set_xlabel("transformation")
        axes.set_ylabel(result.question.task.words.one)
        words, extend = result.question.task.words, "min" if worst < lowest else "neither"
        figure.colorbar(image, ax=axes, label=words.axis, extend=extend)
    return figure


def steps_figure(result: Forecast) -> Any:
    """The score at what is missing after each pilot training, and what a whole one is predicted to reach."""
    assert result.pilot is not None
    pilot, words = result.pilot, result.question.task.words
    figure = new_figure(5.6, 3.8)
    with style():
        axes = figure.subplots()
        plan, shown = pilot.plan, [0.0]
        for name, tables, predicted, colour in (
            ("new samples", [one.new for one in pilot.answers], pilot.new, COLOURS[0]),
            ("training samples", [one.known for one in pilot.answers], pilot.known, COLOURS[1]),
        ):
            if predicted is None:
                continue
            means = [float(class_scores(table).nanmean()) for table in tables]
            axes.plot(plan.lengths, means, "o-", color=colour, label=f"{name}, pilot")
            low, high = predicted.interval
            shown += [*means, predicted.mean, low]
            axes.errorbar(
                [plan.full],
                [predicted.mean],
                yerr=[[predicted.mean - low], [high - predicted.mean]],
                fmt="D",
                color=colour,
                capsize=4,
                label=f"{name}, predicted",
            )
            axes.plot([plan.lengths[-1], plan.full], [means[-1], predicted.mean], ":", color=colour)
        axes.axhline(result.question.target, color="#8b939c", linestyle="--", label="target")
        axes.set_xscale("log")
        ticks = [*plan.lengths, *([plan.full] if plan.full > plan.lengths[-1] else [])]
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("cost of training, in steps of a whole one")
        _score_axis(axes, shown, words.axis, -0.03)
        figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure


def spectrum_figure(result: Forecast) -> Any:
    """Which irreps hold missing points in place."""
    assert result.prediction is not None
    rows = [
        {
            "irrep": one.irrep,
            "share": one.share,
            "weight": one.weight,
            "trivial": one.trivial,
            "limits": one.limits,
        }
        for one in result.prediction.irreps
    ]
    return irrep_figure(rows, title=f"Irreps of {result.question.group.name}")
