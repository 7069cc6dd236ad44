"""Figures of a forecast: missing cases, forecast beside training, more transformations, the spectrum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.forecasting._result import Forecast
from symscope.report import COLOURS, INK, RIGHT, WRONG, draw_image, irrep_figure, new_figure, style

SHOWN = 8  # pictures in a row
LONGEST = 17  # letters of a line above a picture
NARROWEST, WIDEST = 6.2, 11.0  # inches: what the key needs, and what a page has
LETTER = 0.085  # inches of a letter below an axis
MOST_TICKS = 70


def cases_figure(result: Forecast) -> Any | None:
    """Missing samples that will be misclassified, and ones that will not; None if they cannot be drawn.

    The ones with the widest margin of each kind, each from another class while there are classes left. For
    regression, with the prediction beside the target.
    """
    if result.question.kind not in ("image", "series", "points"):
        return None
    expected = result.prediction.resample_prediction
    rows = [
        (title, colour, _widest_margins(result, correct))
        for title, colour, correct in (("will fail", WRONG, False), ("will work", RIGHT, True))
    ]
    rows = [row for row in rows if row[2]]
    lines = max((_case_title(result, k).count("\n") for _, _, chosen in rows for k in chosen), default=0)
    height = 1.75 + 0.2 * lines
    figure = new_figure(0.9 + 1.15 * SHOWN, 0.35 + height * len(rows))
    with style():
        grid = figure.subplots(len(rows), SHOWN, squeeze=False)
        for line, (title, colour, chosen) in zip(grid, rows, strict=True):
            for axes in line:
                axes.set_axis_off()
            for axes, k in zip(line, chosen, strict=False):
                s, g = int(expected.samples[k]), int(expected.elements[k])
                _draw_sample(axes, result.prediction.resample.images[s, g], result.question.kind)
                where = result.question.element_names[g]
                axes.set_title(
                    f"{_case_title(result, k)}\n{where}",
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


def _draw_sample(axes: Any, sample: Float[Tensor, "*channels rows columns"], kind: str) -> None:
    """An image; a series as lines; points at their first two coordinates, alike in both directions."""
    if kind == "image":
        draw_image(axes, sample, float(sample.min()), float(sample.max()))
        return
    if kind == "series":
        axes.set_prop_cycle(color=COLOURS)
        axes.plot(sample.flatten(0, -2).T.tolist(), linewidth=1)
        axes.set_box_aspect(1)
        return
    last = sample.shape[-1] <= sample.shape[-2]
    x, y = (sample.select(-1 if last else -2, k).flatten().tolist() for k in (0, 1))
    axes.scatter(x, y, s=6, color=COLOURS[0])
    reach = 1.1 * max(map(abs, [*x, *y]))
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")


def _case_title(result: Forecast, k: int) -> str:
    """True class → predicted class of one missing point, the class alone where it is correct; or numbers."""
    expected = result.prediction.resample_prediction
    s = int(expected.samples[k])
    targets = result.prediction.resample.targets
    if targets is not None:
        predicted = targets.in_units(expected.prediction[k : k + 1])[0]
        return f"predicted {number_text(predicted)}\nis {number_text(targets.values[s])}"
    assert expected.predicted_class is not None
    names = result.question.class_names
    true, other = int(result.prediction.resample.positions[s]), int(expected.predicted_class[k])
    if other == true:
        return _shortened(names[true])
    line = f"{names[true]} → {names[other]}"
    if len(line) <= LONGEST:
        return line
    return f"{_shortened(names[true])}\n→ {_shortened(names[other], LONGEST - 2)}"


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

    The axis ends at -1.
    """
    words = result.question.task.words
    count = len(result.question.data.classes)
    bars: list[tuple[str, Tensor, str]] = [("forecast", result.prediction.class_accuracy.mean(0), COLOURS[0])]
    if result.pilot is not None:
        after = f"forecast after a pilot of {result.pilot.epochs} epochs"
        bars.append((after, result.pilot.class_accuracy, COLOURS[3]))
    predicted = bars[-1][1]
    if result.check is not None:
        bars.append(("trained", result.check.class_accuracy, COLOURS[1]))
        bars.append(("trained with a second optimiser", result.check.second_accuracy, COLOURS[4]))
    width = 0.8 / len(bars)
    wide = min(WIDEST, max(NARROWEST, 3.5 + 0.55 * count))
    names, upright = _tick_labels(result.question.class_names, wide - 0.8)
    figure = new_figure(wide, 3.6 + (LETTER * max(map(len, names)) if upright else 0))
    with style():
        axes = figure.subplots()
        places = torch.arange(count).double()
        for k, (name, values, colour) in enumerate(bars):
            at = (places + (k - (len(bars) - 1) / 2) * width).tolist()
            # a sliver for zero, nothing for classes that were not asked
            heights = values.where((values.abs() >= 0.008) | values.isnan(), 0.008).tolist()
            axes.bar(at, heights, width=width * 0.92, color=colour, label=name)
            if values is predicted:
                middle, ends = values.double(), result.class_interval
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


def group_size_figure(result: Forecast) -> Any | None:
    """The score against the number of transformations, not below -1; None if the action has no family."""
    if len(result.prediction.group_sizes) < 2:
        return None
    figure = new_figure(5.6, 3.2)
    with style():
        axes = figure.subplots()
        orders = [one.transformations for one in result.prediction.group_sizes]
        axes.plot(
            orders,
            [one.accuracy for one in result.prediction.group_sizes],
            "o-",
            color=COLOURS[0],
            label="forecast",
        )
        axes.axhline(result.question.target, color="#8b939c", linestyle="--", label="target")
        axes.axvline(result.question.group.order, color=COLOURS[1], linestyle=":", label="as asked")
        axes.set_xscale("log", base=2)
        axes.set_xticks(orders, [str(n) for n in orders])
        axes.minorticks_off()
        axes.set_xlabel("transformations")
        _score_axis(
            axes,
            [one.accuracy for one in result.prediction.group_sizes],
            result.question.task.words.axis,
            -0.03,
        )
        axes.legend(fontsize=8)
    return figure


def spectrum_figure(result: Forecast) -> Any:
    """Which irreps hold missing points in place."""
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
