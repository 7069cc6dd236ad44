"""What the configs of experiments check in `__post_init__`: the bounds of their fields.

Every check takes the config and the names of fields, looks at a number, a word, or every entry of a tuple
(which must have one), and raises `InputError` with the field, what it expects and what it got:

    def __post_init__(self) -> None:
        check_at_least(self, 1, "epochs", "batch")
        check_positive(self, "learning_rate")
        check_distinct(self, "angles")
        check_one_of(self, NETWORKS, "networks")
        check_field(self, "shown", self.shown in self.angles, f"one of the angles {self.angles}")
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from symscope.errors import InputError, nearest


def check_field(config: Any, field: str, good: bool, expected: str) -> None:
    """Refuses the value of a field that is not as expected.

    Args:
        config: Config the field belongs to.
        field: Name of the field.
        good: Whether its value can be used.
        expected: Words for values that can, after "expected".

    Raises:
        InputError: `good` is false.

    >>> from types import SimpleNamespace
    >>> check_field(SimpleNamespace(side=5), "side", False, "14 or 28 pixels")
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: side: expected 14 or 28 pixels, got 5
    """
    if not good:
        raise InputError(f"{field}: expected {expected}, got {getattr(config, field)!r}")


def check_at_least(config: Any, least: float | int, *fields: str) -> None:
    """Refuses numbers below `least`, numbers that are not finite, and empty tuples; None is no number.

    Raises:
        InputError: One of the fields is refused.

    >>> from types import SimpleNamespace
    >>> check_at_least(SimpleNamespace(seeds=3, angles=(2, 1)), 2, "seeds", "angles")
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: angles: expected 2 or more, got (2, 1)
    """
    check_between(config, least, math.inf, *fields)


def check_between(config: Any, least: float | int, most: float | int, *fields: str) -> None:
    """Refuses numbers outside `least .. most`, both allowed, and empty tuples; None is no number.

    Raises:
        InputError: One of the fields is refused.

    >>> from types import SimpleNamespace
    >>> check_between(SimpleNamespace(nodes=7), 3, 6, "nodes")
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: nodes: expected numbers from 3 to 6, got 7
    """
    words = f"{least:g} or more" if most == math.inf else f"numbers from {least:g} to {most:g}"
    for field in fields:
        values = _values(config, field)
        check_field(
            config, field, all(least <= value <= most and value < math.inf for value in values), words
        )


def check_positive(config: Any, *fields: str, below: float | int = math.inf) -> None:
    """Refuses numbers that are not above 0 and under `below`, and empty tuples; None is no number.

    Raises:
        InputError: One of the fields is refused.

    >>> from types import SimpleNamespace
    >>> check_positive(SimpleNamespace(rate=0.0), "rate")
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: rate: expected a positive number, got 0.0
    """
    words = "a positive number" if below == math.inf else f"above 0 and below {below:g}"
    for field in fields:
        check_field(config, field, all(0 < value < below for value in _values(config, field)), words)


def check_distinct(config: Any, *fields: str, least: int = 1) -> None:
    """Refuses tuples with an entry twice, or with fewer than `least` entries.

    Raises:
        InputError: One of the fields is refused.

    >>> from types import SimpleNamespace
    >>> check_distinct(SimpleNamespace(angles=(4, 4)), "angles")
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: angles: expected 1 or more different values, got (4, 4)
    """
    for field in fields:
        values = getattr(config, field)
        good = len(values) >= least and len(set(values)) == len(values)
        check_field(config, field, good, f"{least} or more different values")


def check_increasing(config: Any, *fields: str, least: int = 1) -> None:
    """Refuses tuples that do not increase, or with fewer than `least` entries.

    Raises:
        InputError: One of the fields is refused.

    >>> from types import SimpleNamespace
    >>> check_increasing(SimpleNamespace(points=(4, 8, 8)), "points")
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: points: expected 1 or more increasing numbers, got (4, 8, 8)
    """
    for field in fields:
        values = getattr(config, field)
        good = len(values) >= least and all(a < b for a, b in pairwise(values))
        check_field(config, field, good, f"{least} or more increasing numbers")


def check_divisors(config: Any, whole: int, *fields: str, least: int = 2) -> None:
    """Refuses numbers that do not divide `whole` or are below `least`, and empty tuples.

    Raises:
        InputError: One of the fields is refused.

    >>> from types import SimpleNamespace
    >>> check_divisors(SimpleNamespace(size=5), 28, "size")
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: size: expected divisors of 28 from 2 on, got 5
    """
    for field in fields:
        good = all(value >= least and whole % value == 0 for value in _values(config, field))
        check_field(config, field, good, f"divisors of {whole} from {least} on")


def check_one_of(config: Any, known: Iterable[str], *fields: str) -> None:
    """Refuses words that are not known, with the nearest that is, and empty tuples.

    Raises:
        InputError: One of the fields is refused.

    >>> from types import SimpleNamespace
    >>> check_one_of(SimpleNamespace(runs=("adm",)), ("adam", "sgd"), "runs")
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: runs: unknown 'adm'; did you mean 'adam'?
    """
    words = tuple(known)
    for field in fields:
        for value in _values(config, field):
            if value not in words:
                raise InputError(f"{field}: unknown {value!r}; {nearest(value, words)}")


def _values(config: Any, field: str) -> tuple[Any, ...]:
    """The entries of a field, at least one if it is a tuple; none if it is None."""
    value = getattr(config, field)
    check_field(config, field, value != (), "at least one value")
    return value if isinstance(value, tuple) else () if value is None else (value,)
