"""A forecast as one self-contained page: verdict, table, pictures, check, advice, spectrum."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from jaxtyping import Float
from torch import Tensor

from symscope.forecasting._answer import Forecast
from symscope.forecasting._cautions import symmetry_cautions
from symscope.forecasting._equivariance import Equivariance
from symscope.forecasting._forecast_figures import (
    cases_figure,
    classes_figure,
    density_figure,
    in_words,
    spectrum_figure,
)
from symscope.forecasting._summary import answer, verdict
from symscope.report import (
    Block,
    Command,
    Facts,
    Note,
    Picture,
    Section,
    Table,
    Text,
    Verdict,
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
    "Not surely": ("open", "may reach the target"),
    "No": ("bad", "below the target"),
}


def forecast_page(found: Forecast, command: str = "") -> str:
    """The whole page as HTML text.

    Args:
        found: The forecast.
        command: What was typed, for the section on how to repeat it.
    """
    sections = [*forecast_sections(found), repeat_section(found, command)]
    title = f"Will {found.model.name} learn {found.problem.group.name} by {found.problem.action.name}?"
    return page(title=title, lead=verdict(found), sections=sections)


def forecast_sections(found: Forecast, name: str = "") -> list[Section]:
    """What a page says about one forecast, most important first.

    Args:
        found: The forecast.
        name: Set before all titles and addresses, for a page that holds several forecasts.
    """
    prefix = f"{slug(name)}-" if name else ""
    sections = [_answer(found, prefix), _cases(found), _advice(found)]
    if found.outcome is not None:
        sections.insert(1, _check(found, prefix))
    sections += [_spectrum(found, prefix), _equivariance(found)]
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


def _answer(found: Forecast, prefix: str) -> Section:
    low, high = found.interval
    words = found.problem.task.words
    blocks: list[Block] = [
        Verdict(
            f"{words.done.format(share=f'{found.expected:.0%}')}; between {low:.0%} and {high:.0%} for 95 % "
            "of new draws of items.",
            *REACHED[answer(found)],
            threshold=f"{found.target:.0%}",
            why=_enough(found),
        ),
        *(Note(words) for words in _symmetry(found)),
    ]
    if found.pilot is not None:
        blocks.append(
            Text(
                f"This uses a pilot training of {found.pilot.epochs} epochs, gone on as if its kernel "
                f"stopped moving. The tables below are from the architecture alone, {found.accuracy:.0%}."
            )
        )
    blocks.append(_table(found))
    density = density_figure(found)
    if density is not None:
        alt = f"Against the number of transformations: {words.axis}, with the target as a line"
        caption = "The same forecast with fewer and more transformations of the same kind."
        blocks.append(Picture(_svg(density, f"{prefix}density", alt), "More transformations", caption))
    blocks.append(_groups(found) if found.confusion is None else _confusions(found, found.confusion))
    return Section("The forecast", tuple(blocks), anchor="forecast")


def _symmetry(found: Forecast) -> tuple[str, ...]:
    """The cautions that are about the forecast itself, not about the network's layers."""
    return symmetry_cautions(found.departure, found.first, found.problem.group)


def _enough(found: Forecast) -> str:
    if not found.densities:
        return "Fewer or more transformations were not tried."
    if found.enough is None:
        return f"No number of transformations that was tried, up to {found.densities[-1].group}, reaches it."
    return f"{found.enough.group}, {found.enough.transformations} transformations, would be enough."


