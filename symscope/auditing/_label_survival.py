"""Do labels survive? Pairs of classes of which one, moved, is confused with the other.

What a classifier fitted to samples as they are predicts for moved ones is no evidence by itself: they are
out of its distribution, and it must predict something. It only names the pairs to look at; for these a
two-sample test measures how far samples of one class, moved, overlap with samples of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float64, Int64
from scipy.special import bdtrc
from torch import Tensor

from symscope.auditing._comparable import comparable_features, kept_pixels
from symscope.auditing._two_sample import (
    FEWEST,
    TwoSampleTest,
    gaussian_kernel,
    holm,
    two_sample_test,
    typical_square,
)
from symscope.data import Action, sample_kind, with_invariants
from symscope.groups import FiniteGroup

MOST_SAMPLES = 200  # of a class that are compared
MOST_FITTED = 1000  # samples of all classes the classifier is fitted to
MOST_TESTS = 20  # pairs and elements for which overlaps are measured
NAMED_SHARE = 0.1  # of moved samples that the classifier must assign to another class
TOLERATED = 0.04  # of samples confused beyond those confused without moving: an overlap of 8 %
RIDGE = 0.01  # of the classifier of all classes, added to a kernel whose diagonal is 1
SIGNIFICANCE = 0.05  # corrected p-value


@final
@dataclass(frozen=True)
class LabelTest:
    """Samples of one class, moved by an element, against samples of another class as they are.

    Attributes:
        first: Class that is moved, by its number.
        second: Class it is compared with, by its number.
        element: Element that moves it.
        accuracy: Share of held-out samples of the two that a classifier tells apart; 0.5 by chance.
        low: Lower end of its 95 % interval.
        high: Upper end of its 95 % interval.
        upright: The same share where nothing is moved.
        assigned: Share of the moved class that a classifier of all classes assigns to the other one.
        p_value: Chance to confuse so many of them if only 4 % more were confused than without moving,
            corrected for all pairs and elements.
        samples: Samples of both classes together.
    """

    first: int
    second: int
    element: int
    accuracy: float
    low: float
    high: float
    upright: float
    assigned: float
    p_value: float
    samples: int

    @property
    def classes(self) -> tuple[int, int]:
        """The class that is moved, and the one it is compared with."""
        return self.first, self.second

    @property
    def overlap(self) -> float:
        """Share of each class that lies where the other one does, as far as the classifier sees."""
        return min(1.0, 2 * (1 - self.accuracy))

    def sentence(self, class_names: Sequence[str] | Mapping[int, str], element_names: Sequence[str]) -> str:
        """What was found, in a sentence."""
        return (
            f"{class_names[self.first]} moved by {element_names[self.element]} is confused with "
            f"{class_names[self.second]}: a classifier tells them apart with an accuracy of "
            f"{self.accuracy:.0%} ({self.low:.0%} to {self.high:.0%}), against {self.upright:.0%} where "
            "nothing is moved."
        )


def mixed_labels(
    points: Float[Tensor, "m n *s"],
    positions: Int64[Tensor, "m"],
    elements: Sequence[int],
    action: Action,
    seed: int = 0,
) -> tuple[LabelTest, ...]:
    """The pairs of classes that become each other under an element: what augmenting would mix up.

    Args:
        points: `points[s, k]` is sample s moved by `elements[k]`; the first element is the identity.
        positions: Class of each sample, 0 .. classes - 1.
        elements: Elements that move the samples; the inverse of an element adds nothing.
        action: Action that moves them.
        seed: Seed for the folds of the tests.

    Returns:
        One test for each pair of classes, the most mixed first; empty where all labels survive.

    >>> from symscope.data.images import flip
    >>> from symscope.data.synthetic import letters
    >>> data, mirror = letters(20, 0, "bdF"), flip("x")
    >>> [{t.first, t.second} for t in mixed_labels(mirror.orbit(data.x), data.labels, [0, 1], mirror)]
    [{0, 1}]
    """
    inside = kept_pixels(action, tuple(points.shape[2:]))
    features = torch.stack(
        [
            with_invariants(one, action) if inside is None else comparable_features(one, inside)
            for one in points.unbind(1)
        ]
    )
    tests = label_tests(features, positions, elements, action.group, seed)
    if sample_kind(action, tuple(points.shape[2:])) == "points":
        # where the order of points says nothing, coordinates in that order tell clouds apart badly
        rows = torch.stack([with_invariants(one, action, ordered=False) for one in points.unbind(1)])
        found = {one.classes for one in label_tests(rows, positions, elements, action.group, seed)}
        tests = tuple(one for one in tests if {one.classes, one.classes[::-1]} & found)
        # a mirror that is followed by a turn exchanges hands too, though the coordinates look different
        hands = torch.stack([with_invariants(one, action, coordinates=False) for one in points.unbind(1)])
        tests += label_tests(hands, positions, elements, action.group, seed)
        tests = tuple(sorted(tests, key=lambda test: test.accuracy))
    return one_of_each_pair(tests)


def one_of_each_pair(tests: Sequence[LabelTest]) -> tuple[LabelTest, ...]:
    """Of each pair of classes the first test."""
    pairs: dict[frozenset[int], LabelTest] = {}
    for one in tests:
        pairs.setdefault(frozenset((one.first, one.second)), one)
    return tuple(pairs.values())


def label_tests(
    features: Float64[Tensor, "n m d"],
    positions: Int64[Tensor, "m"],
    elements: Sequence[int],
    group: FiniteGroup,
    seed: int = 0,
) -> tuple[LabelTest, ...]:
    """The pairs of classes that become each other under an element, by two-sample tests.

    Args:
        features: `features[k, s]` are those of sample s moved by `elements[k]`, from `comparable_features`.
        positions: Class of each sample, as its place among the classes.
        elements: Elements that move the samples; the first one is the identity.
        group: Group of the elements.
        seed: Seed for the folds of the tests.

    Returns:
        Tests of pairs that are mixed up, the most mixed first; empty where all labels survive. Of `g a`
        against b and `g^-1 b` against a only one is listed.
    """
    members = [(positions == c).nonzero()[:, 0][:MOST_SAMPLES] for c in range(int(positions.max()) + 1)]
    members = [at if len(at) >= FEWEST else at[:0] for at in members]
    if sum(len(at) > 0 for at in members) < 2 or len(elements) < 2:
        return ()
    chosen, classes = torch.cat(members), len(members)
    assigned = _assigned_shares(features[:, chosen], positions[chosen], classes)

    def told_apart(k: int, first: int, second: int) -> TwoSampleTest:
        count = min(len(members[first]), len(members[second]))
        return two_sample_test(
            features[k, members[first][:count]], features[0, members[second][:count]], seed
        )

    found, upright = [], {}
    for k, first, second in _named_pairs(assigned, elements, group):
        pair = (min(first, second), max(first, second))
        if pair not in upright:
            upright[pair] = told_apart(0, *pair).accuracy
        test = told_apart(k, first, second)
        confused, usual = round((1 - test.accuracy) * test.samples), 1 - upright[pair]
        # the tail of the binomial distribution, without all of scipy.stats, which takes a second to load
        chance = float(bdtrc(confused - 1, test.samples, min(1.0, usual + TOLERATED))) if confused else 1.0
        share = float(assigned[k, first, second])
        ends = (test.accuracy, test.low, test.high, 1 - usual)
        found.append(LabelTest(first, second, elements[k], *ends, share, chance, test.samples))
    listed = set(elements[1:])
    twice = sum(group.inverse(g) in listed for g in listed)  # these elements test each pair from both sides
    return _significant(found, (2 * len(listed) - twice) * classes * (classes - 1) // 2)


def _assigned_shares(
    features: Float64[Tensor, "n m d"], owner: Int64[Tensor, "m"], classes: int
) -> Float64[Tensor, "n c c"]:
    """`share[k, a, b]` of samples of class a, moved by element k, that a classifier assigns to class b.

    Kernel ridge regression on one column for each class, fitted to one half of the samples as they are; the
    shares are those of the other half.
    """
    place = torch.arange(len(owner))
    fitted, asked = place[place % 2 == 0], place[place % 2 == 1]
    fitted = fitted[:: -(-len(fitted) // MOST_FITTED)]
    base = features[0, fitted]
    squares = torch.cdist(base, base).square()
    typical = typical_square(squares)
    kernel = gaussian_kernel(squares, typical) + RIDGE * torch.eye(len(base), dtype=torch.float64)
    wanted = 2 * torch.nn.functional.one_hot(owner[fitted], classes).double() - 1
    weights = torch.linalg.solve(kernel, wanted)
    result = torch.zeros(len(features), classes, classes, dtype=torch.float64)
    for k, moved in enumerate(features[:, asked]):
        answers = (gaussian_kernel(torch.cdist(moved, base).square(), typical) @ weights).argmax(1)
        result[k].index_put_((owner[asked], answers), torch.ones(len(asked)).double(), accumulate=True)
    return result / result.sum(2, keepdim=True).clamp_min(1)


def _named_pairs(
    assigned: Float64[Tensor, "n c c"], elements: Sequence[int], group: FiniteGroup
) -> list[tuple[int, int, int]]:
    """Elements and pairs of classes to look at: those to which the classifier moves the most samples.

    Of `g a` against b and `g^-1 b` against a, which are as far apart, only one is listed.
    """
    more = assigned - assigned[0]
    more.diagonal(dim1=1, dim2=2).zero_()
    places = (more >= NAMED_SHARE).nonzero()
    result: list[tuple[int, int, int]] = []
    seen = set()
    for at in more[tuple(places.T)].argsort(descending=True, stable=True).tolist():
        k, first, second = places[at].tolist()
        if (group.inverse(elements[k]), second, first) not in seen and len(result) < MOST_TESTS:
            seen.add((elements[k], first, second))
            result.append((k, first, second))
    return result


def _significant(tests: list[LabelTest], count: int) -> tuple[LabelTest, ...]:
    """The tests that are significant among so many, with corrected p-values, the lowest accuracy first."""
    corrected = holm([*(one.p_value for one in tests), *[1.0] * (count - len(tests))])
    result = [replace(one, p_value=p) for one, p in zip(tests, corrected, strict=False)]
    return tuple(sorted((one for one in result if one.p_value <= SIGNIFICANCE), key=lambda one: one.accuracy))
