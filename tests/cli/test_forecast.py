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
KERNEL = ("--method", "kernel", "--per-class", "2", "--resamples", "1")


def called(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(("forecast", *words))
    return int(ended.value.code or 0)


@pytest.fixture
def few(tmp_path):
    data = blobs(items=4)
    np.savez(tmp_path / "mine.npz", X=data.x.numpy(), y=data.labels.numpy())
    return ("--data", str(tmp_path / "mine.npz"), *KERNEL)


@pytest.fixture
def more(tmp_path):
    """Six samples of each class, of which one is kept apart; the budget is never what ends a pilot."""
    data = blobs(items=6)
    np.savez(tmp_path / "more.npz", X=data.x.numpy(), y=data.labels.numpy())
    pilot = ("--method", "pilot", "--budget", "1h", "--steps", "30", "--group", "C4")
    return ("--model", f"{OWN}:build", "--data", str(tmp_path / "more.npz"), *pilot)


def test_help_says_what_the_exit_status_means(capsys):
    assert called("--help") == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "symscope forecast --model mlp" in words
    assert "1 the accuracy (of any network) is below --fail-below" in words


def test_a_user_s_own_network_and_data_give_a_page(more, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert called(*more, "--train", "--out", str(page)) == 0
    out = capsys.readouterr().out
    assert out.startswith(("No: ", "Yes: ", "Borderline: "))
    assert "new samples at unseen transformations (C4, rotation)" in out
    assert "from pilot trainings of 30 of 30 steps on 5 samples per class" in out
    assert "Price list: to reach 0.90" in out
    assert "Augment: train on all 4 elements of C4" in out
    assert "trained" in out
    assert "but it has not learned its training data" in out  # five epochs are too few, and it says so
    assert "Caution: With " in out
    assert "the network has not learned" in out
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
    assert kinds.count("augment") == 2  # all elements, every other one
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


def test_a_method_is_used_alone_or_as_the_budget_allows(more, capsys):
    assert called(*more, "--method", "auto", "--per-class", "2", "--resamples", "1", "--json") == 0
    both = json.loads(capsys.readouterr().out)
    assert (both["method"], both["prediction"] is None, both["pilot"] is None) == ("pilot", False, False)
    assert called(*more, "--method", "kernel", "--per-class", "2", "--resamples", "1", "--json") == 0
    alone = json.loads(capsys.readouterr().out)
    assert (alone["method"], alone["pilot"], alone["advice"]) == ("kernel", None, [])
    assert alone["accuracy"] == both["prediction"]["accuracy"]


def test_a_budget_below_any_pilot_is_refused_with_the_one_that_would_do(more, capsys):
    words = [word if word != "1h" else "0.001s" for word in more]
    assert called(*words) == 2
    [line] = capsys.readouterr().err.strip().splitlines()[-1:]
    assert line.startswith(f"symscope: {OWN}:build: a step of training takes")
    assert "or more, fewer samples (options.samples, --samples)" in line


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
        (("--missing", "five"), "'five': no element of C4"),
        (("--missing", "9: 0°"), "there is no class '9'"),
        (("--missing", "1: 0..270°"), "every transformation of class 1 is missing"),
        (("--missing", "1: 45°"), "C4 turns by multiples of 90°; take 0° or 90°"),
        (("--missing", "1:"), "expected CLASSES: ELEMENTS, such as 'cats: 0°'"),
        (("--seen", ": 0°"), "expected CLASSES: ELEMENTS"),
        (("--seen", "1: 0°,,90°"), "expected elements between the commas"),
        (("--seen", "1: 0°", "--missing", "1: 90°"), "class 1 is said twice"),
        (("--seen", "all"), "nothing is missing, so that there is nothing to forecast"),
        (("--seen", "9 random"), "expected 1 to 4 random elements of C4"),
        (("--budget", "soon"), "budget: expected a time such as 30s, 5m or 1h, got 'soon'"),
        (("--budget", "0s"), "budget: expected more than 0 seconds"),
        (("--budget", "99d"), "at most a week"),
        (("--method", "guess"), "method: expected 'auto', 'pilot' or 'kernel', got 'guess'"),
        (("--samples", "0"), "samples"),
        (("--new", "gone.npz"), "gone.npz"),
        (("--new", "sample"), "new: expected samples of shape (6, 6), as the data, got (28, 28)"),
        (("--optimizer", "adam:fast", "--train"), "expected adam or sgd, with the rate"),
        (("--optimiser", "adam:fast", "--train"), "expected adam or sgd, with the rate"),
        (("--model", "mlp", "--optimiser", "sgd:1e30", "--train", "--steps", "20"), "the loss is"),
        (("--steps", "0"), "steps"),
        (("--batch", "-3"), "batch"),
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


def test_ctrl_c_keeps_what_is_known(few, tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.html"

    def pressed(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("symscope.forecasting._forecast.training_check", pressed)
    models = ("--model", f"{OWN}:build", "--model", "mlp")
    assert called(*models, *few, "--train", "--out", str(page)) == 130
    streams = capsys.readouterr()
    assert streams.err.splitlines()[-1] == "symscope: stopped; what was finished by then is shown."
    assert "Stopped (whole trainings): what was finished by then" in " ".join(streams.out.split())
    assert "Stopped (whole trainings)" in page.read_text(encoding="utf-8")
    assert "mlp" not in streams.out


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
    kernels = [one["prediction"]["resampled_class_accuracy"] for one in (result["C3"], result["C6"])]
    assert kernels[0] == kernels[1]
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
    words = ("--model", f"{OWN}:build", "--group", "C4", "--missing", "0: 90°,180°", "--out", str(page))
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
    words = ("--data", str(tmp_path / "points.npz"), *KERNEL, "--json")
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
