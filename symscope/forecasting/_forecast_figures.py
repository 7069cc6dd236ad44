"""Figures of a forecast: missing cases, scores by class and element, steps, the check, the spectrum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from symscope.forecasting._coverage import turned_degrees
from symscope.forecasting._result import Forecast
from symscope.forecasting._trained_answer import class_scores
from symscope.report import COLOURS, INK, RIGHT, WRONG, draw_sample, irrep_figure, new_figure, style

SHOWN = 8  # pictures in a row
LONGEST = 17  # letters of a line above a picture
NARROWEST, WIDEST = 6.2, 11.0  # inches: what the key needs, and what a page has
LETTER = 0.085  # inches of a letter below an axis
MOST_NUMBERS = 3  # numbers of a target that are written out
MOST_TICKS = 70
MOST_LEVEL = 9  # letters of a transformation's name that fit side by side
COLUMNS = 16  # transformations whose numbers fit


def cases_figure(result: Forecast) -> Any | None:
    """Missing samples that will be misclassified, and ones that will not; None if they cannot be drawn.

    The ones with the widest margin of each kind, each from another class while there are classes left. For
    regression, with the prediction beside the target.
    """
    if result.question.kind == "other":
        return None
    cases = _pilot_cases(result) if result.pilot is not None else _kernel_cases(result)
    rows = [
        (title, colour, [case for case in cases if case[2] == correct][:SHOWN])
        for title, colour, correct in (("will fail", WRONG, False), ("will work", RIGHT, True))
    ]
    rows = [row for row in rows if row[2]]
    lines = max((title.count("\n") for _, _, chosen in rows for _, title, _ in chosen), default=0)
    height = 1.55 + 0.2 * lines
    figure = new_figure(0.9 + 1.15 * SHOWN, 0.35 + height * len(rows))
    with style():
        grid = figure.subplots(len(rows), SHOWN, squeeze=False)
        for line, (title, colour, chosen) in zip(grid, rows, strict=True):
            for axes in line:
                axes.set_axis_off()
            for axes, (image, words, _) in zip(line, chosen, strict=False):
                draw_sample(axes, image, result.question.kind)
                axes.set_title(
                    words,
                    fontsize=8,
                    fontweight="normal",
                    loc="center",
                    color=colour,
                    parse_math=False,  # a user's names are no formulas
                )
            line[0].text(
                -0.25,
                0.5,
                title,
                transform=line[0].transAxes,
                rotation=90,
                va="center",
                ha="right",
                color=colour,
            )
    return figure


ShownCase = tuple[Tensor, str, bool]
"""An image, its title, and whether it will be right."""


def _pilot_cases(result: Forecast) -> list[ShownCase]:
    """Missing cases of the longest pilot trainings."""
    assert result.pilot is not None
    question = result.question
    correct = [
        bool(question.task.correct(torch.tensor(case.score))) for case in result.pilot.answers[-1].cases
    ]
    ranked = sorted(
        zip(result.pilot.answers[-1].cases, correct, strict=True), key=lambda pair: -abs(pair[0].margin)
    )
    shown = []
    for case, right in ranked:
        if case.wanted is not None:
            assert question.targets is not None
            output, wanted = (
                question.targets.in_units(one[None].double())[0] for one in (case.output, case.wanted)
            )
            title = _number_title(output, wanted, case.score)
        else:
            title = _class_title(question.class_names, case.position, int(case.output.argmax()))
        shown.append((case.point, f"{title}\n{_in_lines(question.element_names[case.element])}", right))
    return shown


def _kernel_cases(result: Forecast) -> list[ShownCase]:
    """Missing cases of the kernel's first resample, the widest margins first, class by class."""
    assert result.prediction is not None
    expected, resample = result.prediction.resample_prediction, result.prediction.resample
    shown = []
    for correct in (False, True):
        for k in _widest_margins(result, correct):
            s, g = int(expected.samples[k]), int(expected.elements[k])
            title = f"{_case_title(result, k)}\n{_in_lines(result.question.element_names[g])}"
            shown.append((resample.images[s, g], title, correct))
    return shown


