"""The equivariance error, sample by sample and element by element, with intervals over samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Float64, Shaped
from torch import Tensor, nn

from symscope.auditing._subject import Subject, weight_types
from symscope.errors import InputError
from symscope.numerics import seeded

RESAMPLES = 400  # bootstrap resamples of the samples
CONFIDENCE = 0.95
CLEAN, ROUNDINGS = 1e-4, 4.0  # errors below which a network counts as equivariant: this, or so many roundings
MOST_KEPT = 2**22  # outputs of a table that are kept, 32 MiB: what they do to answers needs no other pass
CONSTANT = 1e-7  # of the outputs' size: what varies between samples below it is rounding (in float32)


@final
@dataclass(frozen=True, eq=False)
class ErrorTable:
    """Squared distances `|rho(g)^-1 f(g x) - f(x)|^2`, and what varies between samples.

    Attributes:
        elements: The elements g, one for each column.
        squares: Squared distance for each sample and element.
        spread: `|f(x) - mean_x f(x)|^2` of each sample.
        outputs: Outputs by element, moved back, the identity among them; empty where they are too many.
    """

    elements: tuple[int, ...]
    squares: Float64[Tensor, "m k"]
    spread: Float64[Tensor, "m"]
    outputs: Mapping[int, Float64[Tensor, "m *t"]] = field(default_factory=dict)

    def error(self, elements: Sequence[int] | None = None) -> float:
        """Root mean square over samples and elements, over that of what varies; NaN without elements."""
        return math.sqrt(value) if (value := float(self.square(elements))) == value else math.nan

    def square(
        self, elements: Sequence[int] | None = None, weights: Float64[Tensor, "r m"] | None = None
    ) -> Float64[Tensor, "*r"]:
        """The squared error, of all samples or of weighted ones."""
        columns = self.squares if elements is None else self.squares[:, self._places(elements)]
        each = columns.mean(1)
        if weights is None:
            return each.mean() / self.spread.mean()
        return (weights @ each) / (weights @ self.spread)

    def element_errors(self) -> dict[int, float]:
        """The error of each element."""
        return {g: self.error([g]) for g in self.elements}

    def _places(self, elements: Sequence[int]) -> list[int]:
        return [self.elements.index(g) for g in elements]


def error_table(
    subject: Subject,
    x: Shaped[Tensor, "m *s"],
    elements: Sequence[int],
    *,
    module: nn.Module | None = None,
    moved: Callable[[int, Tensor], Tensor] | None = None,
    step: Callable[[], object] | None = None,
) -> ErrorTable:
    """The equivariance error of a network on samples.

    Args:
        subject: Network and actions.
        x: Samples.
        elements: Elements that move them.
        module: Another network than the audited one.
        moved: What is done to samples instead of the action, `(g, x) -> x'`; then outputs are not moved back.
        step: Called after each element.

    Raises:
        InputError: Outputs that are the same for all samples.
    """
    plain = subject.outputs(x, module)
    away = (plain - plain.mean(0)).flatten(1).square().sum(1)
    if float(away.mean().sqrt()) <= CONSTANT * float(plain.flatten(1).norm(dim=1).mean()):
        raise InputError(
            f"model {subject.name}: its outputs are the same for all {len(x)} samples, so that an error has "
            "nothing to be compared with; train it, or give samples that differ."
        )
    few = moved is None and plain.numel() * (len(elements) + 1) <= MOST_KEPT
    outputs = {subject.action.group.identity: plain} if few else {}
    columns = []
    for g in elements:
        if moved is None:
            out = subject.moved_back(g, subject.outputs(subject.moved(g, x), module))
            if few:
                outputs[g] = out
        else:
            out = subject.outputs(moved(g, x), module)
        columns.append((out - plain).flatten(1).square().sum(1))
        if step is not None:
            step()
    squares = torch.stack(columns, 1) if columns else torch.zeros(len(x), 0, dtype=torch.float64)
    return ErrorTable(tuple(elements), squares, away, outputs)


def clean_error(subject: Subject) -> float:
    """The error below which a network counts as equivariant: above rounding in its own dtype.

    >>> from symscope.auditing import audit_subject
    >>> data = (torch.rand(6, 4, 4), [0, 1] * 3)
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(16, 2))
    >>> clean_error(audit_subject(net, data, "C4")), clean_error(audit_subject(net.bfloat16(), data, "C4"))
    (0.0001, 0.03125)
    """
    coarsest = max(torch.finfo(one).eps for one in weight_types(subject.module))
    return max(CLEAN, ROUNDINGS * coarsest)


def resample_weights(count: int, seed: int) -> Float64[Tensor, "r m"]:
    """How often each sample occurs in each bootstrap resample, as shares."""
    drawn = torch.randint(count, (RESAMPLES, count), generator=seeded(seed, 22))
    weights = torch.zeros(RESAMPLES, count, dtype=torch.float64)
    return weights.scatter_add_(1, drawn, torch.ones_like(drawn, dtype=torch.float64)) / count


def interval(values: Float64[Tensor, "r"]) -> tuple[float, float]:
    """The middle 95 % of resampled values."""
    edge = (1 - CONFIDENCE) / 2
    low, high = torch.quantile(values, torch.tensor([edge, 1 - edge], dtype=values.dtype)).tolist()
    return low, high
