"""Figures inside a page: SVG that takes the page's own ink and paper, so that dark mode reaches into it."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from symscope.errors import InputError
from symscope.report._style import FAINT, INK, PAPER


def inline_svg(svg: str, *, prefix: str, alt: str) -> str:
    """An SVG file as an element of an HTML page: themed, accessible, with identifiers of its own.

    Ink becomes the page's text colour and paper its background; every identifier gets `prefix`, because
    two figures on one page may not share any.

    Args:
        svg: The text of an SVG file made by `symscope.report`.
        prefix: Letters, digits and dashes, unique on the page.
        alt: What the figure shows, for those who cannot see it.

    Returns:
        An `<svg role="img">` element with a `<title>`.

    Raises:
        InputError: Text that is not SVG, an empty alt text, or a prefix that cannot be an identifier.

    >>> inline_svg('<svg><g id="a" fill="#1b1f24"/></svg>', prefix="f", alt="a line").partition("</title>")[2]
    '<g id="f-a" fill="var(--ink)"/></svg>'
    """
    if not alt.strip():
        raise InputError("a figure on a page needs an alt text that says what it shows, got an empty one")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", prefix):
        raise InputError(
            f"a figure's prefix is letters, digits and dashes, starting with a letter; got {prefix!r}"
        )
    opening = re.search(r"<svg\b[^>]*>", svg)
    if opening is None:
        raise InputError(f"expected the text of an SVG file, got {svg[:40]!r}")
    body = svg[opening.end() :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', body)
    body = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", body)
    for colour, variable in ((INK, "--ink"), (FAINT, "--faint"), (PAPER, "--paper")):
        body = body.replace(colour, f"var({variable})")
    head = re.sub(r'\s(?:height|id)="[^"]*"', "", opening.group())
    head = head[:-1] + f' role="img" aria-labelledby="{prefix}-alt">'
    return f'{head}<title id="{prefix}-alt">{escape(alt)}</title>{body}'.strip()


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
    import base64

    if not alt.strip():
        raise InputError("a picture on a page needs an alt text that says what it shows, got an empty one")
    if not png.startswith(b"\x89PNG\r\n\x1a\n"):
        raise InputError(f"expected the bytes of a PNG file, got {png[:8]!r}")
    return f'<img alt={quoteattr(alt)} src="data:image/png;base64,{base64.b64encode(png).decode()}">'
