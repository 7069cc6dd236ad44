"""Kept results: what a page says, what is replaced and what is not, and how small its pictures are."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest

from docs.tooling.keep_results import LARGEST_PICTURE, keep_results, main, read_results, small_png
from docs.tooling.result_pages import END, MARK, against_page, index_page
from symscope import InputError
from symscope.runs import RunRequest, Workers, redraw_run, run_experiments
from tests.runs.program import TOY, toy_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A toy run with every verdict, and one of the circles."""
    out = tmp_path_factory.mktemp("runs")
    circles = RunRequest.of("spectral/circles-distance", changes=["distances=0,0.1,1"], device="cpu")
    [outcome] = run_experiments([circles], out, Workers(processes=0))
    return toy_run(out, "cells=3", "threshold=1000").folder, outcome.folder


def test_a_page_says_what_was_claimed_measured_and_how_to_run_it_again(runs, tmp_path):
    page, against, listing = keep_results([runs[0]], tmp_path / "new" / "results")
    assert [path.name for path in (page, against, listing)] == [
        "toy-matrices.md",
        "against-the-papers.md",
        "index.md",
    ]
    assert "**Fig. 7.** “have a norm”" in against.read_text()
    assert "They are not too large." not in against.read_text()
    text = page.read_text()
    claims = json.loads((runs[0] / "claims.json").read_text())
    assert (
        f"| ✗ contradicted | Random matrices have a norm.<br>“have a norm” | {claims[0]['measured']:.4g} "
        "| &gt;= 1000 | Fig. 7 |" in text
    )
    assert (
        f"| ✓ holds | They are not too large.<br>“moderately large” | {claims[1]['measured']:.4g} "
        "| &lt;= 100 | Sec. 2 |" in text
    )
    open_ = "They are beautiful.<br>“beautiful”<br>*a matter of taste*"
    assert f"| ○ not checked at this size | {open_} | – | – | Sec. 3 |" in text
    assert f"| {claims[3]['measured']:.4g} ± 1 | Mean norm. | 40 | – |" in text
    assert "A paper about &lt;matrices&gt; &amp; norms" in text
    assert "$ symscope reproduce toy/matrices --preset quick --set cells=3 --set threshold=1000.0" in text
    assert "1 holds, 1 contradicted, 1 not checked at this size; 1 measurement." in text
    assert "![A line of norms.](toy-matrices-norms.png)" in text
    assert "They are all near forty." in text
    assert "| `threshold` | 1000 |" in text
    assert "| seed | 0 |" in text
    assert (page.parent / "toy-matrices-norms.png").read_bytes().startswith(b"\x89PNG")


def test_a_page_names_no_folder_of_this_machine(runs, tmp_path):
    page, *_ = keep_results([runs[0]], tmp_path)
    assert TOY not in page.read_text()
    assert "--module path/to/toy.py" in page.read_text()


@pytest.mark.parametrize("folder", ["/somewhere/digits", "somewhere/digits"])
def test_where_the_data_lies_is_not_a_changed_setting(folder, tmp_path):
    page, *_ = keep_results([toy_run(tmp_path / "runs", f"word={folder}").folder], tmp_path / "kept")
    assert read_results(tmp_path / "kept")[0].preset == "quick"
    assert "--set word=path/to/digits" in page.read_text()
    assert "somewhere" not in page.read_text()


def test_a_note_stands_below_the_title_of_one_page(runs, tmp_path):
    page, *_ = keep_results([runs[0]], tmp_path, note="An earlier run\nhad ten matrices.")
    lines = page.read_text().splitlines()
    assert lines[1:4] == ["# toy/matrices", "", "*An earlier run had ten matrices.*"]
    with pytest.raises(InputError, match="a note is for the page of one run, got 2 runs"):
        keep_results(list(runs), tmp_path, note="both")


def test_the_index_counts_the_verdicts_of_every_kept_result(runs, tmp_path):
    keep_results([runs[0]], tmp_path)
    (tmp_path / "notes.md").write_text("# Notes of my own\n")
    *_, listing = keep_results([runs[1]], tmp_path)
    first, second = read_results(tmp_path)
    assert (first.experiment, second.experiment) == ("spectral/circles-distance", "toy/matrices")
    assert second.verdicts == {"holds": 1, "contradicted": 1, "not checked at this size": 1}
    assert second.measurements == 1
    claims = json.loads((runs[1] / "claims.json").read_text())
    holds = first.verdicts["holds"]
    assert holds == sum(claim["verdict"] == "holds" for claim in claims) > 0
    text = listing.read_text()
    assert f"2 experiments. Statements of the papers: {holds + 1} hold; 1 contradicted" in text
    assert "| [toy/matrices](toy-matrices.md) | Fig. 7 | quick, changed | 1 | 1 | 1 not checked" in text
    assert text.count("\n## ") == 2
    for name in (*first.figures, *second.figures):
        assert (tmp_path / name).stat().st_size <= LARGEST_PICTURE


