"""A classifier's answers to moved samples: accuracy, calibration, decisions, and samples that flip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from symscope.auditing._error_table import interval, resample_weights
from symscope.auditing._subject import Subject
from symscope.auditing._symmetry_advice import listed
from symscope.auditing._two_sample import wilson_interval
from symscope.data import LabelledData

MOST_FLIPPED = 24  # samples whose answer changes that are listed
BINS = 10  # bins of confidence in the calibration error
SUM = 1e-3  # by which outputs that are probabilities may differ from 1 in sum


@final
@dataclass(frozen=True)
class ElementAnswers:
    """A classifier's answers to all samples moved by one element.

    Attributes:
        element: Element that moves the samples.
        element_name: Name of the element, degrees for rotations.
        accuracy: Share of samples with the right answer.
        low: Lower end of its 95 % interval (Wilson).
        high: Upper end of it.
        change: Accuracy minus that of the same samples unmoved.
        change_low: Lower end of its 95 % interval, by bootstrap over samples.
        change_high: Upper end of it.
        flips: Share of samples whose answer differs from that to the sample unmoved.
        flips_low: Lower end of its 95 % interval (Wilson).
        flips_high: Upper end of it.
        confidence: Mean probability of the answer.
        brier: Mean of `sum_c (p_c - [c is the label])^2`, from 0 to 2; true probabilities have the lowest.
        calibration_error: Mean distance of confidence from accuracy over ten bins of confidence. With few
            samples it is above 0 for calibrated networks too: compare elements, preferably by `brier`.
    """

    element: int
    element_name: str
    accuracy: float
    low: float
    high: float
    change: float
    change_low: float
    change_high: float
    flips: float
    flips_low: float
    flips_high: float
    confidence: float
    brier: float
    calibration_error: float


@final
@dataclass(frozen=True)
class ClassAnswers:
    """A classifier's answers to the samples of one class moved by one element.

    Attributes:
        label: The class.
        class_name: Name of the class.
        element: Element that moves the samples.
        element_name: Name of the element.
        accuracy: Share of samples with the right answer.
        low: Lower end of its 95 % interval (Wilson).
        high: Upper end of it.
        samples: Samples of the class.
        mistaken_for: Name of the most common wrong answer; None where every answer is right.
        mistaken: Share of samples with that answer.
    """

    label: int
    class_name: str
    element: int
    element_name: str
    accuracy: float
    low: float
    high: float
    samples: int
    mistaken_for: str | None
    mistaken: float


@final
@dataclass(frozen=True)
class FlippedSample:
    """A sample whose answer changes when it is moved.

    Attributes:
        index: Position of the sample in the data.
        element: Element that moves it.
        element_name: Name of the element.
        label: Name of its class.
        before: Answer to the sample unmoved.
        before_confidence: Probability of that answer.
        after: Answer to the moved sample.
        after_confidence: Probability of that answer.
    """

    index: int
    element: int
    element_name: str
    label: str
    before: str
    before_confidence: float
    after: str
    after_confidence: float


def probabilities(outputs: Float64[Tensor, "m k"]) -> Float64[Tensor, "m c"]:
    """Probabilities of classes: the outputs where they are some, else their softmax; sigmoid of a single one.

    >>> probabilities(torch.tensor([[0.0], [3.0]], dtype=torch.float64))[:, 1].round(decimals=2).tolist()
    [0.5, 0.95]
    """
    if outputs.shape[1] == 1:
        one = outputs.sigmoid()
        return torch.cat([1 - one, one], 1)
    if bool((outputs >= 0).all()) and float((outputs.sum(1) - 1).abs().max()) < SUM:
        return outputs
    return outputs.softmax(1)


def calibration_error(confidence: Float64[Tensor, "m"], right: Float64[Tensor, "m"]) -> float:
    """The expected calibration error over ten bins of confidence of the same width.

    `sum_b |b| / m * |mean confidence in b - mean accuracy in b|` (Naeini, Cooper and Hauskrecht, AAAI 2015).

    >>> round(calibration_error(torch.tensor([0.95, 0.85]).double(), torch.tensor([1.0, 0.0]).double()), 2)
    0.45
    """
    bins = (confidence * BINS).long().clamp(max=BINS - 1)
    gaps = torch.zeros(BINS, dtype=torch.float64).index_add(0, bins, confidence - right)
    return float(gaps.abs().sum()) / len(confidence)


def element_answers(
    subject: Subject, kept: Sequence[int], chances: Float64[Tensor, "e m c"], data: LabelledData, seed: int
) -> tuple[ElementAnswers, ...]:
    """Answers to all samples under each element, the first of which is the identity.

    Args:
        subject: Network, data and actions.
        kept: Elements that were tried.
        chances: Probabilities of the classes for each element and sample.
        data: The samples.
        seed: Seed for bootstrap resamples.
    """
    confidence, answers = chances.max(2)
    right = (answers == data.labels).double()
    weights = resample_weights(len(data), seed)
    truth = torch.nn.functional.one_hot(data.labels, chances.shape[2]).double()
    rows = []
    for k, g in enumerate(kept):
        change = right[k] - right[0]
        flips = int((answers[k] != answers[0]).sum())
        rows.append(
            ElementAnswers(
                g,
                subject.element_name(g),
                float(right[k].mean()),
                *wilson_interval(int(right[k].sum()), len(data)),
                float(change.mean()),
                *interval(weights @ change),
                flips / len(data),
                *wilson_interval(flips, len(data)),
                float(confidence[k].mean()),
                float((chances[k] - truth).square().sum(1).mean()),
                calibration_error(confidence[k], right[k]),
            )
        )
    return tuple(rows)


def class_answers(
    subject: Subject, kept: Sequence[int], chances: Float64[Tensor, "e m c"], data: LabelledData
) -> tuple[ClassAnswers, ...]:
    """Answers to the samples of each class under each element."""
    names, answers = _class_names(subject, chances.shape[2]), chances.argmax(2)
    return tuple(
        _one_class(label, g, answers[k, data.labels == label], subject, names)
        for label in data.classes
        for k, g in enumerate(kept)
    )


def _class_names(subject: Subject, count: int) -> list[str]:
    given = subject.class_names or ()
    return [given[c] if c < len(given) else str(c) for c in range(count)]


def _one_class(
    label: int, g: int, answers: Int64[Tensor, "n"], subject: Subject, names: Sequence[str]
) -> ClassAnswers:
    counts = answers.bincount(minlength=len(names))
    right = int(counts[label])
    counts[label] = 0
    wrong = int(counts.argmax()) if int(counts.sum()) else None
    return ClassAnswers(
        label,
        names[label],
        g,
        subject.element_name(g),
        right / len(answers),
        *wilson_interval(right, len(answers)),
        len(answers),
        None if wrong is None else names[wrong],
        int(counts.max()) / len(answers),
    )


def flipped_samples(
    subject: Subject,
    kept: Sequence[int],
    chances: Float64[Tensor, "e m c"],
    data: LabelledData,
    indices: Int64[Tensor, "m"],
) -> tuple[FlippedSample, ...]:
    """Samples whose answer changes, each once, under the element where both answers are surest.

    Samples whose unmoved answer is right come first.
    """
    names = _class_names(subject, chances.shape[2])
    confidence, answers = chances.max(2)
    changed = answers != answers[0]
    weight = torch.where(changed, confidence * confidence[0] + (answers[0] == data.labels), -1.0)
    best, place = weight.max(0)
    order = best.argsort(descending=True, stable=True)[: min(MOST_FLIPPED, int((best >= 0).sum()))]
    return tuple(
        FlippedSample(
            int(indices[s]),
            kept[k],
            subject.element_name(kept[k]),
            names[int(data.labels[s])],
            names[int(answers[0, s])],
            float(confidence[0, s]),
            names[int(answers[k, s])],
            float(confidence[k, s]),
        )
        for s, k in ((int(s), int(place[s])) for s in order)
    )


def harmful(rows: Sequence[ElementAnswers]) -> list[ElementAnswers]:
    """The elements that surely lower the accuracy, the worst first."""
    return sorted((one for one in rows if one.change_high < 0), key=lambda one: one.change)


def class_findings(
    rows: Sequence[ElementAnswers], by_class: Sequence[ClassAnswers], what: str = "samples"
) -> list[str]:
    """The main findings in sentences, of samples or of positions."""
    worst = harmful(rows)
    plain = rows[0]
    result = [f"Unmoved, {plain.accuracy:.0%} of {what} are right ({plain.low:.0%} to {plain.high:.0%})."]
    if not worst:
        result.append("No transformation surely lowers the accuracy.")
    else:
        one = worst[0]
        names = [other.element_name for other in rows if other in worst]
        result.append(
            f"Moved by {one.element_name} it is {one.accuracy:.0%} ({one.low:.0%} to {one.high:.0%}); "
            f"transformations that surely lower it: {listed(names)}."
        )
    most = max(rows, key=lambda one: one.flips)
    if most.flips:
        result.append(
            f"Moved by {most.element_name}, {most.flips:.0%} of {what} get another answer "
            f"({most.flips_low:.0%} to {most.flips_high:.0%})."
        )
    before = {one.label: one.accuracy for one in by_class if one.element == plain.element}
    hurt = min(by_class, key=lambda one: one.accuracy - before[one.label])
    if worst and hurt.accuracy < before[hurt.label]:
        wrong = f"; {hurt.mistaken:.0%} become {hurt.mistaken_for}" if hurt.mistaken_for else ""
        result.append(
            f"The class hurt most is {hurt.class_name}: {before[hurt.label]:.0%} unmoved, "
            f"{hurt.accuracy:.0%} ({hurt.low:.0%} to {hurt.high:.0%}) moved by {hurt.element_name}{wrong}."
        )
    calibration = max(rows, key=lambda one: one.confidence - one.accuracy)
    if calibration.confidence - calibration.high > plain.confidence - plain.accuracy + 0.05:
        result.append(
            f"Moved by {calibration.element_name} it is overconfident: mean confidence "
            f"{calibration.confidence:.0%}, accuracy {calibration.accuracy:.0%}."
        )
    return result
