"""`symscope forecast` as a user meets it."""

from __future__ import annotations

import json

import pytest
import torch

from tests.cli.forecast_calls import OWN, called
from tests.forecasting.own_code import build


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
    assert "from pilot trainings at the cost of 30 of 30 steps on 5 samples per class" in out
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
            "raised SystemExit: 0 (own_code.py, line",
        ),
        (
            ("--model", f"{OWN}:FailsInTraining", "--train"),
            "raised KeyError: 'width' (own_code.py, line",
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
        (("--memory", "much"), "memory: expected bytes or text such as"),
        (("--method", "guess"), "method: expected 'auto', 'pilot' or 'kernel', got 'guess'"),
        (("--samples", "0"), "samples"),
        (("--new", "gone.npz"), "gone.npz"),
        (("--new", "sample"), "new: expected samples of shape (6, 6), as the data, got (28, 28)"),
        (("--optimizer", "adam:fast", "--train"), "expected adam or sgd, with the rate"),
        (("--optimiser", "adam:fast", "--train"), "expected adam or sgd, with the rate"),
        (("--optimiser", "adam:1e-3:0.9"), "for sgd the momentum: adam:1e-3, sgd:0.02:0.9"),
        (("--optimiser", "sgd:0.02:2"), "momentum: expected numbers from 0 up to, not including, 1"),
        (("--model", "mlp", "--optimiser", "sgd:1e30", "--train", "--steps", "20"), "the loss is"),
        (("--steps", "0"), "steps"),
        (("--batch", "-3"), "batch"),
        (("--limit", "0"), "--limit: expected"),
        (("--fail-below", "90"), "--fail-below: expected an accuracy from 0 to 1, got 90"),
        (("--device", "tpu9"), "--device tpu9: PyTorch cannot use it"),
        (("--device", "meta"), "--device meta: PyTorch cannot use it"),
        (("--out", "nowhere/at/all.html"), "there is no folder"),
        (("--out", "."), "this is a folder; name the file to write"),
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


def test_a_network_that_the_budget_refuses_does_not_stop_the_others(few, tmp_path, capsys):
    slow, page = tmp_path / "slow.py", tmp_path / "page.html"
    slow.write_text(
        "import time\n\nfrom torch import nn\n\n\nclass Slow(nn.Linear):\n"
        "    def __init__(self):\n        super().__init__(36, 3)\n\n"
        "    def forward(self, x):\n        time.sleep(0.1)\n        return super().forward(x.flatten(1))\n"
    )
    words = (*few, "--group", "C2", "-a", "flip", "--method", "pilot", "--budget", "4s", "--steps", "20")
    two = ("--model", f"{slow}:Slow", "--model", f"{OWN}:build", *words)
    assert called(*two, "--out", str(page)) == 0
    streams = capsys.readouterr()
    [line] = [one for one in streams.err.splitlines() if "left out" in one]
    assert line.startswith(f"symscope: left out: {slow}:Slow: a step of training takes")
    assert "s or more" in line
    assert f"Report: {page}" in streams.out
    assert "Left out: " in page.read_text(encoding="utf-8")
    assert called(*two, "--json", "--fail-below", "0") == 1
    streams = capsys.readouterr()
    [answer] = json.loads(streams.out)
    assert answer["notes"][-1].startswith("Left out: ")
    assert "what was left out may be below it" in streams.err
    assert called("--model", f"{slow}:Slow", *words) == 2
    assert "s or more" in capsys.readouterr().err


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


def test_groups_that_are_not_listed_get_one_line_with_what_to_take(few, capsys):
    assert called(*few, "--group", "S8") == 2
    assert "take C8 or D8, which permute the same 8 points" in capsys.readouterr().err
    assert called(*few, "--group", "SO(2)", "--action", f"{OWN}:negative") == 2
    assert "take C16" in capsys.readouterr().err
    assert called(*few, "--group", "SO(4)") == 2
    assert "name a finite group" in capsys.readouterr().err


def test_a_continuous_group_acts_through_a_finite_part(few, capsys):
    assert called(*few, "--group", "SO(2)", "--seen", "0: ±30°", "--json") == 0
    asked = json.loads(capsys.readouterr().out)["question"]
    assert (asked["group"], asked["coverage"]) == ("C16", "0: ±30°")
    assert asked["stands_for"].endswith("up to frequency 7")


def test_a_network_that_fails_loses_nothing_of_those_before_it(few, tmp_path, capsys):
    bad = tmp_path / "bad.py"
    bad.write_text("def build():\n    raise RuntimeError('no checkpoint')\n")
    two = ("--model", f"{OWN}:build", "--model", f"{bad}:build", *few, "--group", "C2", "-a", "flip")
    assert called(*two, "--method", "kernel", "--per-class", "2", "--json") == 2
    streams = capsys.readouterr()
    [answer] = json.loads(streams.out)
    assert answer["verdict"]
    [line] = streams.err.splitlines()
    assert "bad.py:build: the function raised RuntimeError: no checkpoint" in line
