"""What `symscope forecast` takes as data, coverage and new samples."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from tests.cli.forecast_calls import KERNEL, OWN, called
from tests.forecasting.problems import blobs, spots


def test_numbers_instead_of_classes(tmp_path, capsys):
    data, page = spots(items=20, both=True), tmp_path / "page.html"
    np.savez(tmp_path / "mine.npz", X=data.x.numpy(), y=data.targets.numpy())
    own = ("--model", f"{OWN}:two_numbers", "--data", str(tmp_path / "mine.npz"), "-g", "C4")
    own += ("--target-action", "same")
    few = ("--method", "kernel", "--per-class", "2", "--resamples", "2")
    assert called(*own, *few, "--train", "--steps", "3", "--out", str(page)) == 0
    out = capsys.readouterr().out
    assert "of the targets' variation on its own samples at unseen transformations" in out
    assert "Variation of the targets explained on unseen transformations" in out
    assert "middle fifth" in out
    assert "Predictions for each group" in page.read_text(encoding="utf-8")
    assert called(*own, *few, "--missing", "highest fifth: 0°", "--json", "--fail-below", "1") == 1
    streams = capsys.readouterr()
    assert json.loads(streams.out)["question"]["task"] == "regression"
    assert "share of the variation explained" in streams.err
    assert called(*own, "--missing", "largest fifth: 0°") == 2  # whose nearest spelling is the lowest
    assert (
        "there are lowest fifth, second fifth, middle fifth, fourth fifth, highest" in capsys.readouterr().err
    )
    assert called(*own, "--task", "classification") == 2
    assert "expected one class number for each sample" in capsys.readouterr().err
    assert called("--model", f"{OWN}:build", *own[2:]) == 2
    assert "has 3 outputs, the data has 2 numbers to predict" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text", "seen"),
    [
        (
            ("--missing", "1: 0°,180°", "--missing", "0: 270"),
            "1: without 0°,180°; 0: without 270",
            [[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]],
        ),
        (
            ("--seen", "1,2: upright only"),
            "1,2: upright only",
            [[1, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0]],
        ),
        (
            ("--seen", "0: ±90°; others: every 2nd"),
            "0: ±90°; others: every 2nd",
            [[1, 1, 0, 1], [1, 0, 1, 0], [1, 0, 1, 0]],
        ),
        (
            ("--seen", "2: 0..90°", "--missing", "1: r^2,#3"),
            "2: 0..90°; 1: without r^2,#3",
            [[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]],
        ),
    ],
)
def test_coverage_in_words(few, words, text, seen, capsys):
    assert called("--model", f"{OWN}:build", *few, "-g", "C4", *words, "--json") == 0
    question = json.loads(capsys.readouterr().out)["question"]
    assert (question["coverage"], question["seen_share"]) == (text, seen)


def test_coverage_at_random_is_of_each_sample(few, capsys):
    assert called("--model", f"{OWN}:build", *few, "-g", "C4", "--seen", "once", "--json") == 0
    shares = json.loads(capsys.readouterr().out)["question"]["seen_share"]
    assert [sum(row) for row in shares] == [1, 1, 1]  # every sample in one of four
    assert any(share not in (0, 1) for row in shares for share in row)


def test_pilots_say_what_they_know_of_new_samples_of_known_ones_and_of_what_is_covered(more, capsys):
    assert called(*more, "--seen", "0: upright", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["method"], result["about"], result["prediction"]) == ("pilot", "new samples", None)
    assert result["pilot"]["plan"]["lengths"] == [10, 30]
    for which in ("known", "new"):
        asked = [[value is not None for value in row] for row in result["pilot"][which]["table"]]
        assert asked == [[False, True, True, True], [False] * 4, [False] * 4]
    covered = [[value is not None for value in row] for row in result["pilot"]["covered"]["table"]]
    assert covered == [[True, False, False, False], [True] * 4, [True] * 4]
    kinds = [one["kind"] for one in result["advice"]]
    assert kinds.count("augment") == 3  # all elements, every other one, one drawn for each sample
    assert kinds.count("nothing") == kinds.count("average") == 1


def test_angles_beside_the_samples_are_their_coverage(more, tmp_path, capsys):
    data = blobs(items=6)
    angles = 90 * (np.arange(len(data)) % 4)
    np.savez(tmp_path / "more.npz", X=data.x.numpy(), y=data.labels.numpy(), angles=angles)
    assert called(*more, "--json") == 0
    assert "each sample as the data has it" in capsys.readouterr().out
    assert called(*more, "--limit", "9") == 2
    assert "leave it out" in capsys.readouterr().err
    np.savez(tmp_path / "more.npz", X=data.x.numpy(), y=data.labels.numpy(), angles=angles + 7)
    assert called(*more, "--json") == 2
    assert "7" in capsys.readouterr().err


def test_new_samples_from_a_file_leave_the_data_whole(more, tmp_path, capsys):
    fresh = blobs(items=3, seed=0)
    np.savez(tmp_path / "fresh.npz", X=fresh.x.numpy(), y=fresh.labels.numpy())
    assert called(*more, "--new", str(tmp_path / "fresh.npz"), "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["samples"], result["about"]) == ([6, 6], "new samples")
    assert called(*more, "--json") == 0
    assert json.loads(capsys.readouterr().out)["samples"] == [5, 5]
    assert called(*more, "--samples", "3", "--json") == 0
    assert json.loads(capsys.readouterr().out)["samples"] == [3, 3]


def test_new_samples_of_words_belong_to_the_classes_of_the_same_words(more, tmp_path, capsys):
    fresh, names = blobs(items=6), np.array(["ash", "oak", "yew"])
    words = names[fresh.labels.numpy()]
    np.savez(tmp_path / "words.npz", X=fresh.x.numpy(), y=words)
    np.savez(tmp_path / "some.npz", X=fresh.x.numpy()[6:], y=words[6:])  # no ash
    own = [str(tmp_path / "words.npz") if word.endswith("more.npz") else word for word in more]
    assert called(*own, "--new", str(tmp_path / "some.npz"), "--seen", "ash,oak: upright", "--json") == 0
    table = json.loads(capsys.readouterr().out)["pilot"]["new"]["table"]
    assert [any(value is not None for value in row) for row in table] == [False, True, False]
    np.savez(tmp_path / "elm.npz", X=fresh.x.numpy()[:2], y=np.array(["elm", "oak"]))
    assert called(*own, "--new", str(tmp_path / "elm.npz")) == 2
    assert "new: class 'elm' is not in the data" in capsys.readouterr().err


@pytest.fixture
def birds(tmp_path):
    for name, images in zip(("lapwings", "terns"), blobs(items=4).x.split(4), strict=False):
        (tmp_path / name).mkdir()
        for k, image in enumerate(images):
            pixels = (image / image.max() * 255).byte().numpy()
            Image.fromarray(pixels).save(tmp_path / name / f"{k}.png")
    return ("--data", str(tmp_path), *KERNEL, "-g", "C4")


def test_folders_give_their_names_to_classes(birds, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert called(*birds, "--out", str(page)) == 0
    assert "lapwings" in capsys.readouterr().out
    assert "<td>terns</td>" in page.read_text(encoding="utf-8")
    assert called(*birds, "--missing", "terns: 0°,270°", "--json", "--limit", "5") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["question"]["class_names"] == ["lapwings", "terns"]
    assert result["question"]["seen_share"] == [[1, 1, 1, 1], [0, 1, 1, 0]]
    assert result["question"]["data"]["samples"] == 5
    assert called(*birds, "--missing", "tern: 0°") == 2
    assert "there is no class 'tern'; did you mean 'terns'?" in capsys.readouterr().err


def test_point_sets_are_left_as_they_are_unless_asked(tmp_path, capsys):
    x = np.random.default_rng(0).normal(size=(12, 10, 2))
    np.savez(tmp_path / "points.npz", X=x, y=np.arange(12) % 3)
    words = ("--data", str(tmp_path / "points.npz"), *KERNEL, "--json")
    found = []
    for option in ((), ("--no-standardise",), ("--standardise",)):
        assert called(*words, "-g", "C5", "-a", f"{OWN}:turned_points", *option) == 0
        found.append(json.loads(capsys.readouterr().out)["prediction"])
    assert max(one["invariance_error"] for one in found) < 1e-9  # clouds are centred by their mean point
    assert found[0]["density"] == found[1]["density"] != found[2]["density"]


def test_channels_last_images_get_one_line_with_what_to_do(tmp_path, capsys):
    np.savez(tmp_path / "colour.npz", X=np.random.default_rng(0).random((6, 12, 12, 3)), y=np.arange(6) % 3)
    for group in ("C4", "flip", "D4"):
        assert called("--data", str(tmp_path / "colour.npz"), "--group", group) == 2
        assert "X.transpose(0, 3, 1, 2)" in capsys.readouterr().err


def test_targets_that_change_with_the_sample(tmp_path, capsys):
    data, page = spots(items=20, both=True), tmp_path / "page.html"
    np.savez(tmp_path / "mine.npz", X=data.x.numpy(), y=data.targets.numpy())
    own = ("--model", f"{OWN}:two_numbers", "--data", str(tmp_path / "mine.npz"), "-g", "C4", *KERNEL)
    assert called(*own, "--out", str(page)) == 2
    said = capsys.readouterr().err
    assert "--target-action vector, same or FILE.py:FUNCTION" in said
    assert "The data cannot tell" in said
    assert said.count("\n") == 1
    assert not page.exists()
    assert called(*own, "--target-action", "vector", "--out", str(page)) == 0
    assert "in units of the targets" in capsys.readouterr().out
    assert "move: vector" in page.read_text(encoding="utf-8")
    assert called(*own, "--target-action", f"{OWN}:turned_back", "--json") == 0
    assert json.loads(capsys.readouterr().out)["question"]["target_action"] == "turned_back"
    for word, message in (
        ("image", "expected outputs with 2 axes"),
        (f"{OWN}:grown", "no representation of C4"),
    ):
        assert called(*own, "--target-action", word) == 2
        assert message in capsys.readouterr().err
