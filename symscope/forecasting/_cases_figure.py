"""Missing cases of a forecast in pictures: what will fail and what will work, with prediction and target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.forecasting._result import Forecast
from symscope.report import RIGHT, WRONG, draw_sample, new_figure, style

SHOWN = 8  # pictures in a row
LONGEST = 17  # letters of a line above a picture
MOST_NUMBERS = 3  # numbers of a target that are written out
AMBER = "#ffb000"  # seen on dark and on bright pictures
REACH = 0.45  # of a picture's side: the length of the longest arrow


@final
@dataclass(frozen=True, eq=False)
class ShownCase:
    """A missing point in a picture.

    Attributes:
        image: The sample, transformed.
        title: Words above it.
        correct: Whether it will be right.
        numbers: Predicted and true numbers in their own units; None for classes.
    """

    image: Tensor
    title: str
    correct: bool
    numbers: tuple[Tensor, Tensor] | None = None


def cases_figure(result: Forecast) -> Any | None:
    """Missing samples that will be misclassified, and ones that will not; None if they cannot be drawn.

    The ones with the widest margin of each kind, each from another class while there are classes left. For
    regression, with the prediction beside the target.
    """
    if result.question.kind == "other":
        return None
    cases = _pilot_cases(result) if result.pilot is not None else _kernel_cases(result)
    rows = [
        (title, colour, [case for case in cases if case.correct == correct][:SHOWN])
        for title, colour, correct in (("will fail", WRONG, False), ("will work", RIGHT, True))
    ]
    rows = [row for row in rows if row[2]]
    lines = max((case.title.count("\n") for _, _, chosen in rows for case in chosen), default=0)
    height = 1.55 + 0.2 * lines
    figure = new_figure(0.9 + 1.15 * SHOWN, 0.35 + height * len(rows))
    with style():
        grid = figure.subplots(len(rows), SHOWN, squeeze=False)
        for line, (title, colour, chosen) in zip(grid, rows, strict=True):
            for axes in line:
                axes.set_axis_off()
            for axes, case in zip(line, chosen, strict=False):
                draw_sample(axes, case.image, result.question.kind)
                _draw_target(axes, result, case, colour)
                axes.set_title(
                    case.title,
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
        numbers = None
        if case.wanted is not None:
            assert question.targets is not None
            output, wanted = (
                question.targets.in_units(one[None].double())[0] for one in (case.output, case.wanted)
            )
            score = question.task.words.score
            title, numbers = _number_title(output, wanted, case.score, score), (output, wanted)
        else:
            title = _class_title(question.class_names, case.position, int(case.output.argmax()))
        title += f"\n{_in_lines(question.element_names[case.element])}"
        shown.append(ShownCase(case.point, title, right, numbers))
    return shown


def _kernel_cases(result: Forecast) -> list[ShownCase]:
    """Missing cases of the kernel's first resample, the widest margins first, class by class."""
    assert result.prediction is not None
    expected, resample = result.prediction.resample_prediction, result.prediction.resample
    shown = []
    for correct in (False, True):
        for k in _widest_margins(result, correct):
            s, g = int(expected.samples[k]), int(expected.elements[k])
            if resample.targets is not None:
                output = resample.targets.in_units(expected.prediction[k : k + 1])[0]
                wanted = resample.targets.at(expected.samples[k : k + 1], expected.elements[k : k + 1])[0]
                reached, score = float(expected.margin[k]), result.question.task.words.score
                title, numbers = _number_title(output, wanted, reached, score), (output, wanted)
            else:
                assert expected.predicted_class is not None
                true, other = int(resample.positions[s]), int(expected.predicted_class[k])
                title, numbers = _class_title(result.question.class_names, true, other), None
            title += f"\n{_in_lines(result.question.element_names[g])}"
            shown.append(ShownCase(resample.images[s, g], title, correct, numbers))
    return shown


def _draw_target(axes: Any, result: Forecast, case: ShownCase, colour: str) -> None:
    """Vectors as arrows from the middle, maps by outlines: the target amber, and what is predicted."""
    question = result.question
    if case.numbers is None or question.target_action is None:
        return
    shape = question.target_shape
    pairs = list(zip(case.numbers[::-1], (AMBER, colour), strict=True))
    if len(shape) == 1 and question.target_action.name == "vector" and question.kind in ("image", "points"):
        left, right = axes.get_xlim()
        low, high = axes.get_ylim()  # rows of images run down: high is the smaller one
        assert question.targets is not None
        longest = float(question.targets.values.flatten(0, 1)[:, :2].norm(dim=1).max())
        step = REACH / max(longest, 1e-300)
        middle = ((left + right) / 2, (low + high) / 2)
        for vector, ink in pairs:
            x, y = float(vector[0]) * step, float(vector[1]) * step
            end = (middle[0] + x * (right - left), middle[1] + y * (high - low))
            arrow = {"arrowstyle": "-|>", "color": ink, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", xy=end, xytext=middle, arrowprops=arrow, annotation_clip=False)
    elif len(shape) > 1 and shape[-2:] == case.image.shape[-2:]:
        true = case.numbers[1].reshape(-1, *shape[-2:])[0]
        level = float(true.min() + true.max()) / 2
        for numbers, ink in pairs:
            plane = numbers.reshape(-1, *shape[-2:])[0]
            if float(plane.min()) < level < float(plane.max()):
                axes.contour(plane.tolist(), levels=[level], colors=[ink], linewidths=1.2)


def _number_title(predicted: Float[Tensor, "t"], true: Float[Tensor, "t"], reached: float, score: str) -> str:
    """Predicted and true numbers; of many the score, explained or overlap."""
    if len(true) > MOST_NUMBERS:
        return f"{score} {reached:.2f}" + (f"\nof {len(true)} numbers" if score == "explained" else "")
    if len(true) > 1:  # more digits would not fit above a picture
        numbers = [", ".join(f"{float(value):.2g}" for value in one) for one in (predicted, true)]
        return f"predicted\n{numbers[0]}\nis {numbers[1]}"
    return f"predicted {number_text(predicted)}\nis {number_text(true)}"


def _class_title(names: Sequence[str], true: int, other: int) -> str:
    if other == true:
        return shortened_name(names[true])
    line = f"{names[true]} → {names[other]}"
    if len(line) <= LONGEST:
        return line
    return f"{shortened_name(names[true])}\n→ {shortened_name(names[other], LONGEST - 2)}"


def _in_lines(element: str) -> str:
    """The name of an element above a picture, in two lines where it is long.

    >>> _in_lines("72° about (0, 0.62, 1)")
    '72° about\\n(0, 0.62, 1)'
    """
    return element if len(element) <= LONGEST else element.replace(" about ", " about\n")


def shortened_name(name: str, most: int = LONGEST) -> str:
    """A name that fits above a picture.

    >>> shortened_name("cats"), shortened_name("great crested grebes")
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