def test_keeping_again_is_the_same_bytes(runs, tmp_path):
    keep_results(list(runs), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    keep_results(list(reversed(runs)), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_another_preset_replaces_only_when_asked(runs, tmp_path):
    keep_results([runs[0]], tmp_path / "kept")
    plain = toy_run(tmp_path / "runs", "cells=6").folder
    with pytest.raises(InputError, match="keeps preset quick, changed, this run is preset quick; --replace"):
        keep_results([plain], tmp_path / "kept")
    keep_results([plain], tmp_path / "kept", replace=True)
    assert [result.preset for result in read_results(tmp_path / "kept")] == ["quick"]


def test_what_the_authors_scripts_do_has_a_page_beside_the_papers_and_is_not_counted(runs, tmp_path):
    scripts = toy_run(tmp_path / "runs", "threshold=1000", preset="authors").folder
    page, beside, against, listing = keep_results([runs[0], scripts], tmp_path / "kept")
    assert [page.name, beside.name] == ["toy-matrices.md", "toy-matrices-authors.md"]
    assert "![A line of norms.](toy-matrices-authors-norms.png)" in beside.read_text()
    assert "Seven matrices, the paper has eight." in beside.read_text()
    text = listing.read_text()
    assert "1 experiment. Statements of the papers: 1 holds; 1 contradicted" in text
    assert "| [toy/matrices](toy-matrices-authors.md) | Fig. 7 | authors, changed | 1 | 1 |" in text
    assert against.read_text().count("toy/matrices") == 1
    keep_results([scripts], tmp_path / "kept")
    assert [result.counted for result in read_results(tmp_path / "kept")] == [True, False]


def test_numbers_that_differ_are_listed_apart_from_contradictions(runs, tmp_path):
    keep_results([runs[0]], tmp_path)
    [known] = read_results(tmp_path)
    words = {"statement": "Share.", "source": "Fig. 9", "quote": "a third", "reading": "", "why": "Unstated."}
    claim = {**words, "measured": "0.7", "threshold": "the paper has about a third"}
    contradictions, _, others = against_page([replace(known, differing=[claim])]).partition("leaves its")
    assert "**Fig. 7.**" in contradictions
    assert "Fig. 9" not in contradictions
    assert "**Fig. 9.** “a third”" in others
    assert "Tested: Share. Measured: 0.7; the paper has about a third. Unstated." in others
    scripts = replace(known, differing=[claim], contradicted=[*known.contradicted, claim], preset="authors")
    text = against_page([known, scripts])
    assert text.count("**Fig. 7.**") == 1  # already so at the paper's settings
    assert text.count("**Fig. 9.**") == 1
    assert "([toy/matrices](toy-matrices-authors.md), preset authors)" in text
    own, _, by_scripts = text.partition("## At the settings of the public scripts alone")
    assert ("**Fig. 7.**" in own, "**Fig. 9.**" in by_scripts) == (True, True)
    assert "leaves its setting open" not in text


def test_what_lies_on_no_side_of_the_words_is_listed_last(runs, tmp_path):
    keep_results([runs[0]], tmp_path)
    [known] = read_results(tmp_path)
    assert known.borderline == []  # the toy's claim without a measurement is none
    words = {"statement": "A line.", "source": "Fig. 9", "quote": "linear", "reading": "", "why": "A trend."}
    text = against_page([replace(known, borderline=[{**words, "measured": "0.6 ± 0.05", "threshold": ""}])])
    before, _, after = text.partition("## Words that leave open whether they hold")
    assert "**Fig. 7.**" in before
    assert "Tested: A line. Measured: 0.6 ± 0.05. A trend." in after


def test_pictures_of_the_page_before_go_and_nothing_else(runs, tmp_path):
    page, *_ = keep_results([runs[0]], tmp_path)
    head, _, rest = page.read_text().partition("\n")
    record = json.loads(head.removeprefix(MARK).removesuffix(END))
    record["figures"] += ["toy-matrices-old.png", "mine.png", "../outside.png"]
    page.write_text(f"{MARK}{json.dumps(record)}{END}\n{rest}")
    for name in ("toy-matrices-old.png", "mine.png"):
        (tmp_path / name).write_bytes(b"old")
    keep_results([runs[0]], tmp_path)
    assert not (tmp_path / "toy-matrices-old.png").exists()
    assert (tmp_path / "mine.png").exists()


def test_failed_cells_are_counted(tmp_path):
    page, *_ = keep_results([toy_run(tmp_path / "runs", "cells=3", "fail=1").folder], tmp_path / "kept")
    assert "**1 of 3 cells failed: the evidence is incomplete.**" in page.read_text()
    assert "Traceback" not in page.read_text()


def test_a_run_in_part_is_kept_as_such_and_replaced_by_the_whole_one_when_asked(tmp_path):
    folder = toy_run(tmp_path / "runs", "cells=3").folder
    sorted((folder / "cells").iterdir())[0].unlink()
    with pytest.raises(InputError, match="1 cells are not there yet"):
        redraw_run(folder, [TOY])
    redraw_run(folder, [TOY], unfinished=True)
    page, *_, listing = keep_results([folder], tmp_path / "kept")
    assert "**1 of 3 cells were not run: the evidence is incomplete.**" in page.read_text()
    assert "| cells | 1 of 3 cells were not run |" in page.read_text()
    assert ", in part |" in listing.read_text()
    whole = toy_run(tmp_path / "runs", "cells=3").folder
    with pytest.raises(InputError, match="in part, this run is"):
        keep_results([whole], tmp_path / "kept")
    page, *_ = keep_results([whole], tmp_path / "kept", replace=True)
    assert "incomplete" not in page.read_text()


def noise(width, height):
    from PIL import Image

    pixels = np.random.default_rng(5).integers(0, 256, (height, width, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "png")
    return buffer.getvalue()


def test_large_pictures_are_made_small_and_small_ones_left_alone():
    from PIL import Image

    picture = noise(900, 300)
    assert small_png(picture, len(picture)) == picture
    fewer_colours = small_png(picture, 400_000)
    assert len(fewer_colours) <= 400_000
    assert Image.open(io.BytesIO(fewer_colours)).size == (900, 300)
    fewer_pixels = small_png(picture, 200_000)
    assert len(fewer_pixels) <= 200_000
    assert Image.open(io.BytesIO(fewer_pixels)).size == (720, 240)
    with pytest.raises(InputError, match="cannot be brought under 1000 and stay readable"):
        small_png(picture, 1000)
    with pytest.raises(InputError, match="expected the bytes of a PNG file"):
        small_png(b"text" * 10, 8)


def test_bad_input(runs, tmp_path):
    with pytest.raises(InputError, match="at least one run folder to keep"):
        keep_results([], tmp_path)
    with pytest.raises(InputError, match="is not a run folder"):
        keep_results([tmp_path], tmp_path)
    with pytest.raises(InputError, match=r"several runs are of toy/matrices"):
        keep_results([runs[0], runs[0]], tmp_path)
    with pytest.raises(InputError, match="expected kept results, got none"):
        index_page(read_results(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make"):
        keep_results([runs[0]], tmp_path / "file" / "inside")
    (tmp_path / "toy-matrices.md").write_text("# Mine\n")
    with pytest.raises(InputError, match="is not a kept result and is not overwritten"):
        keep_results([runs[0]], tmp_path)
    (tmp_path / "toy-matrices.md").write_text(MARK + '{"experiment": 1' + END + "\n")
    with pytest.raises(InputError, match="first line is damaged"):
        keep_results([runs[0]], tmp_path)


def test_two_ids_that_share_a_file_name_are_not_mixed_up(runs, tmp_path):
    page, *_ = keep_results([runs[0]], tmp_path)
    page.write_text(page.read_text().replace("toy/matrices", "toy-matrices/x", 1))
    with pytest.raises(InputError, match="is the result of toy-matrices/x, not of toy/matrices"):
        keep_results([runs[0]], tmp_path)


def test_runs_that_are_not_finished_or_damaged_are_refused(tmp_path):
    folder = toy_run(tmp_path / "runs", "cells=2").folder
    (folder / "figures" / "norms.png").unlink()
    with pytest.raises(InputError, match=r"norms.png: missing, or not what the run wrote; .*--redraw"):
        keep_results([folder], tmp_path)
    (folder / "summary.json").unlink()
    with pytest.raises(InputError, match="is not finished: continue it"):
        keep_results([folder], tmp_path)


@pytest.mark.parametrize("name", ["index.md", "toy-matrices-norms.png"])
def test_files_of_others_are_not_overwritten(runs, tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=rf"{name} is not .* kept result.*choose another --out"):
        keep_results([runs[0]], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_the_program_keeps_the_finished_runs_of_a_folder(tmp_path, capsys):
    toy_run(tmp_path / "runs", "cells=2")
    out = tmp_path / "kept"
    assert main([str(tmp_path / "runs"), "--out", str(out)]) == 0
    names = ("toy-matrices.md", "against-the-papers.md", "index.md")
    assert capsys.readouterr().out.splitlines() == [str(out / name) for name in names]
    assert "[toy/matrices](toy-matrices.md)" in (out / "index.md").read_text()


def test_a_mistake_is_one_line_and_status_2(tmp_path, capsys):
    assert main([str(tmp_path / "absent")]) == 2
    [line] = capsys.readouterr().err.strip().splitlines()
    assert "absent does not exist" in line
