"""One self-contained HTML page, made of small values that state what to show: no network, light and dark."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import ClassVar, final
from xml.sax.saxutils import quoteattr

from symscope._version import __version__
from symscope.errors import InputError
from symscope.numerics import write_whole

LONG_CELL = 60  # letters: a sentence, not a name
WIDE = 470  # points: six and a half inches, whose letters can still be read on half the width


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

    @property
    def wordy(self) -> bool:
        """Whether cells hold sentences: on a narrow screen they stand below each other."""
        return any(len(cell) > LONG_CELL for row in self.rows for cell in row)

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

    @property
    def wide(self) -> bool:
        """Whether nothing could be read in it as narrow as a phone, so that it must scroll there."""
        width = re.match(r'<svg width="([\d.]+)pt"', self.element)
        return width is None or float(width[1]) > WIDE


@final
@dataclass(frozen=True)
class JudgedClaim:
    """One checked claim: what was said, what was measured, and the outcome.

    Attributes:
        statement: What was checked, in a sentence.
        outcome: "good", "bad" or "open": decides symbol and colour.
        label: The outcome in words, for example "holds".
        source: Where it is stated.
        measured: The measured value in words.
        threshold: The condition on the measured value in words.
        why: How to interpret the number.
        quote: The words in which the source states it.
        reading: How those words were read, where they allow more than one reading.
    """

    kind: ClassVar[str] = "verdict"
    statement: str
    outcome: str
    label: str
    source: str = ""
    measured: str = ""
    threshold: str = ""
    why: str = ""
    quote: str = ""
    reading: str = ""

    def __post_init__(self) -> None:
        if self.outcome not in ("good", "bad", "open"):
            raise InputError(f"a verdict's outcome is good, bad or open, got {self.outcome!r}")


@final
@dataclass(frozen=True)
class Choices:
    """What combinations of choices lead to, one at a time, by sliders and menus; hidden without a script.

    Attributes:
        title: What it is about.
        menus: Name and options of each choice, the first option is the one shown first.
        sliders: Whether a choice is a slider, for options in an order, or a menu.
        outcomes: For places in the menus a value, the ends of its interval, and what else there is to know.
        target: Value that is good enough.
        lowest: Left end of the bar, which ends at 1.

    Raises:
        InputError: An outcome of no combination of options, or menus and sliders of different number.
    """

    kind: ClassVar[str] = "choices"
    title: str
    menus: tuple[tuple[str, tuple[str, ...]], ...]
    sliders: tuple[bool, ...]
    outcomes: tuple[tuple[tuple[int, ...], tuple[float, float, float], tuple[tuple[str, str], ...]], ...]
    target: float
    lowest: float = 0.0

    def __post_init__(self) -> None:
        if len(self.sliders) != len(self.menus):
            raise InputError(f"choices {self.title!r}: `sliders` has one entry for each of the menus.")
        for places, _, _ in self.outcomes:
            fits = len(places) == len(self.menus)
            if not fits or not all(0 <= k < len(menu[1]) for k, menu in zip(places, self.menus, strict=True)):
                raise InputError(f"choices {self.title!r}: expected a place in every menu, got {places}.")

    @property
    def data(self) -> str:
        """What the page's script needs."""
        outcomes = {",".join(map(str, places)): [*values, more] for places, values, more in self.outcomes}
        return json.dumps({"target": self.target, "lowest": self.lowest, "outcomes": outcomes})


Block = Text | Note | Command | Facts | Table | Picture | JudgedClaim | Choices


@final
@dataclass(frozen=True)
class Section:
    """A part of the page under its own heading; `tally` is a short remark beside the heading."""

    title: str
    blocks: tuple[Block, ...]
    anchor: str = ""
    tally: str = ""


def slug(text: str) -> str:
    """A heading as an address inside the page.

    >>> slug("Two circles: Δ and N!")
    'two-circles-and-n'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"


def page(*, title: str, lead: str, sections: Sequence[Section], footer: str = "") -> str:
    """A whole page as HTML text.

    Args:
        title: Heading and browser title.
        lead: One or two sentences under the heading: the answer first.
        sections: The parts, in reading order.
        footer: A remark at the bottom; the version of symscope is always there.

    Raises:
        InputError: No title, or two sections with one address.

    >>> from symscope.report._page import Section, Text
    >>> html = page(title="A < B", lead="Yes.", sections=[Section("Why", (Text("Because."),))])
    >>> "<h1>A &lt; B</h1>" in html, "Because." in html
    (True, True)
    """
    if not title.strip():
        raise InputError("a page needs a title, got an empty one")
    anchors = [section.anchor or slug(section.title) for section in sections]
    repeated = {anchor for anchor in anchors if anchors.count(anchor) > 1}
    if repeated:
        raise InputError(
            f"every section of a page needs an address of its own, repeated: {', '.join(sorted(repeated))}"
        )
    return _rendered(
        _source("page.html.jinja"),
        title=title,
        lead=lead,
        sections=list(zip(anchors, sections, strict=True)),
        footer=footer,
        style=_source("page.css"),
        script=_source("page.js"),
        version=__version__,
    )


def fragment(blocks: Sequence[Block]) -> str:
    """Blocks as a piece of HTML with a style of its own, to stand in a page of somebody else's: a notebook.

    >>> fragment([Text("A < B")]).splitlines()[-2:]
    ['<p>A &lt; B</p>', '</div>']
    """
    body = "{% for item in blocks %}{{ block(item) }}{% endfor %}"
    style = _source("fragment.css")
    return _rendered(f'<div class="symscope">\n<style>{style}</style>\n{body}</div>', blocks=blocks)


def _source(name: str) -> str:
    """A template, style or script of this package."""
    return (resources.files("symscope.report") / name).read_text(encoding="utf-8")


def _rendered(template: str, **values: object) -> str:
    """A template filled in, in which `block` shows one block."""
    from jinja2 import Environment, StrictUndefined, UndefinedError

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["digest"] = _digest
    try:
        return environment.from_string(_source("blocks.html.jinja") + template).render(**values)
    except UndefinedError as error:
        raise InputError(f"expected blocks such as Text and Table, got something else: {error}.") from error


def _digest(text: str) -> str:
    """How a content security policy names the one style or script that may stand in the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def write_page(html: str, path: Path) -> None:
    """Write a page to a file, which is whole or not there.

    Args:
        html: The page, as `page` makes it.
        path: File to write; its folder must exist.

    Raises:
        InputError: The folder is not there or cannot be written, or the disk is full.
    """
    write_whole(html, path)


def image_element(png: bytes, *, alt: str) -> str:
    """A PNG as an `<img>` that carries its own bytes: for pictures made of pixels.

    Args:
        png: The bytes of a PNG file.
        alt: What the picture shows.

    Raises:
        InputError: Bytes that are not a PNG, or an empty alt text.

    >>> image_element(b"\\x89PNG\\r\\n\\x1a\\n", alt="orbits")
    '<img alt="orbits" src="data:image/png;base64,iVBORw0KGgo=">'
    """
    if not alt.strip():
        raise InputError("a picture on a page needs an alt text that says what it shows, got an empty one")
    if not png.startswith(b"\x89PNG\r\n\x1a\n"):
        raise InputError(f"expected the bytes of a PNG file, got {png[:8]!r}")
    return f'<img alt={quoteattr(alt)} src="data:image/png;base64,{base64.b64encode(png).decode()}">'
