"""A forecast as one self-contained page: verdict, table, pictures, check, advice, spectrum."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from jaxtyping import Float
from torch import Tensor

from symscope.forecasting._cautions import symmetry_cautions
from symscope.forecasting._equivariance import Equivariance
from symscope.forecasting._forecast_figures import (
    cases_figure,
    classes_figure,
    group_size_figure,
    number_text,
    spectrum_figure,
)
from symscope.forecasting._result import Forecast
from symscope.report import (
    Block,
    Command,
    Facts,
    JudgedClaim,
    Note,
    Picture,
    Section,
    Table,
    Text,
    figure_bytes,
    image_element,
    inline_svg,
    page,
    slug,
)

COLUMNS = 16  # transformations in the table; of a larger group the elements are thinned out
STILL = 1e9  # an orbit density beyond it: what moves is rounding
REACHED = {
    "Yes": ("good", "reaches the target"),
    "Borderline": ("open", "borderline"),
    "No": ("bad", "below the target"),
}


def forecast_page(result: Forecast, command: str = "") -> str:
    """The whole page as HTML text.

    Args:
        result: The forecast.
        command: Command line that made it, for the section on how to repeat it.
    """
    sections = [*forecast_sections(result), repeat_section(result, command)]
    title = f"Will {result.model.name} learn {result.question.group.name} by {result.question.action.name}?"
    return page(title=title, lead=result.verdict, sections=sections)


def forecast_sections(result: Forecast, name: str = "") -> list[Section]:
    """The sections of a page about one forecast, most important first.

    Args:
        result: The forecast.
        name: Prefix of all titles and addresses, for a page that holds several forecasts.
    """
    prefix = f"{slug(name)}-" if name else ""
    advice = Section("Advice", (advice_table(result),), anchor="advice")
    sections = [_answer(result, prefix), _cases(result), advice]
    if result.check is not None:
        sections.insert(1, _check(result, prefix))
    sections += [_spectrum(result, prefix), _equivariance(result)]
    return [named_section(section, name) for section in sections]


def named_section(section: Section, name: str) -> Section:
    """A section of one of several forecasts, its title and address with the name; without name as it is.

    >>> named_section(Section("Advice", (), anchor="advice"), "conv-gap")
    Section(title='conv-gap · Advice', blocks=(), anchor='conv-gap-advice', tally='')
    """
    if not name:
        return section
    return replace(section, title=f"{name} · {section.title}", anchor=f"{slug(name)}-{section.anchor}")


def _number(value: float, digits: int = 2) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def _density(value: float) -> str:
    """One over the radius of orbits; a dash where there is no radius."""
    return _number(value) if value < STILL else "–"


def _error(value: float) -> str:
    """In units that may be small or large."""
    return "" if math.isnan(value) else f"{value:#.3g}"


def _svg(figure: Any, prefix: str, alt: str) -> str:
    return inline_svg(figure_bytes(figure, "svg").decode(), prefix=prefix, alt=alt)


def _answer(result: Forecast, prefix: str) -> Section:
    low, high = result.interval
    words = result.question.task.words
    blocks: list[Block] = [
        JudgedClaim(
            f"{words.forecast.format(share=f'{result.accuracy:.0%}')}; 95 % interval {low:.0%} to {high:.0%} "
            "over new resamples.",
            *REACHED[result.answer],
            threshold=f"{result.question.target:.0%}",
            why=_sufficient(result),
        ),
        *(Note(caution) for caution in _symmetry(result)),
    ]
    if result.pilot is not None:
        blocks.append(
            Text(
                f"This uses a pilot training of {result.pilot.epochs} epochs, continued with its kernel held "
                f"fixed. The tables below are from the architecture alone, {result.prediction.accuracy:.0%}."
            )
        )
    blocks.append(_table(result))
    curve = group_size_figure(result)
    if curve is not None:
        alt = f"Against the number of transformations: {words.axis}, with the target as a line"
        caption = "The same forecast with fewer and more transformations of the same kind."
        blocks.append(Picture(_svg(curve, f"{prefix}density", alt), "More transformations", caption))
    confusion = result.prediction.confusion
    blocks.append(_groups(result) if confusion is None else _confusions(result, confusion))
    return Section("The forecast", tuple(blocks), anchor="forecast")


def _symmetry(result: Forecast) -> tuple[str, ...]:
    """The cautions that are about the forecast itself, not about the network's layers."""
    prediction = result.prediction
    return symmetry_cautions(prediction.invariance_error, prediction.resample, result.question.group)


