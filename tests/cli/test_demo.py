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
from symscope.cli._demo import DEMO, DemoNetwork, Demonstration, demo_forecasts
from symscope.data import mnist_sample
from symscope.forecasting import CheckOptions, ForecastOptions, forecast, verdict_table
from tests.report.browser import ask, console_messages, needs_browser
from tests.report.picture import take
from tests.runs.program import started, wait_until

SMALL = Demonstration(
    classes=(3, 4),
    action="C4 rotation",
    per_class=2,
    resamples=2,
    checked_classes=1,
    networks=(
        DemoNetwork("mlp", epochs=4, kernel_classes=1),
        DemoNetwork("conv-gap", epochs=2, kernel_classes=0),
    ),
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
        lambda network, words, done, total: heard.append((network, words[:14], done, total)),
    )
    digits = mnist_sample().of_classes(3, 4)
    own = forecast(
        "mlp",
        digits,
        "C4",
        train=CheckOptions(epochs=4, max_classes=1, kernel_classes=1),
        options=ForecastOptions(per_class=2, resamples=2, seed=3),
    )
    assert torch.equal(result[0].class_accuracy, own.class_accuracy)
    assert [one.model.name for one in result] == ["mlp"]
    assert ("mlp", "training", 0, 0) in heard
    epochs = [one for one in heard if one[3]]
    assert epochs == [("mlp", "training, loss", done, 8) for done in range(1, 9)]  # two of four epochs
    table = verdict_table(result)
    row = dict(zip(table.columns, table.rows[0], strict=True))
    trained = float(own.check.class_accuracy[0])  # for the first class alone
    apart = abs(float(own.class_accuracy[0]) - trained)
    assert row["difference"] == f"{apart:.2f}"
    assert row["noise floor"] == f"{own.check.noise_floor:.2f}"
    assert row["forecast"] == f"{own.accuracy:.2f}"
    assert row["trained"] == f"{trained:.2f}"


def test_the_real_demo_asks_both_networks_about_all_of_its_classes():
    assert [one.name for one in DEMO.networks] == ["mlp", "conv-gap"]
    assert len(DEMO.classes) == DEMO.checked_classes
    assert DEMO.action.startswith("C8")


def test_the_table_in_the_terminal_and_the_path(ran):
    report, printed, said = ran
    lines = printed.splitlines()
    header = next(line for line in lines if line.startswith("network"))
    for column in ("forecast", "95 % interval", "trained", "difference", "noise floor", "first advice"):
        assert column in header
    assert any(line.startswith("mlp ") for line in lines)
    assert any(line.startswith("conv-gap ") for line in lines)
    assert lines[-1] == f"Report: {report}"
    assert "done" in said  # the bars
    assert [path.name for path in report.parent.iterdir()] == ["report.html"]


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1100, False)])
def test_the_page_in_a_browser(ran, tmp_path, width, dark):
    script = """
      document.querySelectorAll("details").forEach(e => e.querySelector("summary").click());
      const before = window.scrollY;
      document.querySelector('nav a[href="#conv-gap-advice"]').click();
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
    assert re.fullmatch(rf"mlp {may}: .* conv-gap {may}: .*(%|training data)\.", result["lead"])
    assert result["rows"] == ["mlp", "conv-gap"]
    assert result["empty"] == 0
    assert len(result["pictures"]) >= 8
    assert min(result["pictures"]) > 60
    assert min(result["drawn"]) > 100
    assert len(result["opened"]) >= 4
    assert all(result["opened"])
    assert min(result["inside"]) > 20
    assert result["moved"] > 500
    assert result["address"] == "#conv-gap-advice"
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
