"""Which elements a network should have, given tests of the data, and the reasons in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from symscope.auditing._input_invariance import SAME, ElementTest
from symscope.auditing._label_survival import LabelTest
from symscope.auditing._target_survival import TargetTest
from symscope.groups import FiniteGroup

OVERLAPPING = 0.75  # accuracy up to which small displacements leave samples within the data
SMALL = 0.7  # displacement, in typical distances between samples
NAMED = 6  # elements that a sentence lists by name
MOST_PAIRS = 3  # pairs of classes that sentences are written for
_INPUTS = {
    "different": "Samples moved by {names} look different from the data: a classifier tells them apart with "
    "an accuracy of {range} (50% is chance).",
    "same": "Under {names} the data looks the same: a classifier tells moved samples from others with an "
    "accuracy of {range}, at most {high:.0%} (50% is chance).",
    "unknown": "Whether the data looks the same under {names} cannot be told from {samples:,} samples: the "
    "accuracy of a classifier is {range}, and may be {low:.0%} to {high:.0%} (50% is chance).",
}


def elements_to_want(
    group: FiniteGroup,
    tests: Sequence[ElementTest],
    labels: Sequence[LabelTest],
    targets: Sequence[TargetTest],
    met: Sequence[int],
) -> tuple[int, ...]:
    """Elements a network should have: those it will meet, and those that leave samples and labels alike.

    Not met, an element g is wanted where samples moved by it look like the data (or seem to, as far as few
    samples show), or change little and overlap with it; and where no label changes: with g its inverse is
    taken, and no quotient `h^-1 g` of two elements taken may make a class another one, since augmenting by
    both gives one sample two labels.

    Args:
        group: Group that acts.
        tests: Tests of all samples, one for each element that was tried.
        labels: Pairs of classes that become each other.
        targets: Tests of numbers to predict.
        met: Elements under which the network will meet samples.
    """
    mixing = {one.element for one in labels} | {one.element for one in targets if one.verdict == "changes"}
    mixing |= {group.inverse(g) for g in mixing}
    result = {group.identity}
    for one in sorted(tests, key=lambda one: one.accuracy):
        pair = {one.element, group.inverse(one.element)}
        clash = any(_quotient(group, h, g) in mixing for h in result | pair for g in pair)
        if looks_alike(one) and not clash:
            result |= pair
    result |= set(met)
    tried = {group.identity, *(one.element for one in tests)}
    return tuple(group.elements) if tried <= result else tuple(sorted(result))


def looks_alike(test: ElementTest) -> bool:
    """Whether samples moved by an element look like the data, seem to, or overlap with it."""
    seems = test.verdict == "unknown" and test.accuracy <= SAME
    return test.verdict == "same" or seems or overlaps(test)


def overlaps(test: ElementTest) -> bool:
    """Whether an element moves samples so little that many still look like samples of the data.

    The accuracy alone does not tell: that of a classifier that is too weak for the data is low, too.
    """
    return test.accuracy <= OVERLAPPING and test.displacement <= SMALL


def _quotient(group: FiniteGroup, h: int, g: int) -> int:
    return group.multiply(group.inverse(h), g)


def input_sentences(tests: Sequence[ElementTest], interpolation: float | None) -> list[str]:
    """What two-sample tests of all samples found, in sentences."""
    result = []
    for verdict, sentence in _INPUTS.items():
        chosen = [one for one in tests if one.verdict == verdict]
        if chosen:
            result.append(
                sentence.format(
                    names=listed([one.element_name for one in chosen]),
                    range=percent_range([one.accuracy for one in chosen]),
                    low=min(one.low for one in chosen),
                    high=max(one.high for one in chosen),
                    samples=chosen[0].samples,
                )
            )
    partly = [one for one in tests if one.verdict == "different" and overlaps(one)]
    if partly:
        result.append(
            f"Moved by {listed([one.element_name for one in partly])}, samples change little and many still "
            f"look like samples of the data (accuracy {percent_range([one.accuracy for one in partly])})."
        )
    if interpolation is not None:
        result.append(f"Interpolation alone is told apart with an accuracy of {interpolation:.0%}.")
    return result


def class_sentences(tests: Sequence[ElementTest], whole: Sequence[ElementTest]) -> list[str]:
    """Classes that differ from the data as a whole: the same where it is not, or the other way round."""
    verdicts = {one.element: one.verdict for one in whole}
    result = []
    for own, other, words in (
        ("same", "different", "looks the same under"),
        ("different", "same", "by itself looks different under"),
    ):
        found: dict[str, list[str]] = {}
        for one in tests:
            if one.verdict == own and verdicts[one.element] == other:
                found.setdefault(str(one.class_name), []).append(one.element_name)
        result += [
            f"Class {name} {words} {listed(names)}." for name, names in list(found.items())[:MOST_PAIRS]
        ]
    return result


def target_sentences(
    targets: Sequence[TargetTest], elements: Sequence[str], what: str = "numbers"
) -> list[str]:
    """Whether numbers to predict, or masks, survive, in sentences."""
    kept = "keep their numbers" if what == "numbers" else "have their masks, moved with them"
    words = {
        "survives": f"Moved by {{}}, samples {kept}: a fit to other samples predicts them as well.",
        "changes": f"Moved by {{}}, samples have other {what}: a fit to other samples predicts them worse.",
        "unknown": f"Whether samples moved by {{}} {kept} cannot be told from so few samples.",
        "not testable": f"Whether samples moved by {{}} {kept} cannot be tested: moved samples do "
        f"not look like the data, or the {what} cannot be predicted from it.",
    }
    return [
        sentence.format(listed([elements[one.element] for one in targets if one.verdict == verdict]))
        for verdict, sentence in words.items()
        if any(one.verdict == verdict for one in targets)
    ]


def advice_sentence(
    group: FiniteGroup, wanted: Sequence[int], elements: Sequence[str], met: Sequence[int]
) -> str:
    """What to do, in one sentence."""
    if met and set(wanted) <= {group.identity, *met}:
        return f"Want what will be met: augment by {listed([elements[g] for g in met])}."
    if len(wanted) == group.order:
        return f"Want it: augment by {group.name}, or build it in."
    if len(wanted) == 1:
        return (
            f"Do not want it: for new samples like these, neither augment by {group.name} nor build it in. "
            "Samples that will be met in other transformations are another matter."
        )
    names = listed([elements[g] for g in wanted if g != group.identity])
    closed = len(group.subgroup(wanted)) == len(wanted)
    how = (
        "with the identity a subgroup, which may be built in" if closed else "no subgroup: do not build it in"
    )
    return f"Want a part of it: augment by {names} only; {how}."


def listed(names: Sequence[str]) -> str:
    """Names in a sentence; the first, the last and how many of a long list.

    >>> listed(["90°", "180°", "270°"]), listed([f"{10 * k}°" for k in range(1, 36)])
    ('90°, 180°, 270°', '35 elements from 10° to 350°')
    """
    if len(names) <= NAMED:
        return ", ".join(names)
    return f"{len(names)} elements from {names[0]} to {names[-1]}"


def percent_range(values: Sequence[float]) -> str:
    """Shares as one percentage, or from the lowest to the highest.

    >>> percent_range([0.512, 0.514]), percent_range([0.5, 0.62])
    ('51%', '50 to 62%')
    """
    low, high = (f"{100 * value:.0f}" for value in (min(values), max(values)))
    return f"{low}%" if low == high else f"{low} to {high}%"
