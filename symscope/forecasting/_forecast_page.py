"""A forecast as one self-contained page: verdict, table, pictures, check, advice, spectrum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from symscope.forecasting._architecture_section import architecture_section, figure_svg, number_or_dash
from symscope.forecasting._cases_figure import cases_figure
from symscope.forecasting._cautions import symmetry_cautions
from symscope.forecasting._equivariance import Equivariance
from symscope.forecasting._forecast_figures import (
    classes_figure,
    steps_figure,
    table_figure,
)
from symscope.forecasting._pilot import PilotForecast
from symscope.forecasting._price_list import Advice
from symscope.forecasting._result import Forecast
from symscope.forecasting._sample_split import samples_text
from symscope.forecasting._task_wording import interval_words, target_percent
from symscope.forecasting._what_if import what_if
from symscope.numerics import explained
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
    page,
    slug,
)

DRAWN = {
    "points": " Points are drawn at their first two coordinates; those near along a third are darker.",
    "graph": " Nodes stand on a circle, in their order; the first is red.",
    "set": " Each row is an element of the set.",
}
REACHED = {
    "Yes": ("good", "reaches the target"),
    "Borderline": ("open", "borderline"),
    "No": ("bad", "below the target"),
}


@explained
def forecast_page(result: Forecast, command: str = "") -> str:
    """The whole page as HTML text.

    Args:
        result: The forecast.
        command: Command line that made it, for the section on how to repeat it.
    """
    sections = [*forecast_sections(result), repeat_section(result, command)]
    title = f"Will {result.model.name} learn {result.question.group_words} ({result.question.action.name})?"
    return page(title=title, lead=result.verdict, sections=sections)


def forecast_sections(result: Forecast, name: str = "") -> list[Section]:
    """The sections of a page about one forecast, most important first.

    Args:
        result: The forecast.
        name: Prefix of all titles and addresses, for a page that holds several forecasts.
    """
    prefix = f"{slug(name)}-" if name else ""
    sections = [_answer(result, prefix)]
    if result.check is not None:
        sections.append(_check(result, prefix))
    if result.advice:
        priced: list[Block] = [Text(result.ways_to_target), what_if(result), advice_table(result)]
        if result.combinations:
            caption = "Two changes at a time, from the same trainings"
            priced.append(_advice_rows(caption, result.combinations, "Two changes at a time"))
        sections.append(Section("Price list", tuple(priced), anchor="advice"))
    sections.append(_cases(result))
    if result.prediction is not None:
        sections.append(architecture_section(result, result.prediction, prefix))
    sections.append(_equivariance(result))
    return [named_section(section, name) for section in sections]


def named_section(section: Section, name: str) -> Section:
    """A section of one of several forecasts, its title and address with the name; without name as it is.

    >>> named_section(Section("Advice", (), anchor="advice"), "conv-gap")
    Section(title='conv-gap · Advice', blocks=(), anchor='conv-gap-advice', tally='')
    """
    if not name:
        return section
    return replace(section, title=f"{name} · {section.title}", anchor=f"{slug(name)}-{section.anchor}")


def _answer(result: Forecast, prefix: str) -> Section:
    words = result.question.task.words
    whose = "new samples" if result.about_new else "samples seen in other transformations"
    decided = ""
    if result.check is not None and result.answer != result.predicted_answer:
        decided = f" Trained, it {words.outcome(result.check.accuracy)}, and the trainings decide."
    blocks: list[Block] = [
        JudgedClaim(
            f"{words.heading_of(result.accuracy)}, {whose}; 95 % interval {interval_words(result.interval)}"
            f"{'' if result.error is None else f'; error {result.error:.3g} in units of the targets'}.",
            *REACHED[result.answer],
            threshold=f"{target_percent(result.question.target)}",
            why=f"{result.basis[0].upper()}{result.basis[1:]}.{decided}",
        ),
        *(Note(caution) for caution in _symmetry(result)),
        *(Note(note) for note in result.notes),
    ]
    blocks.append(_class_table(result))
    if result.pilot is not None:
        blocks += _pilot_pictures(result, result.pilot, prefix)
    return Section("The forecast", tuple(blocks), anchor="forecast")


def _class_table(result: Forecast) -> Table:
    """The answer by class: new samples, training samples, and what the class has."""
    words, pilot = result.question.task.words, result.pilot
    columns = [words.one]
    values: list[Tensor] = []
    if pilot is not None:
        named = (
            ("new samples", pilot.new),
            ("training samples", pilot.known),
            ("new samples, covered" if result.about_new else "covered", pilot.covered),
        )
        for name, one in named:
            if one is not None:
                columns.append(name)
                values.append(one.class_score)
    if result.prediction is not None:
        columns.append("architecture alone")
        values.append(result.prediction.class_score)
    interval = result.class_interval
    rows = tuple(
        (
            name,
            *(number_or_dash(float(value[c])) for value in values),
            "–"
            if interval[c].isnan().any()
            else f"{float(interval[c, 0]):.2f} to {float(interval[c, 1]):.2f}",
        )
        for c, name in enumerate(result.question.class_names)
    )
    columns.append("95 % interval")
    caption = (
        f"{words.scored} at what the training data lacks of each {words.one}; the interval is that of the "
        "first column of numbers."
    )
    if pilot is not None:
        caption += f" Covered: at transformations that the training data has of the {words.one}."
    return Table(caption, tuple(columns), rows, numeric=(False, *(True for _ in columns[1:])))


def _pilot_pictures(result: Forecast, pilot: PilotForecast, prefix: str) -> list[Block]:
    words, plan = result.question.task.words, pilot.plan
    headline = pilot.headline
    table = headline.table
    lacks = ~table.isnan()
    if pilot.covered is not None:
        table = table.where(lacks, pilot.covered.table)
    alt = f"{words.axis} by {words.one} and transformation, frames where the training data lacks it"
    frames = (
        f"Frames: transformations that the training data lacks of a {words.one}"
        if result.question.coverage is not None
        else f"Frames: the transformation left out of each {words.one} in turn, in one training for all"
    )
    map_caption = f"{frames}; other cells are what it has been seen in."
    return [
        Picture(
            figure_svg(table_figure(result, table, lacks), f"{prefix}table", alt),
            f"By {words.one} and transformation",
            map_caption,
        ),
        Picture(
            figure_svg(steps_figure(result), f"{prefix}steps", f"{words.axis} against cost of training"),
            "How it goes on",
            f"{plan.text}.",
        ),
    ]


def _symmetry(result: Forecast) -> tuple[str, ...]:
    """The cautions that are about the forecast itself, not about the network's layers."""
    prediction = result.prediction
    if prediction is None:
        return ()
    return symmetry_cautions(prediction.invariance_error, prediction.resample, result.question.group)


