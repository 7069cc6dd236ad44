"""The words for a task, for intervals of its scores, targets and seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

WORSE = "worse than predicting the mean"


@final
@dataclass(frozen=True)
class TaskWording:
    """The words for a task in verdicts, tables and figures.

    Attributes:
        one: A row of tables.
        many: Several of them.
        score: Head of the column of scores.
        axis: Label of the axis of scores.
        does: What a network is predicted to do, with "{share}" and "{what}" to be filled in.
        did: What a trained network does, with "{share}" to be filled in.
        forecast: The forecast as a heading, with "{share}" to be filled in.
        error: Head of the column of errors.
        works: Said of a single point that counts as correct.
        pictures: What the pictures of missing cases show.
        heading: Title of the terminal's table.
        scored: What the numbers of the large table are.
        goal: What `target` is.
        key: Key of the score in the data for programs.
    """

    one: str
    many: str
    score: str
    axis: str
    does: str
    did: str
    forecast: str
    error: str
    works: str
    pictures: str
    heading: str
    scored: str
    goal: str
    key: str

    def prediction(self, score: float, what: str) -> str:
        """What a network of this predicted score does on something."""
        if score < 0:
            return f"do {WORSE} on {what}"
        return self.does.format(share=f"{score:.0%}", what=what)

    def outcome(self, score: float) -> str:
        """What a trained network of this score does."""
        return f"does {WORSE}" if score < 0 else self.did.format(share=f"{score:.0%}")

    def heading_of(self, score: float) -> str:
        """The forecast as a heading."""
        return self.forecast.format(share=WORSE if score < 0 else f"{score:.0%}")


def interval_words(ends: tuple[float, float]) -> str:
    """An interval in per cent; how far below 0 it reaches says nothing.

    >>> interval_words((0.25, 0.5)), interval_words((-1.7, 0.5)), interval_words((-1.7, -0.5))
    ('25% to 50%', 'below 0% to 50%', 'below 0%')
    """
    low, high = ("below 0%" if end < 0 else f"{end:.0%}" for end in ends)
    return low if high == "below 0%" else f"{low} to {high}"


def target_text(target: float) -> str:
    """A target with two digits, or as many as it has.

    >>> target_text(0.9), target_text(0.985)
    ('0.90', '0.985')
    """
    short = f"{target:.2f}"
    return short if float(short) == target else f"{target:.6g}"


def target_percent(target: float) -> str:
    """The same in per cent.

    >>> target_percent(0.9), target_percent(0.985)
    ('90%', '98.5%')
    """
    return f"{100 * target:.6g}%"


def seconds_text(seconds: float) -> str:
    """Seconds with two digits, without an exponent.

    >>> seconds_text(0.123), seconds_text(9.99), seconds_text(684.2), seconds_text(12345.0)
    ('0.12 s', '10 s', '690 s', '13,000 s')
    """
    if seconds < 10:
        return f"{seconds:.2g} s"
    unit = 10 ** (len(str(int(seconds))) - 2)
    return f"{-(-seconds // unit) * unit:,.0f} s"  # rounded up: it has to do
