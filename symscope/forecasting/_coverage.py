"""Coverage: which transformations of which samples the training data holds, in users' words.

A sentence is "CLASSES: ELEMENTS", or ELEMENTS alone for every class: "cats: 0°", "F,L: 0..90°", "±30°",
"upright only", "others: every 2nd", "3 random"; for rotations of space "within 90° of upright" (turned by so
much at most, about any axis) and "about z". Angles for rotations, names of elements for every group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from symscope.errors import InputError, nearest
from symscope.groups import FiniteGroup
from symscope.numerics import checked, explained, seeded

EVERY = ("all", "every", "everything")
OTHERS = ("others", "other", "rest")
SIZE = r"\d+(?:\.\d+)?"
NUMBER = f"-?{SIZE}"
Cases = str | Sequence[str] | Mapping[Any, Sequence[int] | str]
"""Sentences, or for each class its elements: their numbers, or a sentence."""


@checked
@final
@dataclass(frozen=True, eq=False)
class Coverage:
    """Which transformations of each sample the training data holds.

    Attributes:
        seen: Whether the training data holds the element g of sample s.
        text: The coverage in a few words.
        names_seen: Whether the words name what is seen; False where they name only what is missing.

    Raises:
        InputError: A sample that is never seen: leave it out of the data instead.

    >>> Coverage(torch.tensor([[True, False], [True, True]]), "a: upright")
    Coverage(a: upright; 3 of 4 points seen)
    """

    seen: Bool[Tensor, "m n"]
    text: str
    names_seen: bool = True

    def __post_init__(self) -> None:
        never = (~self.seen.any(1)).nonzero()[:, 0]
        if len(never):
            raise InputError(
                f"coverage: expected one transformation or more of every sample, sample {int(never[0])} has "
                "none; leave samples that are never seen out of the data."
            )

    def __repr__(self) -> str:
        return f"Coverage({self.text}; {int(self.seen.sum())} of {self.seen.numel()} points seen)"

    def take(self, samples: Int64[Tensor, "k"]) -> Coverage:
        """The coverage of the samples at these positions."""
        return replace(self, seen=self.seen[samples])


@checked
@final
@dataclass(frozen=True)
class ElementWords:
    """How a user names elements of a group.

    Attributes:
        group: The group.
        names: Name of each element in tables: angles for rotations, else the group's own names.
        step: Degrees from one element to the next where the group turns, else None.

    >>> from symscope.groups import cyclic
    >>> words = ElementWords(cyclic(8), tuple(f"{45 * k}°" for k in range(8)), 45.0)
    >>> words.elements("±45°, 180")
    [7, 0, 1, 4]
    >>> words.elements("every 90°"), words.elements("#3"), words.elements("r^2"), words.elements("upright")
    ([0, 2, 4, 6], [3], [2], [0])
    """

    group: FiniteGroup
    names: tuple[str, ...]
    step: float | None = None

    def elements(self, text: str) -> list[int]:
        """The elements that a list of names, angles and ranges means, each once.

        Raises:
            InputError: A name, angle or range that the group does not have.
        """
        found: list[int] = []
        for word in _listed(text):
            found += [g for g in self._meant(word) if g not in found]
        return found

    def element(self, word: str) -> int:
        """The one element that a name or an angle means."""
        return self._one(_short_numbers(word.strip()))

    def _meant(self, word: str) -> list[int]:
        order, plain = self.group.order, _short_numbers(word).removesuffix("only").strip()
        if plain.lower() in EVERY:
            return list(range(order))
        if plain.lower() in ("upright", "identity", "unmoved", "unshifted"):
            return [self.group.identity]
        turned = re.fullmatch(rf"within ({NUMBER})\s*(?:°|deg|degrees)?(?: of upright)?", plain)
        if turned:
            return self._within(float(turned[1]), word)
        if re.fullmatch("about [xyz]", plain):
            return self._about(plain, word)
        if plain.lower() == "mirrored" and self.group.cyclic_factors is None and self.step is not None:
            return list(range(order // 2, order))
        every = re.fullmatch(rf"every ({NUMBER})\s*(st|nd|rd|th|-th|°|deg|degrees)?", plain)
        if every:
            return self._every(float(every[1]), every[2] or "", word)
        around = re.fullmatch(rf"(?:±|\+-|\+/-)\s*({SIZE})\s*(?:°|deg|degrees)?", plain)
        if around:
            return self._between(-float(around[1]), float(around[1]), word)
        ends = re.split(r"\.\.|…| to ", plain)
        if len(ends) == 2 and all(end.strip() for end in ends):
            angles = [_angle(end) for end in ends]
            if self.step is not None and angles[0] is not None and angles[1] is not None:
                return self._between(angles[0], angles[1], word)
            first, last = (self._one(end.strip()) for end in ends)
            return [(first + k) % order for k in range((last - first) % order + 1)]
        return [self._one(plain)]

    def _one(self, word: str) -> int:
        for known in (self.names, self.group.labels):
            if word in known:
                return known.index(word)
        number = re.fullmatch(r"#(\d+)", word)
        if number and int(number[1]) < self.group.order:
            return int(number[1])
        angle = _angle(word)
        if angle is not None and self.step is not None:
            place = angle / self.step
            if abs(place - round(place)) < 1e-6:
                return round(place) % self._turns
            raise InputError(
                f"{word!r}: {self.group.name} turns by multiples of {self.step:g}°; take "
                f"{self.step * int(place // 1):g}° or {self.step * int(place // 1 + 1):g}°, or a larger "
                "group. Element numbers are written #1."
            )
        if angle is not None:
            raise InputError(
                f"{word!r}: the elements of this {self.group.name} are no angles; take names, "
                f"{', '.join(self.names[:3])} to {self.names[-1]}, or numbers, #0 to #{self.group.order - 1}."
            )
        raise InputError(
            f"{word!r}: no element of {self.group.name}; {nearest(word, ('upright', 'all', *self.names))} By "
            f"number: #0 to #{self.group.order - 1}. Classes come before a colon, 'cats: 0°'."
        )

    @property
    def _turns(self) -> int:
        """Elements that are rotations; they come first in dihedral groups."""
        assert self.step is not None
        return round(360 / self.step)

    def _every(self, size: float, unit: str, word: str) -> list[int]:
        count = self._turns if self.step is not None else self.group.order
        if self.step is not None and (unit.startswith(("°", "deg"))):
            size /= self.step
        if abs(size - round(size)) > 1e-6 or not 1 <= round(size) <= count:
            raise InputError(f"{word!r}: expected a whole number of steps, 1 to {count}.")
        if self.group.cyclic_factors is None or len(self.group.cyclic_factors) != 1:
            raise InputError(f"{word!r}: {self.group.name} is no cyclic group; name its elements.")
        return list(range(0, count, round(size)))

    def _within(self, most: float, word: str) -> list[int]:
        """Elements that turn by so much at most, about any axis, and do not mirror."""
        if most < 0:
            raise InputError(f"{word!r}: expected an angle of 0° or more.")
        if self.step is not None:
            return self._between(-most, most, word)
        angles = turned_degrees(self.names)
        if not any(angles):
            raise InputError(f"{word!r}: angles are for rotations; name elements of {self.group.name}.")
        return [g for g, angle in enumerate(angles) if angle is not None and angle <= most + 0.5]

    def _about(self, axis: str, word: str) -> list[int]:
        """The rotations about an axis of space."""
        found = [g for g, name in enumerate(self.names) if re.fullmatch(rf"\d+° {axis}", name)]
        if not found:
            raise InputError(f"{word!r}: {self.group.name} has no rotation {axis}; name elements of it.")
        return [self.group.identity, *found]

    def _between(self, low: float, high: float, word: str) -> list[int]:
        if self.step is None:
            raise InputError(f"{word!r}: angles are for rotations; name elements of {self.group.name}.")
        span = high - low if high >= low else high - low + 360
        inside = [k for k in range(-self._turns, 2 * self._turns) if 0 <= k * self.step - low <= span + 1e-9]
        if not inside:
            raise InputError(f"{word!r}: no angle of {self.group.name} (every {self.step:g}°) is in it.")
        return list(dict.fromkeys(k % self._turns for k in inside))


@explained
def parse_coverage(
    labels: Int64[Tensor, "m"],
    words: ElementWords,
    names: Mapping[str, int],
    seen: Cases | None = None,
    missing: Cases | None = None,
    seed: int = 0,
    one: str = "class",
) -> Coverage | None:
    """The coverage that sentences mean; None where nothing is said.

    Args:
        labels: Class of each sample.
        words: Names of the group's elements.
        names: Class number of each name of a class.
        seen: What the training data holds: a class that is named holds these elements alone.
        missing: What it lacks: a class that is named lacks these elements.
        seed: Seed for random elements.
        one: Word for a class in messages.

    Raises:
        InputError: A sentence that cannot be read, a class or element that is not there, a class said twice,
            or one that would never be seen.

    >>> from symscope.groups import cyclic
    >>> words = ElementWords(cyclic(4), ("0°", "90°", "180°", "270°"), 90.0)
    >>> parse_coverage(torch.tensor([0, 1]), words, {"F": 0, "L": 1}, "L: 0..90°").seen.int().tolist()
    [[1, 1, 1, 1], [1, 1, 0, 0]]
    """
    if seen is None and missing is None:
        return None
    sentences = [(one, True) for one in _sentences(seen)] + [(one, False) for one in _sentences(missing)]
    if not sentences:
        raise InputError(f"coverage: expected at least one {one} and its elements, got none.")
    mask = torch.ones(len(labels), words.group.order, dtype=torch.bool)
    named: list[tuple[list[int], str | Sequence[int], bool]] = []
    said: set[int] = set()
    for (who, what), holds in sentences:
        own = _classes(who, names, one)
        twice = said.intersection(own)
        if twice:
            raise InputError(f"coverage: {one} {_name(min(twice), names)} is said twice; use one sentence.")
        said.update(own)
        named.append((own, what, holds))
    everyone = sorted(set(names.values()))
    for own, what, holds in named:
        rows = own or [label for label in everyone if label not in said]
        at = torch.isin(labels, torch.tensor(rows, dtype=labels.dtype)).nonzero()[:, 0]
        mask[at] = _sample_masks(what, holds, len(at), words, seed)
    for label in everyone:
        if bool((labels == label).any()) and not bool(mask[labels == label].any()):
            raise InputError(
                f"coverage: every transformation of {one} {_name(label, names)} is missing, so it cannot be "
                "learned at all; leave one in."
            )
    return Coverage(mask, _text(sentences, words, names), any(holds for _, holds in sentences))


def given_coverage(elements: Int64[Tensor, "m"], order: int) -> Coverage:
    """Each sample at the one element that the data says it is in.

    >>> given_coverage(torch.tensor([1, 0]), 2).seen.int().tolist()
    [[0, 1], [1, 0]]
    """
    return Coverage(torch.nn.functional.one_hot(elements, order).bool(), "each sample as the data has it")


def _sample_masks(
    what: str | Sequence[int], holds: bool, count: int, words: ElementWords, seed: int
) -> Bool[Tensor, "count n"]:
    order = words.group.order
    drawn = (
        None
        if not isinstance(what, str)
        else re.fullmatch(
            r"(?:once|(?:(\d+)\s+)?random(?:ly)?|once at random)(?: only)?", what.strip().lower()
        )
    )
    if drawn and holds:
        often = int(drawn[1] or 1)
        if not 1 <= often <= order:
            raise InputError(f"{what!r}: expected 1 to {order} random elements of {words.group.name}.")
        place = torch.rand(count, order, generator=seeded(seed, count)).argsort(1)
        return place < often
    elements = words.elements(what) if isinstance(what, str) else _numbers(what, words)
    row = torch.zeros(order, dtype=torch.bool)
    row[elements] = True
    return (row if holds else ~row).expand(count, order)


def _numbers(elements: Sequence[int], words: ElementWords) -> list[int]:
    chosen = sorted(set(elements))
    if not chosen or chosen[0] < 0 or chosen[-1] >= words.group.order:
        raise InputError(
            f"coverage: expected elements of {words.group.name}, 0 to {words.group.order - 1}; got "
            f"{list(elements)}."
        )
    return chosen


def _sentences(cases: Cases | None) -> list[tuple[str | int, str | Sequence[int]]]:
    """Who, and which elements; an empty "who" is every class."""
    if cases is None:
        return []
    if isinstance(cases, Mapping):
        return list(cases.items())
    listed = [cases] if isinstance(cases, str) else list(cases)
    result: list[tuple[str | int, str | Sequence[int]]] = []
    for sentence in (part.strip() for one in listed for part in one.split(";")):
        if not sentence:
            continue
        who, colon, what = sentence.rpartition(":")
        if not what.strip() or (colon and not who.strip()):
            raise InputError(
                f"{sentence!r}: expected CLASSES: ELEMENTS, such as 'cats: 0°', '3,5: 0..90°' or 'upright'."
            )
        result.append((who.strip(), what.strip()))
    return result


def _classes(who: str | int, names: Mapping[str, int], word: str) -> list[int]:
    """The classes of a sentence; none for the others."""
    everyone = sorted(set(names.values()))
    if isinstance(who, int):
        if who not in everyone:
            raise InputError(f"coverage: {word} {who} is not in the data; it has {everyone}.")
        return [who]
    if not who or who.lower() in EVERY:
        return everyone
    if who.lower() in OTHERS:
        return []
    if who in names:  # a name may hold a comma
        return [names[who]]
    result = []
    for one in (part.strip() for part in who.split(",")):
        if one not in names:
            # groups of numbers are few, and the nearest spelling may be the opposite: lowest, largest
            known = f"there are {', '.join(names)}." if word == "group" else nearest(one, list(names))
            raise InputError(f"coverage: there is no {word} {one!r}; {known}")
        result.append(names[one])
    return result


def _name(label: int, names: Mapping[str, int]) -> str:
    return next(name for name, number in names.items() if number == label)


def _text(
    sentences: Sequence[tuple[tuple[str | int, str | Sequence[int]], bool]],
    words: ElementWords,
    names: Mapping[str, int],
) -> str:
    parts = []
    for (who, what), holds in sentences:
        elements = what if isinstance(what, str) else ", ".join(words.names[g] for g in what)
        called = _name(who, names) if isinstance(who, int) else who
        whose = f"{called}: " if called else ""
        parts.append(f"{whose}{elements}" if holds else f"{whose}without {elements}")
    return "; ".join(parts)


def turned_degrees(names: Sequence[str]) -> list[int | None]:
    """How far elements turn space, by their names, from 0 to 180°; None for what mirrors, or does not turn.

    >>> turned_degrees(("e", "240° about (1, 1, 1)", "mirror across x"))
    [0, 120, None]
    """
    found = [re.fullmatch(r"(\d+)° about .*", name) for name in names]
    angles = [None if one is None else min(int(one[1]), 360 - int(one[1])) for one in found]
    return [0 if name == "e" else angle for name, angle in zip(names, angles, strict=True)]


def _listed(text: str) -> list[str]:
    """Parts between commas that are not inside parentheses.

    >>> _listed("(e, r), 90°")
    ['(e, r)', '90°']
    """
    parts = [part.strip() for part in re.split(r",(?![^()]*\))", text)]
    if not all(parts):
        raise InputError(f"{text!r}: expected elements between the commas.")
    return parts


def _short_numbers(word: str) -> str:
    if re.search(r"\d{8}", word):
        raise InputError(f"{word[:20]!r}: expected angles or elements, got a number of eight digits or more.")
    return word


def _angle(word: str) -> float | None:
    found = re.fullmatch(rf"({NUMBER})\s*(?:°|deg|degrees)?", word.strip())
    return None if found is None else float(found[1])
