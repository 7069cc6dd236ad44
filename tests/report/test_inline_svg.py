"""SVG inside a page: identifiers of its own, the page's colours, an alternative text."""

from __future__ import annotations

import re
from collections import Counter
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


HOSTILE = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:s="http://www.w3.org/2000/svg"
 width="9" onload="alert(1)">
 <script>alert(2)</script><s:script>alert(3)</s:script>
 <style>@import "http://evil"; * { fill: url(http://evil) }</style>
 <foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><b onclick="alert(4)"/></body></foreignObject>
 <g onclick="alert(5)" fill="url(http://evil#a)"
    style="stroke: u\\72l(http://evil); background: url(http://evil)">
  <path id="kept" d="M 0 0" stroke="#112233"/>
  <set attributeName="href" to="javascript:alert(6)"/>
  <animate attributeName="href" values="javascript:alert(7)"/>
 </g>
 <a xlink:href="javascript:alert(8)"><path id="linked" d="M 1 1"/></a>
 <use xlink:href="http://evil/a.svg#b"/><use xlink:href="data:image/svg+xml,&lt;svg/&gt;#b"/>
 <image xlink:href="http://evil/a.png"/><image xlink:href="data:image/svg+xml;base64,PHN2Zy8+"/>
 <title>&lt;img src=x onerror=alert(9)&gt;</title><desc>&lt;script&gt;alert(10)&lt;/script&gt;</desc>
 <g id='" onload="alert(11)' d='"&gt;&lt;script&gt;alert(12)&lt;/script&gt;'/>
 <text>&lt;script&gt;alert(13)&lt;/script&gt;</text>
</svg>"""


def test_only_what_draws_is_kept():
    svg = inline_svg(HOSTILE, prefix="f", alt="a drawing")
    body = svg.partition("</title>")[2]
    assert body == (
        '<g><path id="f-kept" d="M 0 0" stroke="#112233"/></g><g><path id="f-linked" d="M 1 1"/></g>'
        "<use/><use/><image/><image/><g/></svg>"
    )
    for word in ("alert", "evil", "script", "onload", "javascript", "style"):
        assert word not in svg


def test_nothing_our_own_figures_need_is_lost():
    figure = new_figure(6, 4)
    with style():
        axes = figure.subplots(2, 3).flat
        axes[0].plot([1, 2, 3], [1, 3, 2], "--o", alpha=0.5, label="a")
        axes[0].legend()
        figure.colorbar(axes[1].imshow([[1, 2], [3, 5]]))
        axes[2].scatter([1, 2], [3, 4], c=[0.1, 0.2], s=[10, 20], marker="*")
        axes[3].bar([1, 2], [3, 4], hatch="//", yerr=[0.1, 0.2])
        axes[4].tripcolor([0, 1, 0, 1], [0, 0, 1, 1], [1, 2, 3, 4], shading="gouraud")
        axes[5].annotate("$\\alpha^2$", (1, 1), (2, 2), arrowprops={}, url="http://somewhere")
    text = figure_bytes(figure, "svg").decode()
    before, after = (
        ElementTree.fromstring(text),
        ElementTree.fromstring(inline_svg(text, prefix="f", alt="a")),
    )
    names = Counter(element.tag.rpartition("}")[2] for element in before.find("{*}g").iter())
    names["g"] += names.pop("a")
    assert names == Counter(element.tag for element in after.find("g").iter())
    # every property of a style is an attribute now; links have lost their address and their target
    attributes = Counter(
        name
        for element in before.find("{*}g").iter()
        for name in (
            *(name.rpartition("}")[2] for name in element.attrib if name != "style"),
            *re.findall(r"([\w-]+):", element.get("style", "")),
        )
    )
    attributes -= Counter(("href", "target"))
    assert attributes == Counter(name for element in after.find("g").iter() for name in element.attrib)


@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">',
        '<!ENTITY b SYSTEM "file:///etc/passwd">',
        '<!ENTITY % b "x">',
    ],
)
def test_entities_are_not_expanded(entities):
    with pytest.raises(InputError, match="without entities of its own"):
        inline_svg(f"<!DOCTYPE svg [{entities}]><svg><g id='&b;'/></svg>", prefix="f", alt="a")


def test_nesting_however_deep_is_one_pass():
    assert (
        inline_svg("<svg>" + "<g>" * 9000 + "</g>" * 9000 + "</svg>", prefix="f", alt="a").count("<g") == 9000
    )


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="alt text"):
        inline_svg(drawing(), prefix="f", alt=" ")
    with pytest.raises(InputError, match="starting with a letter"):
        inline_svg(drawing(), prefix="1 f", alt="a line")
    with pytest.raises(InputError, match="expected the text of an SVG file"):
        inline_svg("<html>", prefix="f", alt="a line")
    with pytest.raises(InputError, match="got one of <html>"):
        inline_svg("<html/>", prefix="f", alt="a line")
    with pytest.raises(InputError, match="expected the text of an SVG file"):
        inline_svg(drawing()[:900], prefix="f", alt="a line")
    with pytest.raises(InputError, match="alt text"):
        image_element(b"\x89PNG\r\n\x1a\n", alt="")
    with pytest.raises(InputError, match="bytes of a PNG"):
        image_element(b"GIF89a", alt="a picture")
