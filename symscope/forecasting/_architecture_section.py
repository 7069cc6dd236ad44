"""The section of a forecast's page about what the architecture alone predicts."""

from __future__ import annotations

import math
from typing import Any

from jaxtyping import Float
from torch import Tensor

from symscope.forecasting._cases_figure import number_text
from symscope.forecasting._forecast_figures import spectrum_figure
from symscope.forecasting._kernel_prediction import KernelPrediction
from symscope.forecasting._result import Forecast
from symscope.forecasting._sample_split import samples_text
from symscope.report import Picture, Section, Table, Text, figure_bytes, inline_svg

COLUMNS = 16  # transformations in the table; of a larger group the elements are thinned out
STILL = 1e9  # an orbit density beyond it: what moves is rounding


def architecture_section(result: Forecast, there: KernelPrediction, prefix: str) -> Section:
    """What the kernel predicts, what holds missing points in place, and which classes it confuses."""
    limiting = ", ".join(one.irrep for one in there.limiting_irreps[:6]) or "none"
    alt = "Share of each irrep of the group in what holds missing points in place"
    caption = (
        f"Irreps are the frequencies of the group. Those below their mark (red) limit generalisation: "
        f"{limiting}. There the network can fit a bump at a missing point cheaply, and so need not follow "
        "the points it has seen."
    )
    picture = Picture(
        figure_svg(spectrum_figure(result), f"{prefix}spectrum", alt),
        "What holds missing points in place",
        caption,
    )
    text = Text(
        f"Before any training, regression with the tangent kernel predicts {there.accuracy:.2f} for "
        f"{'new samples' if there.about_new else 'samples that were seen in other transformations'}, "
        f"{_regression_samples(result, there)} in the training data. "
        f"Kernel: {there.kernel}. {there.kernel_reason} Its relative distance from a kernel that is "
        f"invariant under {result.question.group.name} is "
        f"{there.invariance_error:.2g}; the group form uses the nearest invariant one. It knows the "
        "architecture and the data, not what training changes in the network."
    )
    confusions = _groups(result) if there.confusion is None else _confusions(result, there.confusion)
    return Section(
        "The architecture alone: the spectrum",
        (text, picture, _kernel_table(result, there), confusions),
        anchor="spectrum",
    )


def _regression_samples(result: Forecast, there: KernelPrediction) -> str:
    if there.full is None:
        return f"{result.options.per_class} of each"
    return "all samples" if there.full.complete else f"{there.full.samples[1]} of each"


def _kernel_table(result: Forecast, there: KernelPrediction) -> Table:
    order = result.question.group.order
    step = -(-order // COLUMNS)
    shown = list(range(0, order, step))
    mean = there.class_accuracy.mean(0)
    rows = [
        (
            name,
            number_or_dash(float(mean[c])),
            _error(float(there.class_error[c])),
            *(number_or_dash(float(there.table[c, g])) for g in shown),
        )
        for c, name in enumerate(result.question.class_names)
    ]
    words = result.question.task.words
    columns = (words.one, words.score, words.error, *(result.question.element_names[g] for g in shown))
    caption = (
        f"{words.scored}, {samples_text(result.options.per_class or 0)} of each {words.one}, seen in other "
        "transformations. Left: by the exact group form, which treats all transformations alike. Right: each "
        "transformation left out in turn, without assuming that the kernel is invariant under the group"
        + (f" (every {step}th of {order})" if step > 1 else "")
        + "; – where it was not asked for or would take too long."
    )
    return Table(
        caption,
        columns,
        tuple(rows),
        numeric=(False, *(True for _ in columns[1:])),
        summary=f"By {words.one} and transformation",
    )


def _groups(result: Forecast) -> Table:
    """The prediction for each group of numbers, beside the target."""
    assert result.prediction is not None
    expected, resample = result.prediction.resample_prediction, result.prediction.resample
    targets = resample.targets
    assert targets is not None
    predicted = targets.in_units(expected.prediction)
    true = targets.at(expected.samples, expected.elements)
    sizes = targets.moves  # means of vectors in all directions would say nothing
    if targets.classes:
        predicted, true = (targets.mask_sizes(one)[:, None] for one in (predicted, true))
    elif sizes:
        predicted, true = ((one - targets.mean).norm(dim=1, keepdim=True) for one in (predicted, true))
    owner = resample.positions[expected.samples]
    rows = tuple(
        (
            name,
            number_text(true[owner == c].mean(0)),
            number_text(predicted[owner == c].mean(0)),
            _density(float(result.prediction.pairs.density[c])),
        )
        for c, name in enumerate(result.question.class_names)
        if bool((owner == c).any())
    )
    units = "positions" if targets.classes else "the numbers' own units"
    return Table(
        "Groups of samples by their numbers, first resample, in "
        f"{units}: "
        f"{'sizes of ' * sizes}targets and predictions at missing inputs. Density is one over the orbits' "
        "radius, – where no transformation moves them.",
        ("group", "mean target", "mean prediction", "orbit density"),
        rows,
        numeric=(False, True, True, True),
        summary="Predictions for each group",
    )


def _confusions(result: Forecast, confusion: Float[Tensor, "c c"]) -> Table:
    rows = []
    assert result.prediction is not None
    for a, first in enumerate(result.question.class_names):
        for b, second in enumerate(result.question.class_names):
            share = float(confusion[a, b])
            if a != b and share > 0:
                rows.append(
                    (
                        share,
                        (
                            first,
                            second,
                            number_or_dash(share),
                            number_or_dash(float(result.prediction.pairs.error[a, b])),
                            number_or_dash(float(result.prediction.pairs.separation[a, b]), 3),
                            _density(float(result.prediction.pairs.density[a])),
                        ),
                    )
                )
    rows.sort(key=lambda row: -row[0])
    columns = ("class", "predicted as", "share", "error of the two alone", "separation", "orbit density")
    return Table(
        "Classes that are confused. The error of two classes alone is wrong above 1; separation is the "
        "squared distance of orbit centres over the squared norm of a point; density is one over the "
        "orbits' radius, – where no transformation moves them.",
        columns,
        tuple(row for _, row in rows[:20]),
        numeric=(False, False, True, True, True, True),
        summary="Which classes are confused",
    )


def number_or_dash(value: float, digits: int = 2) -> str:
    """So many digits; a dash where nothing was asked or measured."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def _density(value: float) -> str:
    """One over the radius of orbits; a dash where there is no radius."""
    return number_or_dash(value) if value < STILL else "–"


def _error(value: float) -> str:
    """In units that may be small or large."""
    return "–" if math.isnan(value) else f"{value:#.3g}"


def figure_svg(figure: Any, prefix: str, alt: str) -> str:
    """A figure as part of a page."""
    return inline_svg(figure_bytes(figure, "svg").decode(), prefix=prefix, alt=alt)
