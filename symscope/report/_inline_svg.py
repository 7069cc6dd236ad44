"""Figures inside a page: SVG that takes the page's own ink and paper, so that dark mode reaches into it.

A figure may come from a run folder of somebody else. What reaches the page is therefore written anew, from
the elements and attributes that drawings need and nothing else: no script, no event, no link, no file, no
style sheet. Properties of `style` become attributes, which need no permission in the page's content policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from symscope.errors import InputError
from symscope.report._figures import FAINT, INK, PAPER

ELEMENT = re.compile(
    "g|defs|path|use|image|clipPath|rect|circle|ellipse|line|polyline|polygon|pattern|linearGradient|"
    "radialGradient|stop|filter|feComposite|feColorMatrix"
)
ATTRIBUTE = re.compile(
    "id|d|x|y|width|height|[xy][12]|c[xy]|r|r[xy]|points|viewBox|transform|href|offset|in2?|k[1-4]|operator|type|"
    "values|patternUnits|gradientUnits|gradientTransform|preserveAspectRatio|(?:shape|image)-rendering|"
    "clip-(?:path|rule)|filter|fill(?:-opacity|-rule)?|opacity|stop-(?:color|opacity)|"
    "stroke(?:-(?:opacity|width|linecap|linejoin|miterlimit|dasharray|dashoffset))?"
)
PLAIN = re.compile(r"[\w\s#.,%+-]*")  # no bracket, no quotation mark, no backslash: it names nothing outside
MOVES = re.compile(r"(?:\s*(?:matrix|translate|scale|rotate|skewX|skewY)\([\d\s.,e+-]*\))+\s*")
INSIDE = re.compile(r"(#|url\(#)([\w.-]+)(\)?)")  # a reference to another part of the drawing
PIXELS = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=\s]*")


def inline_svg(svg: str, *, prefix: str, alt: str) -> str:
    """An SVG file as an element of an HTML page: themed, accessible, harmless, with identifiers of its own.

    Ink becomes the page's text colour and paper its background; every identifier gets `prefix`, because
    two figures on one page may not share any. Only what draws is kept: see the module.

    Args:
        svg: The text of an SVG file, as `figure_bytes` writes it.
        prefix: Letters, digits and dashes, unique on the page.
        alt: What the figure shows, for those who cannot see it.

    Returns:
        An `<svg role="img">` element with a `<title>`.

    Raises:
        InputError: Text that is not SVG or declares entities, an empty alt text, or a prefix that cannot be
            an identifier.

    >>> inline_svg('<svg><g id="a" fill="#1b1f24"/></svg>', prefix="f", alt="a line").partition("</title>")[2]
    '<g id="f-a" fill="var(--ink)"/></svg>'
    >>> inline_svg('<svg><g onload="x()"/><script>y()</script></svg>', prefix="f", alt="a")[-10:]
    '<g/></svg>'
    """
    if not alt.strip():
        raise InputError("a figure on a page needs an alt text that says what it shows, got an empty one")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", prefix):
        raise InputError(
            f"a figure's prefix is letters, digits and dashes, starting with a letter; got {prefix!r}"
        )
    drawing = _Drawing(prefix, f'<title id="{prefix}-alt">{escape(alt)}</title>')
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = drawing.start, drawing.end
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(svg.encode(errors="replace"), True)
    except expat.ExpatError as error:
        raise InputError(f"expected the text of an SVG file, got {svg[:40]!r} ({error})") from error
    return "".join(drawing.parts)


class _Drawing:
    """The kept parts of an SVG file, in its order; a part that is left out takes all inside it along."""

    def __init__(self, prefix: str, title: str) -> None:
        self.prefix, self.title = prefix, title
        self.parts: list[str] = []
        self.left_out = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        name, attributes = ("g", {}) if name == "a" else (name, attributes)  # what a link shows stays
        if not self.parts:
            if name != "svg":
                raise InputError(f"expected the text of an SVG file, got one of <{name[:40]}>")
            kept = {key: attributes[key] for key in ("width", "viewBox") if key in attributes}
            more = f' stroke-linejoin="round" role="img" aria-labelledby="{self.prefix}-alt"'
            self.parts += [f"<svg{self._written(kept)}{more}>", self.title]
        elif self.left_out or not ELEMENT.fullmatch(name):
            self.left_out += 1
        else:
            self.parts.append(f"<{name}{self._written(attributes)}>")

    def end(self, name: str) -> None:
        name = "g" if name == "a" else name
        if self.left_out:
            self.left_out -= 1
        elif self.parts[-1].startswith(f"<{name}") and not self.parts[-1].endswith("/>"):
            self.parts[-1] = f"{self.parts[-1][:-1]}/>"  # nothing is inside it
        else:
            self.parts.append(f"</{name}>")

    def _written(self, attributes: Mapping[str, str]) -> str:
        values = dict(_declared(attributes))
        safe = {key: self._value(key, value) for key, value in values.items() if ATTRIBUTE.fullmatch(key)}
        return "".join(f" {key}={quoteattr(value)}" for key, value in safe.items() if value is not None)

    def _value(self, key: str, value: str) -> str | None:
        """The value as it may stand on the page, None for one that may not."""
        inside = INSIDE.fullmatch(value)
        if key == "id":
            return f"{self.prefix}-{value}" if re.fullmatch(r"[\w.-]+", value) else None
        if key == "href":
            if inside is None or inside[1] != "#":
                return value if PIXELS.fullmatch(value) else None
            return f"#{self.prefix}-{inside[2]}"
        if inside is not None and inside[1] == "url(#":
            return f"url(#{self.prefix}-{inside[2]})"
        for colour, variable in ((INK, "--ink"), (FAINT, "--faint"), (PAPER, "--paper")):
            if value == colour:
                return f"var({variable})"
        return value if PLAIN.fullmatch(value) or MOVES.fullmatch(value) else None


def _declared(attributes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Attributes, then the properties of `style`, which go before attributes."""
    for key, value in attributes.items():
        yield key.removeprefix("xlink:"), value
    for declaration in attributes.get("style", "").split(";"):
        key, _, value = declaration.partition(":")
        yield key.strip(), value.strip()


def _refuse_entity(*_: object) -> None:
    raise InputError("expected the text of an SVG file without entities of its own, got some")
