"""`symscope forecast` as a user meets it."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from PIL import Image

from symscope.cli import main
from tests.forecasting.own_code import build
from tests.forecasting.problems import blobs, spots

OWN = "tests.forecasting.own_code"


def called(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(("forecast", *words))
    return int(ended.value.code or 0)


@pytest.fixture
def few(tmp_path):
    data = blobs(items=4)
    np.savez(tmp_path / "mine.npz", X=data.x.numpy(), y=data.labels.numpy())
    return ("--data", str(tmp_path / "mine.npz"), "--per-class", "2", "--resamples", "1")


def test_help_says_what_the_exit_status_means(capsys):
    assert called("--help") == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "symscope forecast --model mlp" in words
    assert "1 the accuracy (of any network) is below --fail-below" in words


def test_a_user_s_own_network_and_data_give_a_page(few, tmp_path, capsys):
    page = tmp_path / "page.html"
    words = ("--model", f"{OWN}:build", *few, "--group", "C4", "--train", "--epochs", "5", "--out", str(page))
    assert called(*words) == 0
    out = capsys.readouterr().out
    assert out.startswith(("No: ", "Yes: ", "Borderline: "))
    assert "Advice" in out
    assert "trained" in out
    assert "but it has not learned its training data." in out  # five epochs are too few, and it says so
    assert "Caution: With adam at 0.001 and sgd at 0.02 the network has not learned" in out
    assert f"Report: {page}" in out
    assert "How to repeat it" in page.read_text(encoding="utf-8")


def test_numbers_for_programs_and_a_status_for_pipelines(few, capsys):
    words = ("--model", f"{OWN}:build", *few, "--group", "C2", "--action", f"{OWN}:negative", "--json")
    assert called(*words, "--fail-below", "0") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["question"]["group"] == "C2"
    assert result["question"]["action"] == "negative"
    above = min(result["accuracy"] + 0.01, 1.0)
    if result["accuracy"] < above:
        assert called(*words, "--fail-below", str(above)) == 1
        streams = capsys.readouterr()
        assert "is below" in streams.err
        assert json.loads(streams.out)["accuracy"] == result["accuracy"]


def test_numbers_instead_of_classes(tmp_path, capsys):
    data, page = spots(items=20, both=True), tmp_path / "page.html"
    np.savez(tmp_path / "mine.npz", X=data.x.numpy(), y=data.targets.numpy())
    own = ("--model", f"{OWN}:two_numbers", "--data", str(tmp_path / "mine.npz"), "-g", "C4")
    few = ("--per-class", "2", "--resamples", "2")
    assert called(*own, *few, "--train", "--epochs", "3", "--out", str(page)) == 0
    out = capsys.readouterr().out
    assert "of the targets' variation on unseen transformations" in out
    assert "Variation of the targets explained on unseen transformations" in out
    assert "middle fifth" in out
    assert "Predictions for each group" in page.read_text(encoding="utf-8")
    assert called(*own, *few, "--missing", "4:0", "--json", "--fail-below", "1") == 1
    streams = capsys.readouterr()
    assert json.loads(streams.out)["question"]["task"] == "regression"
    assert "share of the variation explained" in streams.err
    assert called(*own, "--task", "classification") == 2
    assert "expected one class number for each sample" in capsys.readouterr().err
    assert called("--model", f"{OWN}:build", *own[2:]) == 2
    assert "has 3 outputs, the data has 2 numbers to predict" in capsys.readouterr().err


def test_missing_cases_by_name(few, capsys):
    assert (
        called(
            "--model", f"{OWN}:build", *few, "-g", "C4", "--missing", "1:0,2", "--missing", "0:3", "--json"
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["question"]["missing"] == {"1": [0, 2], "0": [3]}


def test_weights_are_read_as_weights_alone(few, tmp_path, capsys):
    net = build(0)
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    words = ("--model", f"{OWN}:build", *few, "-g", "C4", "--json")
    assert called(*words, "--weights", str(tmp_path / "weights.pt")) == 0
    assert "weights come from a file" in json.loads(capsys.readouterr().out)["prediction"]["kernel_reason"]
    torch.save(net, tmp_path / "module.pt")
    assert called(*words, "--weights", str(tmp_path / "module.pt")) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--model", f"{OWN}:breaks"),
            "raised NameError: name 'unknown_width' is not defined (own_code.py, line",
        ),
        (("--model", f"{OWN}:nothing"), "has no function 'nothing'"),
        (("--model", f"{OWN}:leaves"), f"{OWN}:leaves: the function raised SystemExit: 0 (own_code.py, line"),
        (
            ("--model", f"{OWN}:LeavesInTraining", "--train"),
            "your code raised SystemExit: 0 (own_code.py, line",
        ),
        (
            ("--model", f"{OWN}:FailsInTraining", "--train"),
            "your code raised KeyError: 'width' (own_code.py, line",
        ),
        (("--data", f"{OWN}:leaves"), f"{OWN}:leaves: it raised SystemExit: 0 (own_code.py, line"),
        (("--data", f"{OWN}:Leaving"), f"{OWN}:Leaving: its dataset raised SystemExit: 0 (own_code.py, line"),
        (
            ("--action", f"{OWN}:leaves_at", "--group", "C2"),
            "its function raised SystemExit: 0 (own_code.py, line",
        ),
        (("--model", "mlpp"), "did you mean 'mlp'?"),
        (("--action", f"{OWN}:wider", "--group", "C2"), "for element 1 it returned (1, 6, 7)"),
        (("--group", "C9x"), "C9x"),
        (("--missing", "five"), "--missing five: expected CLASS:ELEMENTS"),
        (("--missing", "9:0"), "class 9 is not in the data"),
        (("--optimizer", "adam:fast", "--train"), "expected adam or sgd, with the rate"),
        (("--optimiser", "adam:fast", "--train"), "expected adam or sgd, with the rate"),
        (("--model", "mlp", "--optimiser", "sgd:1e30", "--train", "--epochs", "9"), "the loss is"),
        (("--train", "--epochs", "0"), "epochs"),
        (("--epochs", "-3"), "--epochs -3: it is about the check by training; add --train"),
        (("--batch", "32"), "--batch 32: it is about the check by training; add --train"),
        (("--optimiser", "sgd"), "--optimiser sgd: it is about the check by training; add --train"),
        (("--limit", "0"), "--limit: expected"),
        (("--fail-below", "90"), "--fail-below: expected an accuracy from 0 to 1, got 90"),
        (("--device", "tpu9"), "--device tpu9: PyTorch cannot use it"),
        (("--device", "meta"), "--device meta: PyTorch cannot use it"),
        (("--out", "nowhere/at/all.html"), "there is no folder"),
        (("--out", "."), "this is a folder; name the page to write"),
    ],
)
def test_a_mistake_is_one_line_status_2_and_nothing_half_written(
    few, words, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    chosen = {"--group": "C4", "--model": f"{OWN}:build"}
    given = [word for key, value in chosen.items() if key not in words for word in (key, value)]
    assert called(*few, *given, *words) == 2
    streams = capsys.readouterr()
    last = streams.err.strip().splitlines()[-1]
    assert last.startswith("symscope: ")
    assert message in last
    assert "Traceback" not in streams.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.fixture
def birds(tmp_path):
    for name, images in zip(("lapwings", "terns"), blobs(items=4).x.split(4), strict=False):
        (tmp_path / name).mkdir()
        for k, image in enumerate(images):
            pixels = (image / image.max() * 255).byte().numpy()
            Image.fromarray(pixels).save(tmp_path / name / f"{k}.png")
    return ("--data", str(tmp_path), "--per-class", "2", "--resamples", "1", "-g", "C4")


def test_folders_give_their_names_to_classes(birds, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert called(*birds, "--out", str(page)) == 0
    assert "lapwings" in capsys.readouterr().out
    assert "<td>terns</td>" in page.read_text(encoding="utf-8")
    assert called(*birds, "--missing", "terns:0,3", "--json", "--limit", "5") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["question"]["missing"], result["question"]["class_names"]) == (
        {"terns": [0, 3]},
        ["lapwings", "terns"],
    )
    assert result["question"]["data"]["samples"] == 5
    assert called(*birds, "--missing", "tern:0") == 2
    assert "there is no class 'tern'; did you mean 'terns'?" in capsys.readouterr().err


@pytest.mark.parametrize("before", ["an older page", None])
def test_ctrl_c_says_that_nothing_was_written(before, few, tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.html"
    if before is not None:
        page.write_text(before)

    def pressed(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("symscope.forecasting._forecast.draw_resample", pressed)
    assert called("--model", f"{OWN}:build", *few, "--out", str(page)) == 130
    streams = capsys.readouterr()
    assert streams.err.splitlines()[-1] == "symscope: stopped; nothing was written."
    assert streams.out == ""
    assert (page.read_text() if page.exists() else None) == before


def test_a_script_that_ends_itself_when_imported_is_said_so(few, tmp_path, capsys):
    (tmp_path / "script.py").write_text("import sys\n\nsys.exit(3)\n")
    assert called("--model", f"{tmp_path / 'script.py'}:build", *few) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("importing it raised SystemExit: 3 (script.py, line 3)")


def test_a_network_named_twice_is_refused(few, capsys):
    assert called("--model", "mlp", "--model", "mlp", *few) == 2
    assert "expected every network once, got mlp, mlp" in capsys.readouterr().err


@pytest.mark.parametrize("group", ["C4", "C5"])
def test_an_action_of_another_group_is_refused(group, few, tmp_path, capsys):
    """Under C4 by thirds element 3 is the identity: what is left out of the training data would be in it."""
    words = ("--group", group, "--action", f"{OWN}:by_two", "--out", str(tmp_path / "page.html"))
    assert called("--model", f"{OWN}:build", *few, *words) == 2
    streams = capsys.readouterr()
    assert f"by_two is not an action of {group}: elements 0 (e) and 3 (r^3) give the same" in streams.err
    assert not (tmp_path / "page.html").exists()


def test_an_action_through_a_smaller_group_is_that_group_s_and_said(few, tmp_path, capsys):
    result = {}
    for group in ("C3", "C6"):
        words = ("--model", f"{OWN}:build", *few, "--group", group, "--action", f"{OWN}:by_two")
        assert called(*words, "--json") == 0
        result[group] = json.loads(capsys.readouterr().out)
    assert result["C6"]["class_accuracy"] == result["C3"]["class_accuracy"]
    assert called(*words, "--out", str(tmp_path / "page.html")) == 0
    assert "Note: 6 of 6 samples are fixed by more than the identity of C6" in capsys.readouterr().out


def test_a_kernel_far_from_the_group_is_said_everywhere(few, tmp_path, capsys):
    page = tmp_path / "page.html"
    words = ("--model", f"{OWN}:build", *few, "--group", "C3", "--action", f"{OWN}:nearly")
    assert called(*words, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    error = result["prediction"]["invariance_error"]
    assert error > 0.05
    caution = result["cautions"][0]
    assert caution.startswith(f"The kernel is not invariant under C3 ({100 * error:.0f} %)")
    assert called(*words, "--out", str(page)) == 0
    assert f"Caution: {caution}" in capsys.readouterr().out
    assert page.read_text(encoding="utf-8").count(caution) == 1
    assert called(*words, "--model", "mlp", "--out", str(page)) == 0
    out = capsys.readouterr().out
    assert f"Caution, {OWN}:build: {caution}" in out


def test_brackets_in_names_are_no_markup_and_what_was_not_measured_is_a_dash(few, tmp_path, capsys):
    page = tmp_path / "res[bold].html"
    words = ("--model", f"{OWN}:build", "--group", "C4", "--missing", "0:1,2", "--out", str(page))
    assert called(*few, *words) == 0
    shown = capsys.readouterr().out
    assert f"Report: {page}" in shown
    assert "nan" not in shown
    assert "–" in shown
    assert page.is_file()


def test_several_networks_share_a_page_and_a_table(few, tmp_path, capsys):
    page = tmp_path / "page.html"
    two = ("--model", "mlp", "--model", f"{OWN}:build", *few, "--group", "C4")
    assert called(*two, "--out", str(page)) == 0
    lines = capsys.readouterr().out.splitlines()
    header = next(k for k, line in enumerate(lines) if line.startswith("network "))
    assert lines[header + 1].startswith("mlp ")
    assert any(line.startswith(f"{OWN}:build ") for line in lines[header + 1 :])
    assert lines[-1] == f"Report: {page}"
    assert 'id="mlp-forecast"' in page.read_text(encoding="utf-8")


def test_programs_get_a_list_and_every_network_is_held_to_the_limit(few, capsys):
    two = ("--model", "mlp", "--model", f"{OWN}:build", *few, "--group", "C4", "--json")
    status = called(*two, "--fail-below", "1")
    streams = capsys.readouterr()
    result = json.loads(streams.out)
    assert [one["model"]["name"] for one in result] == ["mlp", f"{OWN}:build"]
    below = [one["model"]["name"] for one in result if one["accuracy"] < 1]
    assert below
    assert status == 1
    assert streams.err.count("is below 1 (--fail-below)") == len(below)
    assert all(f"symscope: {name}: accuracy" in streams.err for name in below)


def test_what_the_user_s_code_prints_is_not_in_the_answer(few, tmp_path, capsys):
    (tmp_path / "loud.py").write_text(
        "from torch import nn\nprint('importing')\n\n\nclass Loud(nn.Linear):\n"
        "    def __init__(self):\n        super().__init__(36, 3)\n        print('building')\n\n"
        "    def forward(self, x):\n        print('running')\n        return super().forward(x.flatten(1))\n"
    )
    assert (
        called("--model", f"{tmp_path / 'loud.py'}:Loud", *few, "--group", "C2", "-a", "flip", "--json") == 0
    )
    streams = capsys.readouterr()
    assert json.loads(streams.out)["model"]["name"].endswith("Loud")
    assert all(word in streams.err for word in ("importing", "building", "running"))


def test_point_sets_are_left_as_they_are_unless_asked(tmp_path, capsys):
    x = np.random.default_rng(0).normal(size=(12, 10, 2))
    np.savez(tmp_path / "points.npz", X=x, y=np.arange(12) % 3)
    words = ("--data", str(tmp_path / "points.npz"), "--per-class", "2", "--resamples", "1", "--json")
    errors = []
    for option in ((), ("--no-standardise",), ("--standardise",)):
        assert called(*words, "-g", "C5", "-a", f"{OWN}:turned_points", *option) == 0
        errors.append(json.loads(capsys.readouterr().out)["prediction"]["invariance_error"])
    assert max(errors[:2]) < 1e-9 < 0.01 < errors[2]


@pytest.mark.parametrize(
    ("group", "said"),
    [("SO(2)", "take C8 (steps of 45°), C16"), ("S8", "take C8 or D8, which permute the same 8 points")],
)
def test_groups_that_are_not_listed_get_one_line_with_what_to_take(few, group, said, capsys):
    assert called(*few, "--group", group) == 2
    assert said in capsys.readouterr().err
    assert called(*few, "--group", group, "--action", f"{OWN}:negative") == 2
    assert said in capsys.readouterr().err


def test_channels_last_images_get_one_line_with_what_to_do(tmp_path, capsys):
    np.savez(tmp_path / "colour.npz", X=np.random.default_rng(0).random((6, 12, 12, 3)), y=np.arange(6) % 3)
    for group in ("C4", "flip", "D4"):
        assert called("--data", str(tmp_path / "colour.npz"), "--group", group) == 2
        assert "X.transpose(0, 3, 1, 2)" in capsys.readouterr().err