def _cases(result: Forecast) -> Section:
    words = result.question.task.words
    figure = cases_figure(result)
    if figure is None:
        share = Text(f"{result.accuracy:.0%} of what is missing will be {words.works}.")
        return Section("Missing cases", (share,), anchor="cases")
    element = image_element(figure_bytes(figure, "png"), alt=words.pictures)
    caption = f"The widest margins, another {words.one} each where possible."
    caption += DRAWN.get(result.question.kind, "")
    if result.question.target_action is not None:
        caption += " Arrows and outlines: the target amber, what is predicted red or green."
    if result.question.targets is None:
        caption += " Titles: true class → predicted class, and the transformation."
    return Section(
        "Missing cases", (Picture(element, "What will fail, what will work", caption),), anchor="cases"
    )


def _check(result: Forecast, prefix: str) -> Section:
    there = result.check
    assert there is not None
    plan, second = there.plan, there.second_plan.optimiser
    words = result.question.task.words
    alt = f"Bars by {words.one}: {words.key} as predicted, and of the trained network"
    asked = (
        "a network was trained on the same coverage"
        if result.question.coverage is not None
        else f"for each {words.one} with bars, a network that lacks a transformation of it alone was trained"
    )
    caption = (
        f"{asked[0].upper()}{asked[1:]}: {plan.steps:,} steps of {plan.optimiser.text}, "
        f"batches of {plan.batch}; and once more with {second.text} and other weights. "
        "What those two differ by is the noise floor: a forecast that is no further "
        "off is as good as it can be."
    )
    trained = there.class_accuracy if result.about_new else there.known_accuracy
    facts = [
        ("forecast", f"{result.accuracy:.2f}"),
        ("trained", f"{float(trained.nanmean()):.2f}"),
        (f"difference per {words.one}", f"{result.difference:.2f}"),
        ("noise floor", f"{there.noise_floor:.2f}"),
        *([] if result.trained_error is None else [("trained, in units", f"{result.trained_error:.3g}")]),
        ("on seen points", f"{there.first.fitted:.2f}"),
        ("time", f"{there.seconds:.0f} s"),
    ]
    blocks: list[Block] = [
        Picture(
            figure_svg(classes_figure(result), f"{prefix}classes", alt), "Forecast and training", caption
        ),
        Facts(tuple(facts)),
    ]
    if result.training_failure is not None:
        blocks.append(Note(result.training_failure))
    return Section("The check: trained", tuple(blocks), anchor="check")


