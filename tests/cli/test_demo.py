"""The demo with small settings: what it prints and writes, the page in a browser, and how it stops."""

from __future__ import annotations

import io
import os
import re
import signal
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace

import pytest
import torch

from symscope.cli import main
from symscope.cli._demo import DEMO, Demonstration, demo_forecasts
from symscope.data import mnist_sample
from symscope.forecasting import ForecastOptions, TrainingOptions, forecast, verdict_table
from tests.report.browser import ask, console_messages, needs_browser
from tests.report.picture import take
from tests.runs.program import started, wait_until

# the budget is never what ends a training, so that two runs are the same
SMALL = Demonstration(
    seen="2,7: upright only",
    action="C4 rotation",
    per_class=5,
    networks=(("mlp", 12), ("conv-fc", 6)),
    batch=16,
    budget=3600.0,
    seed=3,
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A run with small settings: the page, and what was written to standard output and standard error."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    printed, said = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(said):
        patch.setattr("symscope.cli._demo.DEMO", SMALL)
        with pytest.raises(SystemExit) as stopped:
            main(["demo", "--out", str(folder)])
    assert stopped.value.code == 0
    return folder / "report.html", printed.getvalue(), said.getvalue()


def test_the_forecasts_are_the_library_s_own_and_the_table_says_what_they_say():
    heard = []
    result = demo_forecasts(
        replace(SMALL, networks=SMALL.networks[:1]),
        lambda network, words, done, total: heard.append((network, words, done, total)),
    )
    own = forecast(
        "mlp",
        mnist_sample().per_class(5, seed=3),
        "C4",
        seen={2: "upright", 7: [0]},
        train=True,
        training=TrainingOptions(12, 16),
        options=ForecastOptions(budget="1h", per_class=2, seed=3),
    )
    assert torch.equal(result[0].class_accuracy.nan_to_num(), own.class_accuracy.nan_to_num())
    assert [one.model.name for one in result] == ["mlp"]
    parts = [words for network, words, _, total in heard if total == 0]
    assert parts[0] == "transforming samples"
    assert any(words.startswith("pilot trainings, about") for words in parts)
    assert parts[-2:] == ["remedies", "whole trainings"]
    table = verdict_table(result)
    row = dict(zip(table.columns, table.rows[0], strict=True))
    trained = own.check.class_accuracy[[2, 7]]
    apart = (own.class_accuracy[[2, 7]] - trained).abs().mean()
    assert row["difference"] == f"{apart:.2f}"
    assert row["noise floor"] == f"{own.check.noise_floor:.2f}"
    assert row["forecast"] == f"{own.accuracy:.2f}"
    assert row["trained"] == f"{trained.mean():.2f}"


def test_the_real_demo_asks_about_digits_seen_upright_only():
    assert [name for name, _ in DEMO.networks] == ["mlp"]
    assert DEMO.seen.endswith("upright only")
    assert DEMO.action.startswith("C8")


def test_the_table_in_the_terminal_and_the_path(ran):
    report, printed, said = ran
    lines = printed.splitlines()
    header = next(line for line in lines if line.startswith("network"))
    for column in ("forecast", "95 % interval", "trained", "difference", "noise floor", "first advice"):
        assert column in header
    assert any(line.startswith("mlp ") for line in lines)
    assert any(line.startswith("conv-fc ") for line in lines)
    assert lines[-1] == f"Report: {report}"
    assert "done" in said  # the bars
    assert [path.name for path in report.parent.iterdir()] == ["report.html"]


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1100, False)])
def test_the_page_in_a_browser(ran, tmp_path, width, dark):
    script = """
      document.querySelectorAll("details").forEach(e => e.querySelector("summary").click());
      const before = window.scrollY;
      document.querySelector('nav a[href="#conv-fc-advice"]').click();
      const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
      const linked = [...document.querySelectorAll("a")].map(e => e.getAttribute("href").slice(1));
      const paper = () => window.getComputedStyle(document.documentElement).backgroundColor;
      const found = {
        lead: document.querySelector(".lead").textContent,
        rows: [...document.querySelectorAll("#side-by-side tbody tr")].map(e => e.cells[0].textContent),
        empty: [...document.querySelectorAll("#side-by-side td")].filter(e => !e.textContent).length,
        pictures: [...document.querySelectorAll("figure svg, figure img")].map(
          e => e.getBoundingClientRect().height),
        drawn: [...document.querySelectorAll("img")].map(e => e.naturalWidth),
        opened: [...document.querySelectorAll("details")].map(e => e.open),
        inside: [...document.querySelectorAll("details")].map(
          e => e.lastElementChild.getBoundingClientRect().height),
        moved: window.scrollY - before,
        address: window.location.hash,
        repeated: ids.filter((id, i) => ids.indexOf(id) != i),
        lost: linked.filter(id => !ids.includes(id)),
        sideways: document.documentElement.scrollWidth - window.innerWidth,
        resources: window.performance.getEntriesByType("resource").length,
        paper: paper(),
      };
      document.getElementById("theme").click();
      found.other = paper();
      return found;
    """
    result = ask(ran[0], script, width=width, dark=dark, folder=tmp_path)
    may = "(will|will not|may)"
    assert re.fullmatch(rf"mlp {may}: .* conv-fc {may}: .*(%|training data)\.", result["lead"])
    assert result["rows"] == ["mlp", "conv-fc"]
    assert result["empty"] == 0
    assert len(result["pictures"]) >= 8
    assert min(result["pictures"]) > 60
    assert min(result["drawn"]) > 100
    assert len(result["opened"]) >= 4
    assert all(result["opened"])
    assert min(result["inside"]) > 20
    assert result["moved"] > 500
    assert result["address"] == "#conv-fc-advice"
    assert result["repeated"] == result["lost"] == []
    assert result["sideways"] <= 0
    assert result["resources"] == 0
    black, white = "rgb(20, 23, 26)", "rgb(255, 255, 255)"
    assert (result["paper"], result["other"]) == ((black, white) if dark else (white, black))


@needs_browser
def test_the_browser_has_nothing_to_complain_about(ran, tmp_path):
    assert console_messages(ran[0]) == []
    broken = tmp_path / "broken.html"
    broken.write_text("<!doctype html><script>nothing.there();</script><img src='gone.png'>")
    assert any("ReferenceError" in line for line in console_messages(broken))


@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_ctrl_c_ends_it_with_nothing_written(tmp_path):
    folder = tmp_path / "demo"
    process = started("demo", "--out", str(folder))
    wait_until(folder.exists, "the demo to begin")
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    printed, said = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "stopped; nothing was written" in said
    assert "Traceback" not in said
    assert printed == ""
    assert not list(folder.rglob("*"))


def test_a_folder_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "--out", str(tmp_path / "file" / "demo")])
    assert stopped.value.code == 2
    assert "cannot write to the folder" in capsys.readouterr().err


@needs_browser
def test_the_picture_shows_the_page_down_to_the_end_of_its_first_figure(ran, tmp_path):
    from PIL import Image

    target = tmp_path / "picture.png"
    width, height = take(ran[0], target)
    with Image.open(target) as picture:
        assert picture.size == (2 * width, 2 * height)
        assert len(picture.convert("RGB").getcolors(2**20)) > 50  # not an empty page
    assert 500 < height < 1500
