"""One self-contained HTML page: no network, light and dark, for phones, keyboards and screen readers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from symscope._version import __version__
from symscope.errors import InputError
from symscope.numerics import write_whole
from symscope.report._page_blocks import Section


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

    >>> from symscope.report._page_blocks import Section, Text
    >>> html = page(title="A < B", lead="Yes.", sections=[Section("Why", (Text("Because."),))])
    >>> "<h1>A &lt; B</h1>" in html, "Because." in html
    (True, True)
    """
    from jinja2 import Environment, StrictUndefined

    if not title.strip():
        raise InputError("a page needs a title, got an empty one")
    anchors = [section.anchor or slug(section.title) for section in sections]
    repeated = {anchor for anchor in anchors if anchors.count(anchor) > 1}
    if repeated:
        raise InputError(
            f"every section of a page needs an address of its own, repeated: {', '.join(sorted(repeated))}"
        )
    folder = resources.files("symscope.report")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((folder / "page.html.jinja").read_text(encoding="utf-8"))
    return template.render(
        title=title,
        lead=lead,
        sections=list(zip(anchors, sections, strict=True)),
        footer=footer,
        style=(folder / "page.css").read_text(encoding="utf-8"),
        version=__version__,
    )


def write_page(html: str, path: Path) -> None:
    """Write a page to a file, which is whole or not there.

    Args:
        html: The page, as `page` makes it.
        path: File to write; its folder must exist.

    Raises:
        InputError: The folder is not there or cannot be written, or the disk is full.
    """
    write_whole(html, path)