def _table(found: Forecast) -> Table:
    order = found.problem.group.order
    step = -(-order // COLUMNS)
    shown = list(range(0, order, step))
    mean = found.class_accuracy.mean(0)
    rows = [
        (
            name,
            _number(float(mean[c])),
            _error(float(found.class_error[c])),
            *(_number(float(found.table[c, g])) for g in shown),
        )
        for c, name in enumerate(found.problem.class_names)
    ]
    words = found.problem.task.words
    columns = (words.one, words.score, words.error, *(found.problem.element_names[g] for g in shown))
    caption = (
        f"{words.scored}. Left: by the exact group form, which treats all transformations alike. Right: each "
        "transformation left out in turn, without assuming that the kernel respects the "
        "group"
        + (f" (every {step}th of {order})" if step > 1 else "")
        + "; empty where it was not asked or would take too long."
    )
    return Table(caption, columns, tuple(rows), numeric=(False, *(True for _ in columns[1:])))


def _groups(found: Forecast) -> Table:
    """What is said of each group of numbers, beside what is true."""
    expected, targets = found.first_expectation, found.first.targets
    assert targets is not None
    said, true = targets.in_units(expected.prediction), targets.values[expected.seeds]
    owner = found.first.positions[expected.seeds]
    rows = tuple(
        (
            name,
            in_words(true[owner == c].mean(0)),
            in_words(said[owner == c].mean(0)),
            _density(float(found.pairs.density[c])),
        )
        for c, name in enumerate(found.problem.class_names)
        if bool((owner == c).any())
    )
    return Table(
        "Groups of items by their numbers, first draw, in the numbers' own units: what is true of missing "
        "inputs, and what will be said of them. Density is one over the orbits' radius, – where no "
        "transformation moves them.",
        ("group", "true, mean", "said, mean", "orbit density"),
        rows,
        numeric=(False, True, True, True),
        summary="What is said of each group",
    )


def _confusions(found: Forecast, confusion: Float[Tensor, "c c"]) -> Table:
    rows = []
    for a, first in enumerate(found.problem.class_names):
        for b, second in enumerate(found.problem.class_names):
            share = float(confusion[a, b])
            if a != b and share > 0:
                rows.append(
                    (
                        share,
                        (
                            first,
                            second,
                            _number(share),
                            _number(float(found.pairs.error[a, b])),
                            _number(float(found.pairs.separation[a, b]), 3),
                            _density(float(found.pairs.density[a])),
                        ),
                    )
                )
    rows.sort(key=lambda row: -row[0])
    columns = ("class", "read as", "share", "error of the two alone", "separation", "orbit density")
    return Table(
        "Classes that are mixed up. The error of two classes alone is wrong above 1; separation is the "
        "squared distance of orbit centres over the squared norm of a point; density is one over the "
        "orbits' radius, – where no transformation moves them.",
        columns,
        tuple(row for _, row in rows[:20]),
        numeric=(False, False, True, True, True, True),
        summary="Which classes are mixed up",
    )


def _cases(found: Forecast) -> Section:
    words = found.problem.task.words
    figure = cases_figure(found)
    if figure is None:
        right, count = int(found.first_expectation.right.sum()), len(found.first_expectation.right)
        text = Text(f"{right} of {count} missing points will be {words.works}.")
        return Section("Missing cases", (text,), anchor="cases")
    element = image_element(figure_bytes(figure, "png"), alt=words.pictures)
    caption = f"From the first draw: the widest margins, another {words.one} each where possible."
    return Section(
        "Missing cases", (Picture(element, "What will fail, what will work", caption),), anchor="cases"
    )


def _check(found: Forecast, prefix: str) -> Section:
    there = found.outcome
    assert there is not None
    optimiser = there.settings.optimiser
    apart = float((found.expected_by_class - there.class_accuracy).abs().nanmean())
    words = found.problem.task.words
    alt = f"Bars by {words.one}: {words.key} as expected, and of the trained network"
    second = there.settings.second
    caption = (
        f"For each {words.one} with bars, a network that lacks a transformation of it was trained: "
        f"{there.settings.epochs} epochs of {optimiser.kind} at {optimiser.learning_rate:g}, batches of "
        f"{there.settings.batch}; and once more with {second.kind} at {second.learning_rate:g}. What those "
        "two differ by is the noise of training: a forecast that is no further off is as good as it can be."
    )
    if not math.isnan(there.moved):
        caption += (
            " The kernel moved by 1 minus the cosine between the tangent kernels before and after training; "
            "a refit is regression with the one after."
        )
    refit = float(there.refit_accuracy.nanmean())
    facts = [
        ("forecast", f"{found.expected:.2f}"),
        ("trained", f"{there.accuracy:.2f}"),
        (f"difference a {words.one}", f"{apart:.2f}"),
        ("two trainings differ", f"{there.noise_floor:.2f}"),
        ("on seen points", f"{float(there.seen_accuracy.mean()):.2f}"),
    ]
    if not math.isnan(there.moved):
        facts += [
            ("kernel moved", f"{there.moved:.3f}"),
            ("refit with it", f"{refit:.2f}"),
        ]
    blocks: list[Block] = [
        Picture(_svg(classes_figure(found), f"{prefix}classes", alt), "Forecast and outcome", caption),
        Facts(tuple(facts)),
    ]
    if there.unlearned:
        blocks.append(
            Note(
                f"With {' and '.join(there.unlearned)} the network has not learned what it was shown, so "
                "that the comparison says little: train for more epochs or with another learning rate."
            )
        )
    return Section("The check: trained", tuple(blocks), anchor="check")


def _advice(found: Forecast) -> Section:
    rows = tuple(
        (str(k + 1), one.text, _number(one.accuracy), f"{one.gain:+.2f}", one.evidence)
        for k, one in enumerate(found.advice)
    )
    table = Table(
        "What to do, what reaches the target first and the least work first among those; numbers are the "
        "same forecast with that change",
        ("", "what", "then expected", "gain", "evidence"),
        rows,
        numeric=(False, False, True, True, False),
    )
    return Section("Advice", (table,), anchor="advice")


def _spectrum(found: Forecast, prefix: str) -> Section:
    limiting = ", ".join(one.irrep for one in found.limiting[:6]) or "none"
    alt = "Share of each irrep of the group in what holds missing points in place"
    caption = (
        f"Irreps are the frequencies of the group. Those below their mark (red) hold generalisation back: "
        f"{limiting}. There the network can draw a bump at a missing point cheaply, and so need not follow "
        "the points it has seen."
    )
    picture = Picture(
        _svg(spectrum_figure(found), f"{prefix}spectrum", alt), "What holds missing points in place", caption
    )
    text = Text(
        f"Kernel: {found.kernel}. {found.kernel_reason} It departs from the group by {found.departure:.2g} "
        "(relative norm); the group form uses the nearest kernel that respects it."
    )
    return Section("Why: the spectrum", (text, picture), anchor="spectrum")


def _equivariance(found: Forecast) -> Section:
    said = _symmetry(found)
    blocks: list[Block] = [Note(words) for words in found.cautions if words not in said]
    for name, measured in (
        ("at initialisation", found.equivariance),
        ("after training", found.equivariance_after),
    ):
        if measured is not None:
            blocks += _measured(name, measured)
    return Section("Equivariance of the network", tuple(blocks), anchor="equivariance")


def _measured(name: str, measured: Equivariance) -> list[Block]:
    rows = tuple(
        (one.layer, one.kind, one.target, _number(one.model, 3), _number(one.discretisation, 3))
        for one in measured.layers
    )
    table = Table(
        f"Equivariance error of each layer {name}, |f(gx) - g f(x)| / |f(x)|. The model's part is measured "
        f"on the control: {measured.control}; discretisation is what the other elements add",
        ("layer", "kind", "should be", "model", "discretisation"),
        rows,
        numeric=(False, False, False, True, True),
    )
    text = Text(f"Asymmetry of the outputs {name}: {measured.asymmetry:.3f} of their norm.")
    return [text, table]


def repeat_section(found: Forecast, command: str) -> Section:
    """How a forecast is made again: the command, and everything its numbers depend on."""
    blocks: list[Block] = [Command(command)] if command else []
    settings = "centred and scaled" if found.problem.standardised else "as they are"
    items = f"{found.per_class} items of each {found.problem.task.words.one}"
    facts = (
        ("network", f"{found.model.name}, {found.model.parameters:,} weights"),
        ("data", f"{found.problem.data.name}, {items} in a draw, {settings}"),
        ("group and action", f"{found.problem.group.name}, {found.problem.action.name}"),
        ("draws", str(len(found.class_accuracy))),
        ("kernel", found.kernel),
        ("ridge", f"{found.first_expectation.ridge:.3g}"),
        ("seed", str(found.seed)),
        ("seconds", f"{found.seconds:.1f}"),
    )
    blocks.append(Facts(facts))
    blocks += [Note(words) for words in found.notes]
    blocks.append(
        Text(
            "The forecast is regression with the network's tangent kernel: it knows the architecture and the "
            "data, not what training changes in the network. The interval is over draws of items and, for a "
            "finite kernel, of weights; it does not hold what training changes. In 83 measured cases 82 % of "
            "trained accuracies lay within such intervals, and 95 % where a pilot training of 10 epochs was "
            "used (docs/results/forecast.md)."
        )
    )
    return Section("How to repeat it", tuple(blocks), anchor="repeat")
