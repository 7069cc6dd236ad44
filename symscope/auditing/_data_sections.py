"""Sections of an audit's page: what it does to answers, and whether the data has the symmetry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from symscope.auditing._audit_figures import heat_map, samples_figure, symmetry_figure
from symscope.auditing._mask_data import MaskData
from symscope.auditing._page_parts import percent, svg_element
from symscope.auditing._result import Audit
from symscope.data import sample_kind
from symscope.report import (
    Block,
    JudgedClaim,
    Note,
    Picture,
    Section,
    Table,
    Text,
    figure_bytes,
    image_element,
)

SHOWN_SAMPLES = 6  # samples whose answer flips
MOST_COLUMNS = 16  # elements in a map
MOST_ROWS = 30  # classes in a map
RECOMMENDED = {
    "want": ("good", "want it"),
    "part": ("open", "want a part of it"),
    "not": ("bad", "do not want it"),
}


def consequences_section(audit: Audit) -> Section:
    """Accuracy, flips and calibration by element and class, or errors of numbers."""
    found = audit.consequences
    assert found is not None
    blocks: list[Block] = [Text(sentence) for sentence in found.sentences]
    if found.elements:
        what = "positions" if isinstance(audit.subject.data, MaskData) else "samples"
        blocks.append(_answers_table(found, what))
        blocks += _class_map(found, what)
        blocks += flip_pictures(audit)
    elif found.predictions:
        blocks.append(_predictions_table(found))
    blocks += [Note(note) for note in found.notes]
    return Section("What it does to answers", tuple(blocks), anchor="consequences")


def _answers_table(found: Any, what: str) -> Table:
    columns = (
        "element",
        "accuracy",
        "95 % interval",
        "answers that flip",
        "mean confidence",
        "calibration error",
    )
    rows = tuple(
        (
            one.element_name,
            percent(one.accuracy),
            f"{percent(one.low)} to {percent(one.high)}",
            percent(one.flips),
            percent(one.confidence),
            percent(one.calibration_error),
        )
        for one in found.elements
    )
    caption = f"Answers to {found.samples:,} samples by element"
    caption += ", shares of positions" if what == "positions" else ""
    return Table(caption, columns, rows, (False, True, True, True, True, True))


def _predictions_table(found: Any) -> Table:
    several = len({one.column for one in found.predictions}) > 1
    columns = ("element", *(("target",) if several else ()), "error", "95 % interval", "more than upright")
    rows = tuple(
        (
            one.element_name,
            *((str(one.column),) if several else ()),
            f"{one.error:.4g}",
            f"{one.low:.4g} to {one.high:.4g}",
            f"{one.change:+.3g} ({one.change_low:+.3g} to {one.change_high:+.3g})",
        )
        for one in found.predictions
    )
    caption = f"Root mean square errors of {found.samples:,} samples by element, in units of the targets"
    return Table(caption, columns, rows, (False, *((True,) if several else ()), True, True, True))


def _table_of(rows: Sequence[Any], row_of: str) -> tuple[list[str], list[str], Tensor]:
    """Names of rows and columns, and accuracies; elements are thinned out, the largest rows come first."""
    names = list(dict.fromkeys(getattr(one, row_of) for one in rows))[:MOST_ROWS]
    elements = list(dict.fromkeys(one.element_name for one in rows))
    elements = elements[:: max(1, -(-len(elements) // MOST_COLUMNS))]
    values = torch.full((len(names), len(elements)), float("nan"), dtype=torch.float64)
    for one in rows:
        if getattr(one, row_of) in names and one.element_name in elements:
            values[names.index(getattr(one, row_of)), elements.index(one.element_name)] = one.accuracy
    return names, elements, values


def _class_map(found: Any, what: str) -> list[Block]:
    names, elements, values = _table_of(found.classes, "class_name")
    if not names:
        return []
    figure = heat_map(values, names, elements, "accuracy", 0.0)
    return [
        Picture(
            svg_element(figure, "accuracy", "A map of accuracy by class and element."),
            "Accuracy by class and element",
            f"The share of {what} of a class, moved by an element, whose class is predicted.",
        )
    ]


def flip_pictures(audit: Audit) -> list[Block]:
    """Samples whose answer changes, each of another class while there are classes left."""
    subject = audit.subject
    kind = sample_kind(subject.action, tuple(subject.data.x.shape[1:]))
    assert audit.consequences is not None
    if kind not in ("image", "series", "points") or not audit.consequences.flipped:
        return []
    counts: Counter[str] = Counter()
    ranked: list[tuple[int, int, Any]] = []
    for one in sorted(audit.consequences.flipped, key=lambda one: one.before != one.label):
        ranked.append((counts[one.label], len(ranked), one))
        counts[one.label] += 1
    chosen = [one for _, _, one in sorted(ranked)][:SHOWN_SAMPLES]
    pictures = []
    for one in chosen:
        x = subject.data.x[one.index]
        moved = subject.moved(one.element, x[None])[0]
        if kind == "image":
            moved = moved.clamp(x.min(), x.max())  # splines overshoot, which would change the greys
        pictures.append(
            (
                x,
                f"{one.before}\n{one.before_confidence:.0%} sure",
                moved,
                f"{one.after}, {one.element_name}\n{one.after_confidence:.0%} sure",
            )
        )
    figure = samples_figure(pictures, kind, ("as it is", "transformed"))
    alt = "Samples above, and transformed below, with the answers of the network."
    element = (
        image_element(figure_bytes(figure, "png"), alt=alt)
        if kind == "image"
        else svg_element(figure, "flips", alt)
    )
    return [
        Picture(
            element,
            "Samples whose answer flips",
            "Above each sample the class that is predicted, and how sure the network is.",
        )
    ]


def data_section(audit: Audit) -> Section:
    """Whether the data looks the same when moved, whether labels survive, and what to want."""
    found = audit.data_symmetry
    assert found is not None
    outcome, words = RECOMMENDED[found.recommendation]
    *evidence, advice = found.evidence
    bare = isinstance(audit.subject.data, MaskData) and not found.targets  # nothing but samples was tested
    source = f"From {found.samples:,} samples {'' if bare else 'and their labels '}alone."
    blocks: list[Block] = [
        JudgedClaim(advice, outcome, words, why=source),
        *(Text(sentence) for sentence in evidence),
        Picture(
            svg_element(symmetry_figure(audit), "symmetry", "Accuracy of telling moved samples from others."),
            "Does the data look the same when it is moved?",
            "How often a classifier tells held-out samples that were moved by an element from other samples "
            "that were not; lines are 95 % intervals. Near 50 % the data has the symmetry.",
        ),
    ]
    names, elements, values = _table_of(found.classes, "class_name")
    if names:
        figure = heat_map(values, names, elements, "told apart", 0.5)
        blocks.append(
            Picture(
                svg_element(figure, "classes", "A map of that accuracy by class and element."),
                "The same for each class",
                "0.5: samples of the class look the same when moved; 1: always told apart.",
            )
        )
    if found.labels:
        blocks.append(_label_table(audit))
    if found.targets:
        blocks.append(_target_table(audit))
    blocks += [Note(note) for note in found.notes]
    return Section("Should you want it?", tuple(blocks), anchor="data")


def _label_table(audit: Audit) -> Table:
    subject = audit.subject
    assert audit.data_symmetry is not None

    def name(label: int) -> str:
        return str(label) if subject.class_names is None else subject.class_names[label]

    rows = tuple(
        (
            f"{name(one.first)}, moved by {subject.element_name(one.element)}",
            name(one.second),
            percent(one.accuracy),
            percent(one.upright),
            f"{one.p_value:.1g}",
        )
        for one in audit.data_symmetry.labels
    )
    columns = ("class, moved", "looks like", "told apart", "told apart unmoved", "corrected p-value")
    return Table("Classes that become each other", columns, rows, (False, False, True, True, True))


def _target_table(audit: Audit) -> Table:
    """Errors of a fit to other samples before and after moving, for numbers and masks."""
    assert audit.data_symmetry is not None
    masks = isinstance(audit.subject.data, MaskData)
    rows = tuple(
        (
            audit.subject.element_name(one.element),
            f"{one.error:.2f}",
            f"{one.moved_error:.2f}",
            f"{one.low:+.2f} to {one.high:+.2f}",
            f"{one.p_value:.1g}",
            one.verdict,
        )
        for one in audit.data_symmetry.targets
    )
    title = "Do masks move with samples?" if masks else "Do numbers to predict survive?"
    columns = ("element", "error of a fit", "moved", "difference", "corrected p-value", "verdict")
    caption = f"{title} Squared errors of a fit to other samples, in variances"
    return Table(caption, columns, rows, (False, True, True, True, True, False))
