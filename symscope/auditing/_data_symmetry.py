"""Has the data the symmetry, and should a network have it? From samples and labels alone.

Two questions decide: whether samples moved by an element look like samples of the data (a two-sample test),
and whether a class moved by it still looks like itself rather than like another class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor
from torch.nn import functional

from symscope.auditing._comparable import comparable_features, kept_pixels, small_pictures
from symscope.auditing._input_invariance import MOST_COMPARED, ElementTest, element_tests, with_inverses
from symscope.auditing._label_survival import LabelTest, label_tests, one_of_each_pair
from symscope.auditing._mask_data import AuditData, MaskData, audit_samples, one_hot_masks
from symscope.auditing._mask_survival import mask_tests
from symscope.auditing._symmetry_advice import (
    MOST_PAIRS,
    advice_sentence,
    class_sentences,
    elements_to_want,
    input_sentences,
    looks_alike,
    target_sentences,
)
from symscope.auditing._target_survival import TargetTest, target_tests
from symscope.auditing._two_sample import FEWEST, two_sample_test
from symscope.data import Action, LabelledData, MeasuredData, parse_named_action
from symscope.errors import InputError
from symscope.numerics import Progress, checked, seeded

MOST_DRAWN = 2000  # samples that are moved
MOST_ELEMENTS = 12  # elements that are tried, each with its inverse; larger groups are thinned out
MOST_CLASSES = 20  # classes that are tested by themselves
MOST_CONTROLS = 2  # elements whose interpolation is tested
EXACT = 1e-6  # relative distance after moving there and back below which nothing was interpolated
TRIED = 4  # samples on which this is measured
FEW = 50  # samples of a class below which only classes that become another one entirely are seen


@final
@dataclass(frozen=True, eq=False)
class DataSymmetry:
    """Whether data has a symmetry and whether a network should have it; made by `data_symmetry`.

    Attributes:
        name: Name of the data.
        group: Name of the group and of its action.
        samples: Samples that were compared.
        elements: A test for each element tried, other than the identity, of all samples.
        classes: A test for each element tried and each class; empty for numbers to predict.
        interpolation: Accuracy with which samples moved there and back are told from others: what
            interpolation alone shows; None where no element interpolates.
        aligned: Whether some element makes samples look different from the data.
        seen_elements: Elements under which the data looks the same, with the identity.
        labels: Pairs of classes that become each other, the most mixed first.
        targets: Whether numbers to predict stay the same, or masks move with samples, for each element tried;
            empty for classes.
        recommendation: "want", "part" or "not".
        wanted_elements: Elements to want, with the identity.
        evidence: The reasons, in sentences.
        notes: What was left out, in sentences.
    """

    name: str
    group: str
    samples: int
    elements: tuple[ElementTest, ...]
    classes: tuple[ElementTest, ...]
    interpolation: float | None
    aligned: bool
    seen_elements: tuple[int, ...]
    labels: tuple[LabelTest, ...]
    targets: tuple[TargetTest, ...]
    recommendation: str
    wanted_elements: tuple[int, ...]
    evidence: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = Counter(one.verdict for one in self.elements)
        found = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        pairs = len({frozenset((one.first, one.second)) for one in self.labels})
        mixed = f", {pairs} pair{'s' * (pairs > 1)} of classes mixed up" if pairs else ""
        return f"DataSymmetry({self.name}, {self.group}: {self.recommendation}; {found}{mixed})"


@checked
def data_symmetry(
    data: Any,
    action: Action | str,
    *,
    target: Action | None = None,
    met_elements: Sequence[int] = (),
    most_samples: int = MOST_DRAWN,
    class_names: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> DataSymmetry:
    """Whether samples and labels of data survive an action, and which of its elements a network should have.

    Samples are divided in two halves: one is moved, the other is not, and a classifier is to tell them apart
    (`two_sample_test`). What it sees of pictures hardly shows blur, cut corners and a shift by a pixel
    (`comparable_features`); what interpolation shows nevertheless is measured on samples moved there and
    back. Labels are tested by `label_tests`.

    Args:
        data: What `data.as_samples` takes, for example `(X, y)`: samples with classes, numbers or masks, or
            X alone.
        action: Group action on the samples, or a few words such as "C8 rotation".
        target: Group action on the numbers to predict; None where they should stay the same. On masks, None
            where they move as samples do.
        met_elements: Elements under which the network will meet samples, whatever the data shows.
        most_samples: Samples that are moved and compared, at most.
        class_names: Names of classes 0, 1, ...
        seed: Seed for drawing samples, halves and permutations.
        progress: Called as `progress(words, steps done, steps)`.

    Raises:
        InputError: Too few samples, a group of one element, or samples that the action cannot move.

    >>> from symscope.data import mnist_sample, rotation
    >>> found = data_symmetry(mnist_sample().of_classes(6, 9), rotation(2))
    >>> found.recommendation, [(one.first, one.second) for one in found.labels]
    ('not', [(9, 6)])
    """
    if not isinstance(data, (LabelledData, MeasuredData, MaskData)):
        data, words = audit_samples(data, "auto")
        class_names = words if class_names is None else class_names
    if isinstance(action, str):
        action = parse_named_action(action, tuple(data.x.shape[1:]))[1]
    group = action.group
    if group.order == 1:
        raise InputError("expected a group with an element other than the identity, got one of order 1.")
    if len(data) < 4 * FEWEST:
        raise InputError(f"{data.name}: expected at least {4 * FEWEST} samples to compare, got {len(data)}.")
    met = _checked_elements(met_elements, action)
    say = progress or (lambda *_: None)
    drawn = data.to("cpu").take(torch.randperm(len(data), generator=seeded(seed, 41))[:most_samples])
    others = [g for g in group.elements if g != group.identity and g <= group.inverse(g)]
    others = others[:: -(-len(others) // MOST_ELEMENTS)]  # the inverse of each is tested with it
    x = small_pictures(action, drawn.x)
    inside = kept_pixels(action, tuple(x.shape[1:]))
    features = _moved_features(x, action, (group.identity, *others), inside, say)
    half = len(drawn) // 2  # the order is random: the first half is moved, the other is not
    moved, unmoved = dict(zip(others, features[1:, :half], strict=True)), features[0, half:]
    interpolation = _interpolation(x[:half], unmoved, action, others, inside, seed)
    elements = [action.element_name(g) for g in group.elements]
    places = _class_places(drawn, class_names, half) if isinstance(drawn, LabelledData) else {}
    tests, by_class = (
        with_inverses(found, elements, group)
        for found in element_tests(
            moved, features[0, :half], unmoved, places, elements, interpolation or 0.0, seed, say
        )
    )
    labels: tuple[LabelTest, ...] = ()
    targets: tuple[TargetTest, ...] = ()
    if isinstance(drawn, LabelledData):
        say("comparing classes", 0, 1)
        labels = _label_tests(drawn, features, (group.identity, *others), action, seed)
        called = _names(drawn, class_names)
        found = [one.sentence(called, elements) for one in one_of_each_pair(labels)[:MOST_PAIRS]]
        found = found or [_no_pair(drawn)]
    elif isinstance(drawn, MaskData):
        say("comparing masks", 0, 1)
        targets, found = _mask_tests(drawn, x, action, target, others, inside, tests, seed)
    else:
        say("comparing numbers", 0, 1)
        targets = _target_tests(drawn.targets, moved, features[0], tests, target)
        found = target_sentences(targets, elements)
    wanted = elements_to_want(group, tests, labels, targets, met)
    sentences = [*input_sentences(tests, interpolation), *class_sentences(by_class, tests), *found]
    return DataSymmetry(
        name=data.name,
        group=f"{group.name} {action.name}",
        samples=len(drawn),
        elements=tests,
        classes=by_class,
        interpolation=interpolation,
        aligned=any(one.verdict == "different" for one in tests),
        seen_elements=(group.identity, *(one.element for one in tests if one.verdict == "same")),
        labels=labels,
        targets=targets,
        recommendation="want" if len(wanted) == group.order else "not" if len(wanted) == 1 else "part",
        wanted_elements=wanted,
        evidence=(*sentences, advice_sentence(group, wanted, elements, met)),
        notes=_notes(data, drawn, len(tests), action, len({one.class_name for one in by_class})),
    )


def _checked_elements(met: Sequence[int], action: Action) -> tuple[int, ...]:
    order = action.group.order
    if any(not 0 <= g < order for g in met):
        raise InputError(f"met_elements: expected elements 0 .. {order - 1}, got {tuple(met)}.")
    return tuple(met)


def _moved_features(
    x: Tensor, action: Action, elements: Sequence[int], inside: Bool[Tensor, "h w"] | None, say: Progress
) -> Float64[Tensor, "n m d"]:
    result = []
    for k, g in enumerate(elements):
        say("moving samples", k, len(elements))
        result.append(comparable_features(action.act(g, x), inside))
    return torch.stack(result)


def _interpolation(
    x: Tensor,
    unmoved: Float64[Tensor, "k d"],
    action: Action,
    elements: Sequence[int],
    inside: Bool[Tensor, "h w"] | None,
    seed: int,
) -> float | None:
    """The highest accuracy with which samples moved there and back are told from others as they are."""

    def returned(g: int, some: Tensor) -> Tensor:
        return action.act(action.group.inverse(g), action.act(g, some))

    few = x[:TRIED]
    rough = [g for g in elements if float((returned(g, few) - few).norm()) > EXACT * float(few.norm())]
    if not rough:
        return None
    rough = rough[:: -(-len(rough) // MOST_CONTROLS)]
    most = MOST_COMPARED // 2
    controls = [comparable_features(returned(g, x[:most]), inside) for g in rough]
    return max(two_sample_test(control, unmoved[:most], seed).accuracy for control in controls)


def _names(data: LabelledData, class_names: Sequence[str] | None) -> dict[int, str]:
    """The name of each class that occurs."""
    if class_names is None:
        return {label: str(label) for label in data.classes}
    if len(class_names) <= max(data.classes):
        raise InputError(
            f"class_names: expected one for each class, 0 .. {max(data.classes)}, got {len(class_names)}."
        )
    return {label: str(class_names[label]) for label in data.classes}


def _class_places(
    data: LabelledData, class_names: Sequence[str] | None, half: int
) -> dict[str, tuple[Int64[Tensor, "a"], Int64[Tensor, "b"]]]:
    """Places of the largest classes in the moved half, and in the other one."""
    counts = sorted(data.classes, key=lambda label: -int((data.labels == label).sum()))[:MOST_CLASSES]
    names = _names(data, class_names)
    halves = data.labels[:half], data.labels[half:]
    return {
        names[label]: tuple((one == label).nonzero()[:, 0] for one in halves)  # type: ignore[misc]
        for label in sorted(counts)
    }


def _label_tests(
    data: LabelledData,
    features: Float64[Tensor, "n m d"],
    elements: Sequence[int],
    action: Action,
    seed: int,
) -> tuple[LabelTest, ...]:
    """Pairs of classes that become each other, by their numbers in the data."""
    positions = torch.searchsorted(torch.tensor(data.classes), data.labels)
    found = label_tests(features, positions, elements, action.group, seed)
    return tuple(
        replace(one, first=data.classes[one.first], second=data.classes[one.second]) for one in found
    )


def _target_tests(
    numbers: Tensor,
    moved: Mapping[int, Float64[Tensor, "h d"]],
    unmoved: Float64[Tensor, "m d"],
    tests: Sequence[ElementTest],
    target: Action | None,
) -> tuple[TargetTest, ...]:
    """Tests of numbers to predict, fitted to the half of the samples that is not moved."""
    half, numbers = len(next(iter(moved.values()))), numbers.double()
    asked = {
        g: (one, numbers[:half] if target is None else target.act(g, numbers[:half]))
        for g, one in moved.items()
    }
    comparable = [one.element for one in tests if looks_alike(one)]
    fitted = (unmoved[half:][:MOST_COMPARED], numbers[half:][:MOST_COMPARED])
    return target_tests(fitted, (unmoved[:half], numbers[:half]), asked, comparable)


def _mask_tests(
    data: MaskData,
    x: Tensor,
    action: Action,
    target: Action | None,
    elements: Sequence[int],
    inside: Bool[Tensor, "h w"] | None,
    tests: Sequence[ElementTest],
    seed: int,
) -> tuple[tuple[TargetTest, ...], list[str]]:
    """Tests of masks, and sentences; without them where there are no masks of pictures."""
    masks = data.masks
    if masks is None:
        return (), ["There are no labels: whether they survive was not asked."]
    if masks.ndim != 3 or action.sample_ndim != 2 or masks.unique().numel() < 2:
        return (), ["Labels are masks, but not of pictures with two classes or more: not asked."]
    if x.shape[-2:] != data.x.shape[-2:] and target is not None and target.name != action.name:
        x, inside = data.x, kept_pixels(action, tuple(data.x.shape[1:]))  # it may take no smaller masks
    elif x.shape[-2:] != data.x.shape[-2:] and masks.shape[-2:] == data.x.shape[-2:]:
        smaller = functional.adaptive_avg_pool2d(one_hot_masks(masks), (x.shape[-2], x.shape[-1]))
        masks = smaller.argmax(1)
    if masks.shape[-2] > x.shape[-2] or masks.shape[-1] > x.shape[-1]:
        return (), ["Labels are masks, finer than the samples: whether they survive was not asked."]
    comparable = [one.element for one in tests if looks_alike(one)]
    found = mask_tests(x, masks, action, target or action, elements, inside, comparable, seed)
    names = [action.element_name(g) for g in action.group.elements]
    return found, target_sentences(found, names, "masks")


def _no_pair(data: LabelledData) -> str:
    if len(data.classes) == 1:
        return "There is one class only: whether labels survive cannot be seen."
    smallest = int(data.labels.unique(return_counts=True)[1].min())
    if smallest < FEW:
        return (
            f"No two classes were seen to become each other, but the smallest has {smallest} samples: below "
            f"{FEW} only a whole mix-up is seen."
        )
    return "No two classes become each other: labels survive, as far as these samples show."


def _notes(
    data: AuditData,
    drawn: AuditData,
    elements: int,
    action: Action,
    classes: int,
) -> tuple[str, ...]:
    result = []
    if elements < action.group.order - 1:
        result.append(f"{elements} of {action.group.order - 1} elements were tried, evenly spread.")
    if len(drawn) < len(data):
        result.append(f"{len(drawn):,} of {len(data):,} samples were compared.")
    if isinstance(drawn, LabelledData) and classes < len(drawn.classes):
        result.append(
            f"{classes} of {len(drawn.classes)} classes were tested by themselves: at most {MOST_CLASSES}, "
            f"with {2 * FEWEST} samples or more."
        )
    return tuple(result)
