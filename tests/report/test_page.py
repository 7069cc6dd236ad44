"""A page of every kind of block, in a real browser: light, dark, on a phone, with the keyboard."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache

import pytest

from symscope import InputError
from symscope.report import (
    Choices,
    Command,
    Facts,
    JudgedClaim,
    Note,
    Picture,
    Section,
    Table,
    Text,
    figure_bytes,
    fragment,
    inline_svg,
    new_figure,
    page,
    slug,
    style,
    write_page,
)
from tests.report.browser import ask, needs_browser
from tests.report.contrast import contrast


def test_a_row_has_a_cell_for_every_column():
    with pytest.raises(InputError, match="expected 2 cells in every row, got 3"):
        Table("sizes", ("a", "b"), (("1", "2"), ("1", "2", "3")))


def test_numeric_has_an_entry_for_every_column():
    with pytest.raises(InputError, match="one entry per column or none, got 1 for 2 columns"):
        Table("sizes", ("a", "b"), (), (True,))


def test_an_outcome_is_good_bad_or_open():
    with pytest.raises(InputError, match="good, bad or open, got 'fine'"):
        JudgedClaim("it holds", "fine", "holds")


CHOICES = Choices(
    "What if?",
    (
        ("Samples", ("as now", "twice")),
        ("Seen <b>", ("as now", "2 of 4", "all 4")),
        ("Remedy", ("none", "x")),
    ),
    (True, True, False),
    (
        ((0, 0, 0), (0.25, 0.125, 0.5), (("inference", "x 1"),)),
        ((0, 2, 0), (0.75, 0.5, 1.0), (("inference", "x 2"),)),
        ((0, 2, 1), (0.95, 0.9, 1.0), (("inference", "x 3 <i>"),)),
    ),
    0.9,
)


@cache
def everything() -> str:
    figure = new_figure(7, 3)
    with style():
        figure.subplots().plot([0, 1, 3], [2, 1, 5])
    svg = inline_svg(figure_bytes(figure, "svg").decode(), prefix="f", alt="a line going up")
    blocks = (
        Text("A paragraph <with> & characters."),
        Note("Something failed."),
        JudgedClaim("It holds.", "good", "holds", "Fig. 1", "1e-12", "<= 1e-08", "Over 42 problems."),
        JudgedClaim("It does not.", "bad", "contradicted"),
        JudgedClaim("Who knows.", "open", "not checked at this size", why="too small"),
        Picture(svg, "A line", "It goes up.", "Fig. 2", "figure-1"),
        CHOICES,
        Command("symscope reproduce " + "a-very-long-name/" * 20),
        Facts((("a key", "a value"), ("long", "x" * 300)), "Parameters"),
        Table(
            "many columns", tuple(f"column {i}" for i in range(20)), (tuple("0123456789" * 2),), (True,) * 20
        ),
    )
    return page(
        title="Everything", lead="All kinds of blocks.", sections=[Section("One", blocks), Section("Two", ())]
    )


@pytest.fixture
def shown(tmp_path):
    path = tmp_path / "page.html"
    write_page(everything(), path)
    return path


def test_text_is_escaped_and_nothing_is_fetched():
    html = everything()
    assert "A paragraph &lt;with&gt; &amp; characters." in html
    assert "default-src 'none'" in html
    loads = re.findall(r'(?:src|href)="([^"]*)"|url\(([^)]*)\)|@import', html)
    assert loads
    assert all((a or b).startswith("#") for a, b in loads)


def test_only_the_style_and_the_script_of_the_page_are_allowed():
    html = everything()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)[1]
    for name in ("style", "script"):
        [inside] = re.findall(f"<{name}>(.*?)</{name}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy
    assert not re.search(r'\sstyle="|\son\w+="', html)


@needs_browser
def test_a_script_or_style_that_slipped_into_a_page_does_nothing(tmp_path):
    slipped = """<script>document.title = "ran"</script><img src="x" onerror="document.title = 'ran'">
      <style>h1 { color: red !important }</style><b style="color: red">x</b>"""
    path = tmp_path / "page.html"
    write_page(page(title="t", lead="", sections=[Section("One", (Picture(slipped, "p"),))]), path)
    script = """
      const colour = name => window.getComputedStyle(document.querySelector(name)).color;
      return [document.title, colour("h1"), colour(".drawing b"), document.getElementById("theme").hidden];
    """
    assert ask(path, script, folder=tmp_path) == ["t", "rgb(27, 31, 36)", "rgb(27, 31, 36)", False]


@needs_browser
@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_sticks_out_sideways(shown, tmp_path, width):
    widths = ask(
        shown,
        "return [document.documentElement.scrollWidth, window.innerWidth];",
        width=width,
        folder=tmp_path,
    )
    assert widths[0] <= widths[1] == width


@needs_browser
def test_on_a_phone_only_what_is_wide_scrolls(tmp_path):
    def drawn(inches: float, prefix: str) -> str:
        figure = new_figure(inches, 3)
        with style():
            figure.subplots().plot([0, 1, 3], [2, 1, 5])
        return inline_svg(figure_bytes(figure, "svg").decode(), prefix=prefix, alt="a line going up")

    words = "A sentence that is much longer than what fits beside others on a phone, say."
    blocks = (
        Table("Advice: " + words, ("", "what", "why"), (("1", words, words),)),
        Table("Numbers: " + words, tuple("abcdefghijkl"), (("0.123",) * 12,), (True,) * 12),
        Picture(drawn(5.6, "n"), "Narrow"),
        Picture(drawn(11, "w"), "Wide"),
    )
    path = tmp_path / "page.html"
    write_page(page(title="t", lead="", sections=[Section("One", blocks)]), path)
    script = """
      const ends = name => [...document.querySelectorAll(name)].map(e => e.getBoundingClientRect().right);
      const first = document.querySelector(".wordy td:nth-child(2)");
      return [Math.max(...ends("caption, .wordy td, .drawing:not(.wide) svg")), ends(".wide svg")[0],
        window.getComputedStyle(first, "::before").content];
    """
    inside, wide, label = ask(path, script, width=360, folder=tmp_path)
    assert inside <= 360 < wide
    assert "what" in label
    broad = ask(path, "return document.querySelectorAll('.wordy thead th').length;", folder=tmp_path)
    assert broad == 3


@needs_browser
def test_choices_show_what_was_computed_and_say_what_was_not(shown, tmp_path):
    script = """
      const box = document.querySelector(".choices");
      const [samples, seen, remedy] = box.querySelectorAll("input, select");
      const bar = (name, key) => +box.querySelector(name).getAttribute(key);
      const now = () => [box.querySelector(".outcome").textContent, box.querySelector("dl").textContent,
        bar(".reached", "x"), bar(".reached", "width"), bar(".interval", "x"), bar(".interval", "width")];
      const set = (control, value) => {
        control.value = value;
        control.dispatchEvent(new window.Event("input", {bubbles: true}));
        return now();
      };
      return {hidden: box.hidden, first: now(), all: set(seen, 2), both: set(remedy, 1),
        none: set(samples, 1), words: seen.getAttribute("aria-valuetext"),
        reached: [samples, seen, remedy].map(e => e.tabIndex),
        names: [samples, seen, remedy].map(e => e.labels[0].firstChild.textContent)};
    """
    result = ask(shown, script, folder=tmp_path)
    assert not result["hidden"]
    below = "0.25, 95 % interval 0.13 to 0.50: below the target of 0.90."
    assert result["first"] == [below, "inferencex 1", 0, 25, 12.5, 37.5]
    assert result["all"][0].endswith("borderline, the target is 0.90.")
    assert result["words"] == "all 4"
    assert result["both"][:2] == [
        "0.95, 95 % interval 0.90 to 1.00: reaches the target of 0.90.",
        "inferencex 3 <i>",
    ]
    assert result["none"][0].startswith("Not computed")
    assert result["none"][1:] == ["", 0, 0, 0, 0]
    assert result["reached"] == [0, 0, 0]
    assert result["names"] == ["Samples", "Seen <b>", "Remedy"]


def test_outcomes_belong_to_options():
    with pytest.raises(InputError, match=r"a place in every menu, got \(0, 2\)"):
        Choices("w", (("a", ("x",)), ("b", ("y", "z"))), (True, False), (((0, 2), (0.0, 0.0, 1.0), ()),), 0.9)


def test_a_fragment_escapes_text_and_styles_nothing_outside():
    made = fragment(
        [Text("A < B"), Table("sizes", ("a",), (("<b>",),)), JudgedClaim("It holds.", "good", "holds")]
    )
    assert "<p>A &lt; B</p>" in made
    assert "<td>&lt;b&gt;</td>" in made
    assert "<script" not in made
    rules = made.partition("<style>")[2].partition("</style>")[0]
    selectors = re.findall(r"([^{}]+)\{", rules)
    assert all(one.strip().startswith(".symscope") for group in selectors for one in group.split(","))


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_every_text_stands_out(shown, tmp_path, dark):
    script = """
      const paper = element => {
        for (let e = element; e; e = e.parentElement) {
          const colour = window.getComputedStyle(e).backgroundColor;
          if (!colour.endsWith(", 0)")) return colour;
        }
      };
      const texts = [...document.querySelectorAll("body *")].filter(e =>
        !e.closest("svg") && [...e.childNodes].some(n => n.nodeType == 3 && n.textContent.trim()) &&
        !["SCRIPT", "STYLE"].includes(e.tagName));
      return texts.map(e => [e.className || e.tagName, window.getComputedStyle(e).color, paper(e)]);
    """
    result = ask(shown, script, dark=dark, folder=tmp_path)
    assert len(result) > 30
    papers = {_hex(paper) for _, _, paper in result}
    assert ("#14171a" in papers) == dark
    for name, ink, paper in result:
        assert contrast(_hex(ink), _hex(paper)) >= 4.5, name


@needs_browser
def test_figures_have_names_headings_have_order_and_all_is_reached_by_keyboard(shown, tmp_path):
    script = """
      const names = [...document.querySelectorAll("svg:not([aria-hidden]), img")].map(e =>
        e.alt || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent || "");
      const levels = [...document.querySelectorAll("h1, h2, h3")].map(e => +e.tagName[1]);
      const scrolling = [...document.querySelectorAll("body *")].filter(e =>
        !e.closest("svg") && ["auto", "scroll"].includes(window.getComputedStyle(e).overflowX))
        .map(e => e.tabIndex);
      const before = window.getComputedStyle(document.documentElement).backgroundColor;
      document.getElementById("theme").click();
      const after = window.getComputedStyle(document.documentElement).backgroundColor;
      const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
      const first = [...document.querySelectorAll("a, button")][0].className;
      return {names, levels, scrolling, before, after, repeated: ids.length - new Set(ids).size, first,
              lang: document.documentElement.lang};
    """
    result = ask(shown, script, folder=tmp_path)
    assert result["names"] == ["a line going up"]
    assert result["levels"] == [1, 2, 2]
    assert result["scrolling"]
    assert set(result["scrolling"]) == {0}
    assert result["before"] != result["after"]
    assert result["repeated"] == 0
    assert result["first"] == "skip"
    assert result["lang"] == "en"


def test_bad_pages_are_refused(tmp_path):
    with pytest.raises(InputError, match="needs a title"):
        page(title=" ", lead="", sections=[])
    with pytest.raises(InputError, match="address of its own, repeated: one"):
        page(title="t", lead="", sections=[Section("One", ()), Section("one!", ())])
    with pytest.raises(InputError, match="cannot write"):
        write_page("", tmp_path / "nowhere" / "page.html")


def test_an_address_is_never_empty():
    assert slug("§") == "part"


def _hex(colour: str) -> str:
    red, green, blue = re.findall(r"[\d.]+", colour)[:3]
    return f"#{int(red):02x}{int(green):02x}{int(blue):02x}"