def _case_title(result: Forecast, k: int) -> str:
    """True class → predicted class of one missing point, the class alone where it is correct; or numbers."""
    assert result.prediction is not None
    expected = result.prediction.resample_prediction
    s = int(expected.samples[k])
    targets = result.prediction.resample.targets
    if targets is not None:
        predicted = targets.in_units(expected.prediction[k : k + 1])[0]
        wanted = targets.at(expected.samples[k : k + 1], expected.elements[k : k + 1])[0]
        return _number_title(predicted, wanted, float(expected.margin[k]))
    assert expected.predicted_class is not None
    true, other = int(result.prediction.resample.positions[s]), int(expected.predicted_class[k])
    return _class_title(result.question.class_names, true, other)


def _number_title(predicted: Float[Tensor, "t"], true: Float[Tensor, "t"], explained: float) -> str:
    """Predicted and true numbers, or what is explained of many."""
    if len(true) > MOST_NUMBERS:
        return f"explained {explained:.2f}\nof {len(true)} numbers"
    if len(true) > 1:  # more digits would not fit above a picture
        numbers = [", ".join(f"{float(value):.2g}" for value in one) for one in (predicted, true)]
        return f"predicted\n{numbers[0]}\nis {numbers[1]}"
    return f"predicted {number_text(predicted)}\nis {number_text(true)}"


def _class_title(names: Sequence[str], true: int, other: int) -> str:
    if other == true:
        return _shortened(names[true])
    line = f"{names[true]} → {names[other]}"
    if len(line) <= LONGEST:
        return line
    return f"{_shortened(names[true])}\n→ {_shortened(names[other], LONGEST - 2)}"


def _in_lines(element: str) -> str:
    """The name of an element above a picture, in two lines where it is long.

    >>> _in_lines("72° about (0, 0.62, 1)")
    '72° about\\n(0, 0.62, 1)'
    """
    return element if len(element) <= LONGEST else element.replace(" about ", " about\n")


def _shortened(name: str, most: int = LONGEST) -> str:
    """A name that fits above a picture.

    >>> _shortened("cats"), _shortened("great crested grebes")
    ('cats', 'great crested gr…')
    """
    return name if len(name) <= most else name[: most - 1] + "…"


def number_text(numbers: Float[Tensor, "t"]) -> str:
    """One or several numbers, the first two of many.

    >>> number_text(torch.tensor([0.12345])), number_text(torch.tensor([1.0, 2.5, 3.0]))
    ('0.123', '1, 2.5, …')
    """
    shown = [f"{float(value):.3g}" for value in numbers[:2]]
    return ", ".join([*shown, "…"] if len(numbers) > 2 else shown)


def _score_axis(axes: Any, values: Iterable[float], label: str, bottom: float) -> None:
    """The axis of scores: from `bottom`, or from below the lowest score down to -1, where it is cut."""
    lowest = min([0.0, *(value for value in values if not math.isnan(value))])
    if lowest < 0:
        axes.axhline(0, color="#c4c9cf", linewidth=0.8, zorder=0)
        bottom = max(-1.0, lowest) - 0.03
    axes.set_ylabel(f"{label} (cut at -1)" if lowest < -1 else label)
    axes.set_ylim(bottom, 1.05)


def _widest_margins(result: Forecast, correct: bool) -> list[int]:
    """Positions of missing points, widest margin first, class by class."""
    assert result.prediction is not None
    expected = result.prediction.resample_prediction
    ranked = expected.margin.argsort(descending=correct)
    order = ranked[expected.correct[ranked] == correct].tolist()
    turns: dict[int, int] = {}
    keyed = []
    for rank, k in enumerate(order):
        label = int(result.prediction.resample.labels[int(expected.samples[k])])
        turns[label] = turns.get(label, 0) + 1
        keyed.append((turns[label], rank, k))
    return [k for _, _, k in sorted(keyed)[:SHOWN]]


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
    return [_shortened(name, 2 * LONGEST) for name in names], True


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
        axes.set_yticks(range(classes), [_shortened(name) for name in result.question.class_names])
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
        axes.set_xlabel("steps of training")
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
