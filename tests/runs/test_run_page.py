"""Reports, in a real browser."""

from __future__ import annotations

import re

import pytest

from symscope import InputError
from symscope.report import write_page
from symscope.runs import RunRequest, Workers, run_experiments
from symscope.runs._run_page import run_folders, run_report
from tests.report.browser import ask, needs_browser
from tests.runs.program import toy_request, toy_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run with every verdict and a failing cell, and one of the circles."""
    out = tmp_path_factory.mktemp("runs")
    circles = RunRequest.of("spectral/circles-distance", changes=["distances=0,0.1,1"], device="cpu")
    return run_experiments([toy_request("threshold=1000", "fail=2"), circles], out, Workers(processes=0))


def test_a_report_says_what_was_asked_claimed_and_how_to_repeat_it(runs):
    html = run_report([runs[0].folder])
    assert "A paper about &lt;matrices&gt; &amp; norms" in html
    assert html.index("contradicted") < html.index("<svg")  # claims come first
    assert "<blockquote>have a norm</blockquote>" in html
    assert "Measurements beyond the paper" in html
    for words in (
        "Fig. 7",
        "ZeroDivisionError",
        "1 of 6 cells failed",
        "symscope reproduce toy/matrices",
        "torch",
    ):
        assert words in html, words
    assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", html)
    assert "https://" not in html


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1100, False)])
def test_a_report_of_two_runs_in_a_browser(runs, tmp_path, width, dark):
    path = tmp_path / "report.html"
    write_page(run_report([outcome.folder for outcome in runs]), path)
    script = """
      const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
      const svgs = [...document.querySelectorAll("svg")];
      const broken = [...document.querySelectorAll("svg *")].flatMap(e =>
        [...e.attributes].map(a => (a.name + a.value).match(/^href#(.+)|url\\(#(.+?)\\)/)).filter(Boolean)
          .map(m => m[1] || m[2])
      ).filter(id => !document.getElementById(id));
      const inked = "[id*=axes] path[stroke*='--ink']";
      const lines = svgs.map(svg => window.getComputedStyle(svg.querySelector(inked) || svg));
      return {
        sideways: document.documentElement.scrollWidth - window.innerWidth,
        repeated: ids.filter((id, i) => ids.indexOf(id) != i),
        broken,
        names: svgs.map(e => document.getElementById(e.getAttribute("aria-labelledby")).textContent.length),
        heights: svgs.map(e => e.getBoundingClientRect().height),
        ink: lines.map(style => style.stroke),
        verdicts: [...document.querySelectorAll(".verdict .label span:first-child")].map(e => e.textContent),
        resources: window.performance.getEntriesByType("resource").length,
      };
    """
    result = ask(path, script, width=width, dark=dark, folder=tmp_path)
    assert result["sideways"] <= 0
    assert result["repeated"] == result["broken"] == []
    assert min(result["names"]) > 10
    assert len(result["heights"]) == 4
    assert min(result["heights"]) > 100
    assert ("rgb(230, 233, 236)" if dark else "rgb(27, 31, 36)") in result["ink"]
    assert result["verdicts"][:3] == ["✗", "○", "○"]
    assert result["resources"] == 0


def test_runs_are_found_in_a_folder_of_runs(runs):
    out = runs[0].folder.parent
    assert run_folders([out]) == sorted(outcome.folder for outcome in runs)
    assert run_folders([one.folder for one in runs]) == [one.folder for one in runs]


def test_a_run_is_named_once(runs):
    folder = runs[0].folder
    for twice in ([folder, folder], [folder.parent, folder], [folder, folder / ".." / folder.name]):
        with pytest.raises(InputError, match=f"{folder.name} is named twice, .*; name it once"):
            run_folders(twice)


def test_what_is_not_a_finished_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="at least one run folder"):
        run_report([])
    with pytest.raises(InputError, match="does not exist"):
        run_folders([tmp_path / "absent"])
    with pytest.raises(InputError, match="is not a run folder and holds none"):
        run_folders([tmp_path])
    folder = toy_run(tmp_path, "cells=2").folder
    (folder / "summary.json").unlink()
    with pytest.raises(InputError, match="is not finished: continue it with `symscope reproduce"):
        run_report([folder])