def _sufficient(result: Forecast) -> str:
    tried, sufficient = result.prediction.group_sizes, result.sufficient_group
    if not tried:
        return "Fewer or more transformations were not tried."
    if sufficient is None:
        return f"No number of transformations that was tried, up to {tried[-1].group}, reaches it."
    return f"{sufficient.group}, {sufficient.transformations} transformations, would be enough."


def _table(result: Forecast) -> Table:
    order = result.question.group.order
    step = -(-order // COLUMNS)
    shown = list(range(0, order, step))
    there = result.prediction
    mean = there.class_accuracy.mean(0)
    rows = [
        (
            name,
            _number(float(mean[c])),
            _error(float(there.class_error[c])),
            *(_number(float(there.table[c, g])) for g in shown),
        )
        for c, name in enumerate(result.question.class_names)
    ]
    words = result.question.task.words
    columns = (words.one, words.score, words.error, *(result.question.element_names[g] for g in shown))
    caption = (
        f"{words.scored}. Left: by the exact group form, which treats all transformations alike. Right: each "
        "transformation left out in turn, without assuming that the kernel is invariant under the group"
        + (f" (every {step}th of {order})" if step > 1 else "")
        + "; empty where it was not asked for or would take too long."
    )
    return Table(caption, columns, tuple(rows), numeric=(False, *(True for _ in columns[1:])))


def _groups(result: Forecast) -> Table:
    """The prediction for each group of numbers, beside the target."""
    expected, resample = result.prediction.resample_prediction, result.prediction.resample
    targets = resample.targets
    assert targets is not None
    predicted, true = targets.in_units(expected.prediction), targets.values[expected.samples]
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
    return Table(
        "Groups of samples by their numbers, first resample, in the numbers' own units: targets and "
        "predictions at missing inputs. Density is one over the orbits' radius, – where no "
        "transformation moves them.",
        ("group", "mean target", "mean prediction", "orbit density"),
        rows,
        numeric=(False, True, True, True),
        summary="Predictions for each group",
    )


def _confusions(result: Forecast, confusion: Float[Tensor, "c c"]) -> Table:
    rows = []
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
                            _number(share),
                            _number(float(result.prediction.pairs.error[a, b])),
                            _number(float(result.prediction.pairs.separation[a, b]), 3),
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


def _cases(result: Forecast) -> Section:
    words = result.question.task.words
    figure = cases_figure(result)
    if figure is None:
        correct = result.prediction.resample_prediction.correct
        text = Text(f"{int(correct.sum())} of {len(correct)} missing points will be {words.works}.")
        return Section("Missing cases", (text,), anchor="cases")
    element = image_element(figure_bytes(figure, "png"), alt=words.pictures)
    caption = f"From the first resample: the widest margins, another {words.one} each where possible."
    if result.question.kind == "points":
        caption += " Points are drawn at their first two coordinates."
    if result.question.targets is None:
        caption += " Titles: true class → predicted class, and the transformation."
    return Section(
        "Missing cases", (Picture(element, "What will fail, what will work", caption),), anchor="cases"
    )


def _check(result: Forecast, prefix: str) -> Section:
    there = result.check
    assert there is not None
    plan, optimiser, second = there.plan, there.plan.optimiser, there.plan.second_optimiser
    words = result.question.task.words
    alt = f"Bars by {words.one}: {words.key} as predicted, and of the trained network"
    caption = (
        f"For each {words.one} with bars, a network that lacks a transformation of it was trained: "
        f"{plan.epochs} epochs of {optimiser.kind} at {optimiser.learning_rate:g}, batches of "
        f"{plan.batch}; and once more with {second.kind} at {second.learning_rate:g}. What those two differ "
        "by is the noise floor: a forecast that is no further off is as good as it can be."
    )
    if not math.isnan(there.kernel_change):
        caption += (
            " The kernel change is 1 minus the cosine between the tangent kernels before and after training; "
            "a refit is regression with the one after."
        )
    refit = float(there.refit_accuracy.nanmean())
    facts = [
        ("forecast", f"{result.accuracy:.2f}"),
        ("trained", f"{there.accuracy:.2f}"),
        (f"difference per {words.one}", f"{result.difference:.2f}"),
        ("noise floor", f"{there.noise_floor:.2f}"),
        ("on seen points", f"{float(there.seen_accuracy.mean()):.2f}"),
    ]
    if not math.isnan(there.kernel_change):
        facts += [
            ("kernel change", f"{there.kernel_change:.3f}"),
            ("refit with it", f"{refit:.2f}"),
        ]
    blocks: list[Block] = [
        Picture(_svg(classes_figure(result), f"{prefix}classes", alt), "Forecast and training", caption),
        Facts(tuple(facts)),
    ]
    if result.training_failure is not None:
        blocks.append(Note(result.training_failure))
    return Section("The check: trained", tuple(blocks), anchor="check")


def advice_table(result: Forecast) -> Table:
    """The advice, ranked, with what is predicted then."""
    rows = tuple(
        (str(k + 1), one.text, _number(one.accuracy), f"{one.gain:+.2f}", one.evidence)
        for k, one in enumerate(result.advice)
    )
    return Table(
        "What to do, what reaches the target first and the least work first among those; numbers are the "
        "same forecast with that change",
        ("", "what", "then predicted", "gain", "evidence"),
        rows,
        numeric=(False, False, True, True, False),
    )


def _spectrum(result: Forecast, prefix: str) -> Section:
    there = result.prediction
    limiting = ", ".join(one.irrep for one in there.limiting_irreps[:6]) or "none"
    alt = "Share of each irrep of the group in what holds missing points in place"
    caption = (
        f"Irreps are the frequencies of the group. Those below their mark (red) limit generalisation: "
        f"{limiting}. There the network can fit a bump at a missing point cheaply, and so need not follow "
        "the points it has seen."
    )
    picture = Picture(
        _svg(spectrum_figure(result), f"{prefix}spectrum", alt), "What holds missing points in place", caption
    )
    text = Text(
        f"Kernel: {there.kernel}. {there.kernel_reason} Its relative distance from a kernel that is "
        f"invariant under {result.question.group.name} is {there.invariance_error:.2g}; the group form uses "
        "the nearest invariant one."
    )
    return Section("Why: the spectrum", (text, picture), anchor="spectrum")


def _equivariance(result: Forecast) -> Section:
    above = _symmetry(result)
    blocks: list[Block] = [Note(caution) for caution in result.cautions if caution not in above]
    blocks += _layer_errors("at initialisation", result.prediction.equivariance)
    if result.check is not None:
        blocks += _layer_errors("after training", result.check.equivariance)
    return Section("Equivariance of the network", tuple(blocks), anchor="equivariance")


def _layer_errors(name: str, measured: Equivariance) -> list[Block]:
    errors = (*measured.layers, measured.whole)
    rough = not all(math.isnan(one.discretisation) for one in errors)
    caption = (
        f"Equivariance error {name}: each layer by itself, |L(ga) - g L(a)| / |L(a)| for what it is given, "
        "a, so that what earlier layers break is not counted again; and of the whole network. Measured on "
        f"{measured.control}"
    )
    columns: tuple[str, ...] = ("layer", "kind", "should be", "model")
    rows: list[tuple[str, ...]] = [(one.layer, one.kind, one.target, _number(one.model, 3)) for one in errors]
    if rough:
        caption += "; discretisation is what the other elements add"
        columns = (*columns, "discretisation")
        rows = [(*row, _number(one.discretisation, 3)) for row, one in zip(rows, errors, strict=True)]
    table = Table(caption, columns, tuple(rows), numeric=(False, False, False, *(True,) * (1 + rough)))
    text = Text(f"Asymmetry of the outputs {name}: {measured.asymmetry:.3f} of their norm.")
    return [text, table]


def repeat_section(result: Forecast, command: str) -> Section:
    """How to repeat a forecast: the command, and everything its numbers depend on."""
    blocks: list[Block] = [Command(command)] if command else []
    settings = "centred and scaled" if result.question.standardised else "as they are"
    samples = f"{result.options.per_class} samples of each {result.question.task.words.one}"
    facts = (
        ("network", f"{result.model.name}, {result.model.parameters:,} weights"),
        ("data", f"{result.question.data.name}, {samples} per resample, {settings}"),
        ("group and action", f"{result.question.group.name}, {result.question.action.name}"),
        ("resamples", str(result.options.resamples)),
        ("kernel", result.prediction.kernel),
        ("ridge", f"{result.prediction.resample_prediction.ridge:.3g}"),
        ("seed", str(result.options.seed)),
        ("seconds", f"{result.seconds:.1f}"),
    )
    blocks.append(Facts(facts))
    blocks += [Note(note) for note in result.prediction.notes]
    blocks.append(
        Text(
            "The forecast is regression with the network's tangent kernel: it knows the architecture and the "
            "data, not what training changes in the network. The interval is over resamples and, for a "
            "finite kernel, weights; it does not include what training changes. In 83 measured cases 82 % of "
            "trained accuracies lay within such intervals, and 95 % where a pilot training of 10 epochs was "
            "used (docs/results/forecast.md)."
        )
    )
    return Section("How to repeat it", tuple(blocks), anchor="repeat")
