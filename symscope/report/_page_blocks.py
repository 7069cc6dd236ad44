"""What a page is made of: small frozen values that say what to show, never how it looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from symscope.errors import InputError


@final
@dataclass(frozen=True)
class Text:
    """A paragraph of plain text."""

    kind: ClassVar[str] = "text"
    text: str


@final
@dataclass(frozen=True)
class Note:
    """A paragraph that must not be overlooked: a failure, a limit, a warning."""

    kind: ClassVar[str] = "note"
    text: str


@final
@dataclass(frozen=True)
class Command:
    """Something to type into a shell, or any other verbatim text."""

    kind: ClassVar[str] = "command"
    text: str


@final
@dataclass(frozen=True)
class Facts:
    """Names and values, side by side; folded away under `summary` when there is one."""

    kind: ClassVar[str] = "facts"
    pairs: tuple[tuple[str, str], ...]
    summary: str = ""


@final
@dataclass(frozen=True)
class Table:
    """A table with a caption; cells are text, columns of numbers are aligned to the right."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...] = ()
    summary: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InputError(
                    f"table {self.caption!r}: expected {len(self.columns)} cells in every row, got "
                    f"{len(row)}: {row}"
                )
        if self.numeric and len(self.numeric) != len(self.columns):
            raise InputError(
                f"table {self.caption!r}: `numeric` has one entry per column or none, got "
                f"{len(self.numeric)} "
                f"for {len(self.columns)} columns"
            )


@final
@dataclass(frozen=True)
class Picture:
    """A figure: an SVG or PNG element (from `report.svg`), title, caption, the paper's figure."""

    kind: ClassVar[str] = "picture"
    element: str
    title: str
    caption: str = ""
    source: str = ""
    anchor: str = ""


@final
@dataclass(frozen=True)
class Verdict:
    """One checked claim: what was said, what was measured, and the outcome.

    Attributes:
        outcome: "good", "bad" or "open": decides symbol and colour.
        label: The outcome in words, for example "reproduced".
    """

    kind: ClassVar[str] = "verdict"
    statement: str
    outcome: str
    label: str
    source: str = ""
    measured: str = ""
    threshold: str = ""
    why: str = ""

    def __post_init__(self) -> None:
        if self.outcome not in ("good", "bad", "open"):
            raise InputError(f"a verdict's outcome is good, bad or open, got {self.outcome!r}")


Block = Text | Note | Command | Facts | Table | Picture | Verdict


@final
@dataclass(frozen=True)
class Section:
    """A part of the page under its own heading; `tally` is a short remark beside the heading."""

    title: str
    blocks: tuple[Block, ...]
    anchor: str = ""
    tally: str = ""