def advice_table(result: Forecast) -> Table:
    """The advice, ranked, with what is predicted then."""
    caption = (
        f"What to do to reach {result.question.target_text}: what reaches it first, the least work first "
        "among those. On the same samples and missing transformations as the forecast. Training: seconds of "
        "a whole one on this machine, about; inference: forward passes for one answer"
    )
    return _advice_rows(caption, result.advice)


def _advice_rows(caption: str, advice: Sequence[Advice], summary: str = "") -> Table:
    rows = tuple(
        (
            str(k + 1),
            one.text,
            number_or_dash(one.accuracy),
            f"{one.low:.2f} to {one.high:.2f}",
            f"{one.gain:+z.2f}",
            one.training_data_text,
            one.training_time_text,
            f"x {one.inference_cost}",
            one.evidence,
        )
        for k, one in enumerate(advice)
    )
    columns = (
        "",
        "what",
        "then",
        "95 % interval",
        "gain",
        "training data",
        "training",
        "inference",
        "evidence",
    )
    return Table(caption, columns, rows, (False, False, *(True,) * 6, False), summary)


def _equivariance(result: Forecast) -> Section:
    above = _symmetry(result)
    blocks: list[Block] = [Note(caution) for caution in result.cautions if caution not in above]
    moved = result.question.target_action is not None
    blocks += _layer_errors("at initialisation", result.equivariance, moved)
    if result.check is not None:
        blocks += _layer_errors("after training", result.check.equivariance, moved)
    return Section("Equivariance of the network", tuple(blocks), anchor="equivariance")


def _layer_errors(name: str, measured: Equivariance, moved: bool) -> list[Block]:
    whole = ", |f(gx) - ρ(g) f(x)| / |f(x)|, layers on rows inside it left out" if moved else ""
    errors = (*measured.layers, measured.whole)
    rough = not all(math.isnan(one.discretisation) for one in errors)
    caption = (
        f"Equivariance error {name}: each layer by itself, |L(ga) - g L(a)| / |L(a)| for what it is given, "
        f"a, so that what earlier layers break is not counted again; and of the whole network{whole}. "
        f"Measured on {measured.control}"
    )
    columns: tuple[str, ...] = ("layer", "kind", "should be", "model")
    rows: list[tuple[str, ...]] = [
        (one.layer, one.kind, one.target, number_or_dash(one.model, 3)) for one in errors
    ]
    if rough:
        caption += "; discretisation is what the other elements add"
        columns = (*columns, "discretisation")
        rows = [(*row, number_or_dash(one.discretisation, 3)) for row, one in zip(rows, errors, strict=True)]
    table = Table(caption, columns, tuple(rows), numeric=(False, False, False, *(True,) * (1 + rough)))
    text = Text(f"Asymmetry of the outputs {name}: {measured.asymmetry:.3f} of their norm.")
    return [text, table]


def _target_fact(result: Forecast) -> list[tuple[str, str]]:
    """How targets change, where they are numbers."""
    if result.question.targets is None:
        return []
    moving = result.question.target_action
    return [("targets", "the same under every element" if moving is None else f"move: {moving.name}")]


def repeat_section(result: Forecast, command: str) -> Section:
    """How to repeat a forecast: the command, and everything its numbers depend on."""
    blocks: list[Block] = [Command(command)] if command else []
    settings = "centred and scaled" if result.question.standardised else "as they are"
    plan = result.training
    facts = [
        ("network", f"{result.model.name}, {result.model.parameters:,} weights"),
        ("data", f"{result.question.data.name}, {settings}"),
        ("training samples", f"{samples_text(*result.samples)} of each {result.question.task.words.one}"),
        ("group and action", f"{result.question.group_words}, {result.question.action.name}"),
        *_target_fact(result),
        (
            "coverage",
            "each in turn lacks the identity"
            if result.question.coverage is None
            else result.question.coverage.text,
        ),
        (
            "training",
            f"{plan.steps:,} steps of {plan.batch}, {plan.optimiser.text}",
        ),
        ("seed", str(result.options.seed)),
        ("seconds", f"{result.seconds:.1f}"),
    ]
    if result.prediction is not None:
        facts += [
            ("kernel", result.prediction.kernel),
            (
                "samples for the kernel",
                f"{result.options.per_class} of each, {result.options.resamples} times",
            ),
            ("ridge", f"{result.prediction.resample_prediction.ridge:.3g}"),
        ]
        blocks += [Note(note) for note in result.prediction.notes]
    blocks.insert(
        len(blocks) - (0 if result.prediction is None else len(result.prediction.notes)), Facts(tuple(facts))
    )
    blocks.append(
        Text(
            "How pilot trainings are extrapolated, what the intervals hold and what was measured about both: "
            "docs/guides/forecast-your-model.md."
        )
    )
    return Section("How to repeat it", tuple(blocks), anchor="repeat")
