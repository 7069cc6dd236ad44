"""How one network does on given samples in given transformations, as numbers with intervals over samples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor, nn

from symscope.auditing._error_table import interval, resample_weights
from symscope.auditing._mask_data import AuditData, MaskData, masks_right
from symscope.auditing._subject import Subject
from symscope.data import LabelledData, MeasuredData

MOST_HELD = 2**29  # bytes of moved samples


@final
@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, from resamples of the samples.

    >>> Estimate(0.5, 0.25, 0.75).text(".0%")
    '50% (25% to 75%)'
    """

    value: float
    low: float
    high: float

    def text(self, form: str) -> str:
        """In words, numbers in a format."""
        return f"{self.value:{form}} ({self.low:{form}} to {self.high:{form}})"

    def to_dict(self) -> dict[str, float]:
        """As JSON takes it."""
        return {"value": self.value, "low": self.low, "high": self.high}


@final
@dataclass(frozen=True, eq=False)
class Measurement:
    """What was measured of one network, a row for each sample and a column for each element.

    Attributes:
        changes: `|rho(g)^-1 f(g x) - f(x)|^2`.
        answers: Whether the class of the transformed sample is right, or the share of positions where it is;
            for numbers, the squared error.
        upright: The same of the sample itself.
        spread: `|f(x) - mean_x f(x)|^2`.
        tried: Elements that each sample was moved by; what is elsewhere was not measured.
        classes: Whether answers are right or wrong (high is good) or squared errors (low is good).
    """

    changes: Float64[Tensor, "m k"]
    answers: Float64[Tensor, "m k"]
    upright: Float64[Tensor, "m"]
    spread: Float64[Tensor, "m"]
    tried: Bool[Tensor, "m k"]
    classes: bool

    def everywhere(self) -> Float64[Tensor, "m"]:
        """Mean answer of each sample over all transformations, the identity among them."""
        count = self.answers.shape[1]
        return (self.upright + count * self._mean(self.answers)) / (1 + count)

    def error(self, seed: int = 0) -> Estimate:
        """The equivariance error: root mean square of the change, divided by that of the spread."""
        changes = self._mean(self.changes)
        weights = resample_weights(len(changes), seed)
        tiny = torch.finfo(torch.float64).tiny
        ratios = ((weights @ changes) / (weights @ self.spread).clamp_min(tiny)).sqrt()
        value = math.sqrt(float(changes.sum()) / max(float(self.spread.sum()), tiny))
        return _between(value, ratios)

    def score(self, *, everywhere: bool, seed: int = 0) -> Estimate:
        """Accuracy, or the root mean square error in units of the targets."""
        values = self.everywhere() if everywhere else self.upright
        means = resample_weights(len(values), seed) @ values
        if not self.classes:
            return _between(math.sqrt(float(values.mean())), means.sqrt())
        estimate = _between(float(values.mean()), means)
        bare = 3 / len(values) if float(values.std(correction=0)) == 0 else 0.0  # rule of three
        return Estimate(estimate.value, max(0.0, estimate.low - bare), min(1.0, estimate.high + bare))

    def gain(self, before: Measurement, *, everywhere: bool, seed: int = 0) -> Estimate:
        """What the score of this network is above (for errors: below) that of another, sample by sample."""
        mine, theirs = (one.everywhere() if everywhere else one.upright for one in (self, before))
        weights = resample_weights(len(mine), seed)
        if self.classes:
            return _between(float((mine - theirs).mean()), weights @ (mine - theirs))
        value = math.sqrt(float(theirs.mean())) - math.sqrt(float(mine.mean()))
        return _between(value, (weights @ theirs).sqrt() - (weights @ mine).sqrt())

    def _mean(self, values: Float64[Tensor, "m k"]) -> Float64[Tensor, "m"]:
        """Mean over the elements that each sample was moved by."""
        return values.where(self.tried, 0.0).sum(1) / self.tried.sum(1)


def tried_elements(samples: int, elements: int, each: int) -> Bool[Tensor, "samples elements"]:
    """Which elements each sample is moved by: so many, in turn, so that all occur equally often.

    >>> tried_elements(3, 4, 2).int().tolist()
    [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    """
    turns = torch.arange(samples)[:, None] + torch.arange(each) * elements // each
    return torch.zeros(samples, elements, dtype=torch.bool).scatter_(1, turns % elements, True)


def measurement(
    subject: Subject,
    samples: AuditData,
    elements: tuple[int, ...],
    tried: Bool[Tensor, "m k"],
    module: nn.Module | None = None,
    moved: Mapping[int, Tensor] | None = None,
) -> Measurement:
    """A network's changes under elements, and its answers in all transformations and without any.

    Args:
        subject: How to call networks, and how the group acts.
        samples: Samples to measure on.
        elements: Elements to move samples by, other than the identity.
        tried: Which of them each sample is moved by.
        module: The network; the audited one when not given.
        moved: From `moved_samples`, where several networks are measured on the same samples.
    """
    known = moved or {}
    plain = subject.outputs(known.get(subject.action.group.identity, samples.x), module)
    changes = torch.zeros(len(plain), len(elements), dtype=torch.float64)
    answers = torch.zeros_like(changes)
    for column, g in enumerate(elements):
        rows = tried[:, column].nonzero()[:, 0]
        if len(rows):
            part = samples.take(rows)
            there = known[g] if g in known else subject.moved(g, part.x)
            back = subject.moved_back(g, subject.outputs(there, module))
            changes[rows, column] = (back - plain[rows]).flatten(1).square().sum(1)
            answers[rows, column] = answer_scores(subject, part, back)
    spread = (plain - plain.mean(0)).flatten(1).square().sum(1)
    upright = answer_scores(subject, samples, plain)
    return Measurement(changes, answers, upright, spread, tried, not isinstance(samples, MeasuredData))


def moved_samples(
    subject: Subject, samples: AuditData, elements: tuple[int, ...], tried: Bool[Tensor, "m k"]
) -> dict[int, Tensor]:
    """The samples that `measurement` asks a network about, by element, the identity among them.

    On the device of the network; empty where they are too many to hold.
    """
    whole = (len(tried) + int(tried.sum())) * samples.x[0].numel() * samples.x.element_size()
    if whole > MOST_HELD:
        return {}
    result = {subject.action.group.identity: samples.x.to(subject.device)}
    for column, g in enumerate(elements):
        rows = tried[:, column].nonzero()[:, 0]
        if len(rows):
            result[g] = subject.moved(g, samples.x[rows]).to(subject.device)
    return result


def answer_scores(
    subject: Subject, samples: AuditData, outputs: Float64[Tensor, "m *t"]
) -> Float64[Tensor, "m"]:
    """1 where the class is right, or the squared error, mean over targets; NaN where no target is known."""
    if isinstance(samples, LabelledData) and outputs.ndim == 2 and subject.target is None:
        return (subject.decisions(outputs) == samples.labels).double()
    if isinstance(samples, MeasuredData) and outputs[0].numel() == samples.targets.shape[1]:
        return (outputs.flatten(1) - samples.targets.double()).square().mean(1)
    if isinstance(samples, MaskData) and samples.masks is not None:
        return masks_right(outputs, samples.masks)
    return torch.full((len(outputs),), float("nan"), dtype=torch.float64)


def _between(value: float, resampled: Float64[Tensor, "r"]) -> Estimate:
    low, high = interval(resampled)
    return Estimate(value, min(low, value), max(high, value))
