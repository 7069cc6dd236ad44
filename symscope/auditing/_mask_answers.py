"""A segmentation network's answers to moved samples: the share of positions whose class is right.

Positions of one sample are not independent: all intervals are by bootstrap over samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float64, Int64
from torch import Tensor
from torch.nn import functional

from symscope.auditing._class_answers import ClassAnswers, ElementAnswers, calibration_error
from symscope.auditing._error_table import interval, resample_weights
from symscope.auditing._mask_data import mask_scores
from symscope.auditing._subject import Subject


def mask_answers(
    subject: Subject,
    kept: Sequence[int],
    outputs: Iterable[Float64[Tensor, "m *t"]],
    masks: Int64[Tensor, "m *p"],
    seed: int,
) -> tuple[tuple[ElementAnswers, ...], tuple[ClassAnswers, ...]]:
    """Answers at all positions under each element, the first of which is the identity; and by class.

    Args:
        subject: Network, data and actions.
        kept: Elements that were tried.
        outputs: Outputs for each of them, moved back; one is held at a time.
        masks: The class at every position of every sample.
        seed: Seed for bootstrap resamples.
    """
    weights, count = resample_weights(len(masks), seed), masks[0].numel()
    rows: list[ElementAnswers] = []
    by_class: list[ClassAnswers] = []
    plain = right = torch.empty(0)
    for g, out in zip(kept, outputs, strict=True):
        scores = mask_scores(out, masks)
        assert scores is not None
        chances = scores.softmax(1)
        confidence, answers = chances.max(1)
        if not rows:
            plain, right = answers, (answers == masks).double().flatten(1).mean(1)
        hits = (answers == masks).double()
        own, changed = hits.flatten(1).mean(1), (answers != plain).double().flatten(1).mean(1)
        truth = functional.one_hot(masks, chances.shape[1]).movedim(-1, 1)
        rows.append(
            ElementAnswers(
                g,
                subject.element_name(g),
                float(own.mean()),
                *interval(weights @ own),
                float((own - right).mean()),
                *interval(weights @ (own - right)),
                float(changed.mean()),
                *interval(weights @ changed),
                float(confidence.mean()),
                float((chances - truth).square().sum(1).mean()),
                calibration_error(confidence.flatten(), hits.flatten()),
            )
        )
        by_class += _classes(subject, g, answers.reshape(-1, count), masks.reshape(-1, count), weights)
    return tuple(rows), tuple(sorted(by_class, key=lambda one: one.label))


def _classes(
    subject: Subject,
    g: int,
    answers: Int64[Tensor, "m p"],
    masks: Int64[Tensor, "m p"],
    weights: Float64[Tensor, "r m"],
) -> list[ClassAnswers]:
    """The share of each class's positions that is right, with the most common wrong answer."""
    given, result = subject.class_names or (), []
    for label in masks.unique().tolist():
        own = masks == label
        sizes, right = own.sum(1).double(), (own & (answers == label)).sum(1).double()
        wrong = answers[own & (answers != label)].bincount()
        other = int(wrong.argmax()) if len(wrong) else None
        result.append(
            ClassAnswers(
                label,
                given[label] if label < len(given) else str(label),
                g,
                subject.element_name(g),
                float(right.sum() / sizes.sum()),
                *interval((weights @ right) / (weights @ sizes).clamp_min(1e-12)),
                int((sizes > 0).sum()),
                None if other is None else given[other] if other < len(given) else str(other),
                float(wrong.max() / sizes.sum()) if len(wrong) else 0.0,
            )
        )
    return result
