"""What a missing symmetry does to a network's answers, by transformation and class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.auditing._class_answers import (
    ClassAnswers,
    ElementAnswers,
    FlippedSample,
    class_answers,
    class_findings,
    element_answers,
    flipped_samples,
    harmful,
    probabilities,
)
from symscope.auditing._mask_answers import mask_answers
from symscope.auditing._mask_data import AuditData, MaskData, mask_scores
from symscope.auditing._number_predictions import (
    ElementPredictions,
    element_predictions,
    harmful_elements,
    number_findings,
)
from symscope.auditing._subject import Subject
from symscope.data import MeasuredData
from symscope.numerics import Progress, seeded

MOST_SAMPLES = 1000  # samples a network is asked about, each under every element
MOST_ELEMENTS = 36  # elements; larger groups are thinned out


@final
@dataclass(frozen=True, eq=False)
class Consequences:
    """What transformations do to a network's answers; made by `consequences`.

    Attributes:
        samples: Samples the network was asked about.
        elements: Answers under each element, the identity first; empty for numbers to predict.
        classes: Answers for each class under each element; empty for numbers to predict.
        predictions: Errors under each element, for each number to predict; empty for classes.
        worst_elements: Elements that surely lower the accuracy, or raise the error; the worst first.
        flipped: Samples whose answer changes, the most confident answers first, several elements among them.
        sentences: The main findings in words.
        notes: What was left out, in words.
    """

    samples: int
    elements: tuple[ElementAnswers, ...]
    classes: tuple[ClassAnswers, ...]
    predictions: tuple[ElementPredictions, ...]
    worst_elements: tuple[int, ...]
    flipped: tuple[FlippedSample, ...]
    sentences: tuple[str, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        what = f"{len(self.elements) or len({one.element for one in self.predictions})} elements"
        return f"Consequences({what}, {self.samples} samples, {len(self.worst_elements)} elements hurt)"


def consequences(
    subject: Subject,
    *,
    known: Mapping[int, Tensor] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Consequences | None:
    """Accuracy, calibration and decisions of a network by transformation and class; errors of numbers.

    Args:
        subject: Network, data and actions.
        known: Outputs for all samples by element, moved back, the identity first, where they were computed
            before: then there are no others.
        seed: Seed for drawing samples and bootstrap resamples.
        progress: Called as `progress("asking the network", elements done, elements)`.

    Returns:
        None where outputs are neither scores of the classes nor the numbers to predict, and without labels.

    >>> from symscope.auditing import audit_subject
    >>> from symscope.data import mnist_sample
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
    >>> consequences(audit_subject(net, mnist_sample().per_class(5, 0), "C4 rotation")).samples
    50
    """
    group, data = subject.action.group, subject.data
    if isinstance(data, MaskData) and data.masks is None:
        return None
    others = [g for g in group.elements if g != group.identity]
    kept = (group.identity, *others[:: -(-len(others) // (MOST_ELEMENTS - 1)) if others else 1])
    kept = tuple(known) if known else kept
    chosen = torch.randperm(len(data), generator=seeded(seed, 43))[:MOST_SAMPLES].sort().values
    notes = []
    if len(chosen) < len(data):
        notes.append(f"The network was asked about {len(chosen):,} of {len(data):,} samples.")
    if len(kept) < group.order:
        notes.append(f"The network was asked under {len(kept)} of {group.order} elements, evenly spread.")
    drawn = data.take(chosen)
    if not _fit(subject.moved_back(group.identity, subject.outputs(drawn.x[:1])), drawn):
        return None

    def outputs() -> Iterator[Tensor]:
        for k, g in enumerate(kept):
            if progress is not None:
                progress("asking the network", k, len(kept))
            if known:
                yield known[g][chosen]
            else:
                yield subject.moved_back(g, subject.outputs(subject.moved(g, drawn.x)))

    if isinstance(drawn, MaskData):
        assert drawn.masks is not None
        rows, by_class = mask_answers(subject, kept, outputs(), drawn.masks, seed)
        worst, found = (
            tuple(one.element for one in harmful(rows)),
            class_findings(rows, by_class, "positions"),
        )
        return Consequences(len(chosen), rows, by_class, (), worst, (), tuple(found), tuple(notes))
    stacked = torch.stack(list(outputs()))
    if isinstance(drawn, MeasuredData):
        predictions = element_predictions(subject, kept, stacked.flatten(2), drawn, seed)
        worst, found = harmful_elements(predictions), number_findings(predictions)
        return Consequences(len(chosen), (), (), predictions, worst, (), tuple(found), tuple(notes))
    chances = probabilities(stacked.flatten(0, 1)).unflatten(0, stacked.shape[:2])
    rows = element_answers(subject, kept, chances, drawn, seed)
    by_class = class_answers(subject, kept, chances, drawn)
    worst, found = tuple(one.element for one in harmful(rows)), class_findings(rows, by_class)
    flipped = flipped_samples(subject, kept, chances, drawn, chosen)
    return Consequences(len(chosen), rows, by_class, (), worst, flipped, tuple(found), tuple(notes))


def _fit(outputs: Float64[Tensor, "m *t"], data: AuditData) -> bool:
    """Whether outputs for one sample are the numbers to predict, or scores with a place for each class."""
    if isinstance(data, MeasuredData):
        return outputs[0].numel() == data.targets.shape[1]
    if isinstance(data, MaskData):
        masks = data.masks
        return masks is not None and mask_scores(outputs, masks[:1], int(masks.max()) + 1) is not None
    width = outputs.shape[1] if outputs.ndim == 2 else 0
    return min(data.classes) >= 0 and max(data.classes) < (2 if width == 1 else width)
