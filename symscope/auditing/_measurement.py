"""How one network does on given samples in given transformations, as numbers with intervals over samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor, nn

from symscope.auditing._error_table import interval, resample_weights
from symscope.auditing._subject import Subject
from symscope.data import LabelledData, MeasuredData


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
    """What was measured of one network, one row of numbers for each sample.

    Attributes:
        changes: `mean_g |rho(g)^-1 f(g x) - f(x)|^2` over elements other than the identity.
        spread: `|f(x) - mean_x f(x)|^2`.
        everywhere: Share of all transformations with the right class; for numbers, the mean squared error.
        upright: Right or wrong without transformation; for numbers, the squared error.
        classes: Whether the last two count right answers (high is good) or squared errors (low is good).
    """

    changes: Float64[Tensor, "m"]
    spread: Float64[Tensor, "m"]
    everywhere: Float64[Tensor, "m"]
    upright: Float64[Tensor, "m"]
    classes: bool

    def error(self, seed: int = 0) -> Estimate:
        """The equivariance error: root mean square of the change, divided by that of the spread."""
        count = resample_weights(len(self.changes), seed)
        tiny = torch.finfo(torch.float64).tiny
        ratios = ((count @ self.changes) / (count @ self.spread).clamp_min(tiny)).sqrt()
        value = math.sqrt(float(self.changes.sum()) / max(float(self.spread.sum()), tiny))
        return _between(value, ratios)

    def score(self, *, everywhere: bool, seed: int = 0) -> Estimate:
        """Accuracy, or the root mean square error in units of the targets."""
        values = self.everywhere if everywhere else self.upright
        means = resample_weights(len(values), seed) @ values
        if not self.classes:
            return _between(math.sqrt(float(values.mean())), means.sqrt())
        value = float(values.mean())
        bare = 3 / len(values) if float(values.std(correction=0)) == 0 else 0.0  # rule of three
        estimate = _between(value, means)
        return Estimate(value, max(0.0, estimate.low - bare), min(1.0, estimate.high + bare))

    def gain(self, before: Measurement, *, everywhere: bool, seed: int = 0) -> Estimate:
        """What the score of this network is above (for errors: below) that of another, sample by sample."""
        mine = self.everywhere if everywhere else self.upright
        theirs = before.everywhere if everywhere else before.upright
        count = resample_weights(len(mine), seed)
        if self.classes:
            return _between(float((mine - theirs).mean()), count @ (mine - theirs))
        value = math.sqrt(float(theirs.mean())) - math.sqrt(float(mine.mean()))
        return _between(value, (count @ theirs).sqrt() - (count @ mine).sqrt())


def measurement(
    subject: Subject,
    samples: LabelledData | MeasuredData,
    elements: tuple[int, ...],
    module: nn.Module | None = None,
) -> Measurement:
    """A network's changes under elements, and its answers in all transformations and without any.

    Args:
        subject: How to call networks, and how the group acts.
        samples: Samples to measure on.
        elements: Elements to move samples by, other than the identity.
        module: The network; the audited one when not given.
    """
    plain = subject.outputs(samples.x, module)
    upright = _answers(subject, samples, plain)
    changes, everywhere = torch.zeros(len(plain), dtype=torch.float64), upright.clone()
    for g in elements:
        back = subject.moved_back(g, subject.outputs(subject.moved(g, samples.x), module))
        changes += (back - plain).flatten(1).square().sum(1) / len(elements)
        everywhere += _answers(subject, samples, back)
    spread = (plain - plain.mean(0)).flatten(1).square().sum(1)
    classes = isinstance(samples, LabelledData)
    return Measurement(changes, spread, everywhere / (1 + len(elements)), upright, classes)


def _answers(
    subject: Subject, samples: LabelledData | MeasuredData, outputs: Float64[Tensor, "m *t"]
) -> Float64[Tensor, "m"]:
    """1 where the class is right, or the squared error, mean over targets; NaN where no target is known."""
    if isinstance(samples, LabelledData) and outputs.ndim == 2 and subject.target is None:
        return (subject.decisions(outputs) == samples.labels).double()
    if isinstance(samples, MeasuredData) and outputs[0].numel() == samples.targets.shape[1]:
        return (outputs.flatten(1) - samples.targets.double()).square().mean(1)
    return torch.full((len(outputs),), float("nan"), dtype=torch.float64)


def _between(value: float, resampled: Float64[Tensor, "r"]) -> Estimate:
    low, high = interval(resampled)
    return Estimate(value, min(low, value), max(high, value))
