"""`symscope data fetch` and `show`."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from symscope.data._download import RemoteFile
from symscope.data.mnist_files import IDX_SETS
from tests.cli.test_app import called
from tests.data.local_mirror import Mirror, serving


def test_orbits_are_drawn(tmp_path, capsys):
    out = tmp_path / "orbits.png"
    assert (
        called("data", "show", "--group", "C4", "--action", "rotation", "--samples", "3", "--out", str(out))
        == 0
    )
    said = capsys.readouterr().out
    assert "C4 acting by rotation on 3 images of MNIST sample." in said
    assert f"Picture: {out}" in said
    with Image.open(out) as image:
        pixels = np.asarray(image.convert("L"), dtype=float)
        assert image.width > image.height
    assert (pixels < 60).mean() > 0.3  # three rows of dark pictures on white paper


@pytest.mark.parametrize("group", ["D4", "C14xC14"])
def test_orbits_on_a_page_carry_their_picture(tmp_path, capsys, group):
    out = tmp_path / "orbits.html"
    action = "dihedral" if group == "D4" else "shift"
    assert called("data", "show", "-g", group, "-a", action, "--samples", "2", "-o", str(out)) == 0
    html = out.read_text()
    assert 'src="data:image/png;base64,' in html
    assert 'alt="Grid of samples' in html
    assert ("every 13th of 196 elements" in html) == (group == "C14xC14")
    capsys.readouterr()


def test_another_seed_draws_other_images(tmp_path, capsys):
    pictures = []
    for seed in ("0", "0", "1"):
        called("data", "show", "-g", "C2", "--samples", "2", "--seed", seed, "-o", str(tmp_path / "o.svg"))
        pictures.append((tmp_path / "o.svg").read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]
    capsys.readouterr()


def test_a_symmetric_image_is_pointed_out(tmp_path, capsys):
    rows = np.zeros((1, 4, 4))
    rows[0, 1:3, 1:3] = 1.0
    np.savez(tmp_path / "square.npz", X=rows, y=[0])
    data = str(tmp_path / "square.npz")
    assert (
        called("data", "show", "-g", "C4", "-d", data, "--samples", "1", "-o", str(tmp_path / "o.png")) == 0
    )
    assert "1 of 1 images are fixed by an element other than the identity" in capsys.readouterr().out


def test_folders_of_colour_images_are_shown_with_their_names(tmp_path, capsys):
    pixels = np.zeros((6, 6, 3), dtype=np.uint8)
    pixels[0, 1] = 255, 0, 0
    pixels[4, 5] = 0, 90, 30
    for name in ("terns", "lapwings"):
        (tmp_path / name).mkdir()
        Image.fromarray(pixels).save(tmp_path / name / "1.png")
    out = tmp_path / "orbits.html"
    words = ("data", "show", "-g", "C4", "-d", str(tmp_path), "--samples", "2", "-o", str(out))
    assert called(*words) == 0
    assert f"C4 acting by rotation on 2 images of {tmp_path.name}." in capsys.readouterr().out
    assert "a row for each of the classes lapwings, terns," in out.read_text()
    np.savez(tmp_path / "last.npz", X=np.stack([pixels] * 2), y=["tern", "lapwing"])
    assert called(*words[:5], str(tmp_path / "last.npz"), *words[6:]) == 2
    assert "got shape (2, 6, 6, 3)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--group", "X8"), "X8"),
        (("--action", "rotaton"), "did you mean 'rotation'"),
        (("--group", "C5", "--action", "shift-x"), "28"),
        (("--data", "smaple"), "did you mean 'sample'"),
        (("--out", "orbits.gif"), "ends in .png, .svg, .pdf or .html"),
        (("--out", "no/such/folder/o.png"), "cannot write"),
        (("--samples", "0"), "expected 1 to 64 samples, got 0"),
        (("--seed", "-1"), "--seed is 0 or more"),
    ],
)
def test_bad_input_is_one_line_and_status_2(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert called("data", "show", *words) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert len(errors.splitlines()) == 1


def test_more_images_than_there_are(tmp_path, capsys):
    np.savez(tmp_path / "one.npz", X=np.eye(3)[None], y=[0])
    assert (
        called(
            "data", "show", "-d", str(tmp_path / "one.npz"), "--samples", "2", "-o", str(tmp_path / "o.png")
        )
        == 2
    )
    assert "has only 1 samples" in capsys.readouterr().err


def test_fetching_from_a_mirror(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    contents = {file.name: f"the content of {file.name}".encode() for file in IDX_SETS["mnist"].files}
    files = tuple(RemoteFile(n, len(c), hashlib.sha256(c).hexdigest()) for n, c in contents.items())
    monkeypatch.setitem(IDX_SETS, "mnist", replace(IDX_SETS["mnist"], files=files))
    with serving(Mirror({name: gzip.compress(content) for name, content in contents.items()})) as mirror:
        assert called("data", "fetch", "mnist", "--to", str(tmp_path / "m"), "--mirror", mirror.url) == 0
    assert {path.name for path in (tmp_path / "m").glob("*.gz")} == set(contents)
    assert f"Use it with --data {tmp_path / 'm'}" in capsys.readouterr().out


def test_fetching_without_a_network_or_the_wrong_thing(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert called("data", "fetch", "mnist", "--to", str(tmp_path), "--mirror", "http://127.0.0.1:1/") == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert called("data", "fetch", "cifar") == 2
    assert "symscope can fetch mnist and fashion-mnist, got 'cifar'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("shape", "words", "said"),
    [
        ((4, 5, 3), ("--group", "SO(3)"), "SO(3) through I"),
        ((4, 12), ("--group", "D4", "--action", "shift"), "D4 acting by shift on 1 samples"),
        ((4, 4, 4), ("--group", "S4"), "S4 acting by nodes"),
    ],
)
def test_clouds_series_and_graphs_are_drawn(shape, words, said, tmp_path, capsys):
    generator = np.random.default_rng(0)
    np.savez(tmp_path / "mine.npz", X=generator.normal(size=shape), y=[0, 1, 0, 1])
    picture = tmp_path / "orbits.png"
    assert (
        called(
            "data",
            "show",
            *words,
            "--samples",
            "1",
            "--data",
            str(tmp_path / "mine.npz"),
            "--out",
            str(picture),
        )
        == 0
    )
    assert said in capsys.readouterr().out
    assert picture.stat().st_size > 5000
