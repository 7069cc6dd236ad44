"""Does the data look the same under each element? Two-sample tests of all samples, and of each class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from symscope.auditing._two_sample import FEWEST, TwoSampleTest, holm, two_sample_test, typical_square
from symscope.groups import FiniteGroup
from symscope.numerics import Progress

MOST_COMPARED = 1000  # samples of all classes in one test
MOST_OF_CLASS = 200  # samples of one class in one test
SAME = 0.6  # accuracy that the whole interval must stay below for "same"
SIGNIFICANCE = 0.05  # corrected p-value for "different"
PERMUTATIONS = 40  # permutations for each test of a family, so that corrected p-values reach 1/40
MOST_PERMUTATIONS = 10000  # permutations of one test


@final
@dataclass(frozen=True)
class ElementTest:
    """Samples moved by an element against other samples of the data as they are.

    Attributes:
        element: Element that moves samples; its inverse, which moves the other side instead, shares the test.
        element_name: Name of the element, degrees for rotations.
        class_name: Name of the class whose samples are compared; None for all together.
        accuracy: Share of held-out samples that a classifier assigns to the right side; 0.5 by chance.
        low: Lower end of its 95 % interval.
        high: Upper end of its 95 % interval.
        p_value: By permutations, corrected for all elements, or for all elements and classes (Holm).
        samples: Samples of both sides together.
        displacement: Median distance of a sample from itself moved, in typical distances between samples.
        verdict: "same" where the whole interval is below 0.6, "different" where the p-value is at most 0.05
            and the interval is above what interpolation alone shows, else "unknown": the samples are too few
            to tell.
    """

    element: int
    element_name: str
    class_name: str | None
    accuracy: float
    low: float
    high: float
    p_value: float
    samples: int
    displacement: float
    verdict: str


def element_tests(
    moved: Mapping[int, Float64[Tensor, "m d"]],
    before: Float64[Tensor, "m d"],
    unmoved: Float64[Tensor, "k d"],
    classes: Mapping[str, tuple[Int64[Tensor, "a"], Int64[Tensor, "b"]]],
    names: Sequence[str],
    interpolation: float,
    seed: int,
    progress: Progress | None = None,
) -> tuple[tuple[ElementTest, ...], tuple[ElementTest, ...]]:
    """Tests of all samples by element, and of each class by element; each family is corrected by itself.

    Args:
        moved: Features of one half of the samples, moved by each element that is tried.
        before: Features of the same half, as they are.
        unmoved: Features of the other half, as they are.
        classes: For each class by name, its places in the moved half and in the other one.
        names: Names of the elements.
        interpolation: Accuracy that interpolation alone gives; below it nothing is different.
        seed: Seed for folds and permutations.
        progress: Called as `progress("comparing", tests done, tests)`.
    """
    everyone = (torch.arange(len(before)), torch.arange(len(unmoved)))
    usable = {name: at for name, at in classes.items() if min(map(len, at)) >= FEWEST}
    families = (({None: everyone}, MOST_COMPARED // 2), (usable, MOST_OF_CLASS // 2))
    total = len(moved) * (1 + len(usable))
    found, done = [], 0
    for family, most in families:
        permutations = min(MOST_PERMUTATIONS, PERMUTATIONS * len(moved) * len(family))
        tests = []
        for name, (first, second) in family.items():
            own, other = before[first[:most]], unmoved[second[:most]]
            typical = math.sqrt(typical_square(torch.cdist(own, own).square()))
            for g, features in moved.items():
                there = features[first[:most]]
                apart = float((there - own).norm(dim=1).median()) / typical
                tests.append((g, name, two_sample_test(there, other, seed, permutations), apart))
                done += 1
                if progress is not None:
                    progress("comparing", done, total)
        found.append(_judged(tests, names, interpolation))
    return found[0], found[1]


def with_inverses(
    tests: Sequence[ElementTest], names: Sequence[str], group: FiniteGroup
) -> tuple[ElementTest, ...]:
    """The tests of elements, and the same for their inverses, by element."""
    result = [
        replace(one, element=g, element_name=names[g])
        for one in tests
        for g in {one.element, group.inverse(one.element)}
    ]
    return tuple(sorted(result, key=lambda one: one.element))


def _judged(
    tests: Sequence[tuple[int, str | None, TwoSampleTest, float]], names: Sequence[str], interpolation: float
) -> tuple[ElementTest, ...]:
    corrected = holm([test.p_value for _, _, test, _ in tests])
    result = []
    for (g, name, test, apart), p in zip(tests, corrected, strict=True):
        verdict = "unknown"
        if test.high <= SAME:
            verdict = "same"
        elif p <= SIGNIFICANCE and test.low > interpolation:
            verdict = "different"
        ends = (test.accuracy, test.low, test.high)
        result.append(ElementTest(g, names[g], name, *ends, p, test.samples, apart, verdict))
    return tuple(result)
