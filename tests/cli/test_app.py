"""The program as a user meets it: help, version, mistakes, completion."""

from __future__ import annotations

import subprocess
import sys

import pytest

from symscope import __version__
from symscope.cli import main
from tests.experiments.program import ENVIRONMENT, symscope


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


def test_a_mistake_is_one_line_and_status_2():
    done = symscope("list", "grups")
    assert done.returncode == 2
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith(
        "symscope: symscope list shows all, experiments, groups, actions, data; got 'grups'"
    )
    assert line.endswith("did you mean 'groups'?")


def test_mistyped_commands_and_options_are_refused_with_the_nearest(capsys):
    assert called("reprodce") == 2
    assert "Did you mean 'reproduce'?" in " ".join(capsys.readouterr().err.split())
    assert called("list", "--modul", "x") == 2
    assert "--module" in capsys.readouterr().err


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
