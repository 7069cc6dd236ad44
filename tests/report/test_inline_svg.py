"""SVG inside a page: identifiers of its own, the page's colours, an alternative text."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from symscope import InputError
from symscope.report import figure_bytes, image_element, inline_svg, new_figure, style


def drawing() -> str:
    figure = new_figure(3, 2)
    with style():
        axes = figure.subplots()
        axes.plot([0, 1, 3], [2, 1, 5])
        axes.fill_between([0, 1], [1, 2], hatch="//")
    return figure_bytes(figure, "svg").decode()


def test_two_figures_share_no_identifier_and_every_reference_is_met():
    first, second = (inline_svg(drawing(), prefix=prefix, alt="a line") for prefix in ("one", "two"))
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (first, second)]
    assert len(ids[0]) > 5
    assert not ids[0] & ids[1]
    references = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', first))
    assert references
    assert {a or b for a, b in references} <= ids[0]


def test_it_is_well_formed_and_names_itself():
    svg = inline_svg(drawing(), prefix="f", alt='a line that goes "up" & down < up')
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    title = root[0]
    assert title.text == 'a line that goes "up" & down < up'
    assert root.get("aria-labelledby") == title.get("id")


def test_ink_and_paper_are_the_pages():
    svg = inline_svg(drawing(), prefix="f", alt="a line")
    assert "var(--ink)" in svg
    assert "var(--paper)" in svg
    assert "#1b1f24" not in svg
    assert "#ffffff" not in svg


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="alt text"):
        inline_svg(drawing(), prefix="f", alt=" ")
    with pytest.raises(InputError, match="starting with a letter"):
        inline_svg(drawing(), prefix="1 f", alt="a line")
    with pytest.raises(InputError, match="expected the text of an SVG file"):
        inline_svg("<html>", prefix="f", alt="a line")
    with pytest.raises(InputError, match="alt text"):
        image_element(b"\x89PNG\r\n\x1a\n", alt="")
    with pytest.raises(InputError, match="bytes of a PNG"):
        image_element(b"GIF89a", alt="a picture")
