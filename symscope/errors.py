"""Exceptions for a user's mistake: what was expected, what was given, what to do.

The command line turns an `InputError` into one line on standard error and exit status 2; anything else
that escapes is a bug and keeps its traceback.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`; the program starts with this file, before Ctrl-C works
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "BudgetError",
    "DivergedError",
    "InputError",
    "NotFiniteError",
    "SingularKernelError",
    "TooLargeError",
    "nearest",
]


class InputError(ValueError):
    """What the caller gave cannot be used; the message says what was expected, given, and what to do."""


class DivergedError(InputError):
    """A training whose loss is no longer finite; a lower learning rate, or inputs of another scale, help."""


class NotFiniteError(InputError):
    """An argument is NaN, or holds NaN or infinite numbers."""


class SingularKernelError(InputError):
    """A kernel matrix has no inverse to rounding; other points or a larger ridge make it regular."""


class TooLargeError(InputError):
    """What was asked takes more memory than is allowed; allow more, or ask for less."""


class BudgetError(InputError):
    """What was asked takes more time than the budget; the message names one that would do."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A suggestion for a mistyped name, ready to end a sentence.

    >>> nearest("rotaton", ["rotation", "shift"])
    "did you mean 'rotation'?"
    >>> nearest("zzz", ["rotation", "shift"])
    'known: rotation, shift.'
    """
    import difflib

    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}."
