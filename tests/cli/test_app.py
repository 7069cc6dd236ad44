"""The program as a user meets it: help, version, mistakes, completion."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from symscope import __version__
from symscope.cli import main
from tests.runs.program import ENVIRONMENT, TOY, symscope


def called(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


def test_version(capsys):
    assert called("--version") == 0
    assert capsys.readouterr().out == f"symscope {__version__}\n"


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("list",),
        ("data",),
        ("data", "show"),
        ("data", "fetch"),
        ("reproduce",),
        ("report",),
        ("compare",),
        ("demo",),
    ],
)
def test_every_help_teaches_by_example(command, capsys):
    assert called(*command, "--help") == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "symscope " + " ".join(command) in words
    assert ("Example" in words) or command in ((), ("data",))


def test_help_is_quick_because_nothing_heavy_is_loaded():
    script = (
        "import sys\nfrom symscope.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('torch', 'numpy', 'pandas', 'matplotlib', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "words",
    [
        ("reproduce", "a\nb"),
        ("reproduce", "spectral/missing", "--set", "a\r\n=1"),
        ("report", "no\x1b[2J\u2028folder"),
        ("compare", "\udc80\n", "[/red]"),
        ("no\nsuch",),
        ("list", "--no\nsuch"),
    ],
)
def test_control_characters_in_arguments_are_shown_escaped(words, capsys):
    assert called(*words) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert line.startswith("symscope: ")


def test_a_mistake_is_one_line_and_status_2():
    done = symscope("list", "grups")
    assert done.returncode == 2
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith(
        "symscope: symscope list shows all, experiments, groups, actions, networks, data; got 'grups'"
    )
    assert line.endswith("did you mean 'groups'?")


def test_mistyped_commands_and_options_are_refused_with_the_nearest(capsys):
    assert called("reprodce") == 2
    assert "Did you mean 'reproduce'?" in " ".join(capsys.readouterr().err.split())
    assert called("list", "--modul", "x") == 2
    assert "--module" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("reproduce", "--seed", "x"), "Invalid value for '--seed'"),
        (("reproduce", "--sede", "1"), "No such option: --sede"),
        (("report",), "Missing argument 'RUN'"),
        (("forecast", "--model"), "requires an argument"),
        (("data", "shwo"), "No such command 'shwo'"),
    ],
)
def test_what_the_parser_refuses_is_one_line_too(words, said, capsys):
    assert called(*words) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("symscope: ")
    assert said in line
    assert line.endswith("--help'.")


def test_without_a_command_the_help_is_shown(capsys):
    assert called() == 2
    shown = capsys.readouterr()
    assert "Start here" in shown.out + shown.err


def test_a_terminal_that_knows_no_ticks_still_gets_its_result(tmp_path):
    command = [sys.executable, "-m", "symscope.cli", "reproduce", "toy/matrices", "--module", TOY]
    options = ["--set", "cells=1", "--out", str(tmp_path), "--workers", "0"]
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*command, *options], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "Report: " in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_behind_standard_output_is_said_in_one_line():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "symscope.cli", "--help"]
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, check=False
        )
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("symscope: No space left on device")


@pytest.mark.parametrize(("shell", "variable"), [("bash", "COMP_WORDS"), ("zsh", "_TYPER_COMPLETE_ARGS")])
def test_the_shell_completes_commands(shell, variable):
    typed = "symscope re"
    environment = {
        **ENVIRONMENT,
        "_SYMSCOPE_COMPLETE": f"complete_{shell}",
        variable: typed,
        "COMP_CWORD": "1",
    }
    command = [sys.executable, "-m", "symscope.cli"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert "reproduce" in done.stdout
    assert "report" in done.stdout
    assert "compare" not in done.stdout


@pytest.mark.parametrize("command", [("forecast",), ("discover",), ("data", "show"), ("reproduce", "a")])
@pytest.mark.parametrize("wrong", [("--seed", "x"), ("--seed",), ("--nothing",), ("--seed", "1.5")])
def test_wrong_options_are_one_line(command, wrong, capsys):
    assert called(*command, *wrong) == 2
    streams = capsys.readouterr()
    [line] = streams.err.splitlines()
    assert line.startswith("symscope: ")
    assert line.endswith("--help'.")
    assert streams.out == ""


def test_too_little_memory_is_one_line(monkeypatch, capsys):
    def hungry(**options: object) -> None:
        raise MemoryError

    monkeypatch.setattr("symscope.cli._app.app", hungry)
    assert called("list") == 2
    assert capsys.readouterr().err.startswith("symscope: this takes more memory than there is")
