"""The guide "Add your own experiment", followed word by word."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from symscope.cli import main
from tests.runs.program import ENVIRONMENT

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
GUIDE = (GUIDES / "add-your-own-experiment.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)


def expected(lines: str) -> re.Pattern[str]:
    """The output a guide shows, `...` for anything, and any number of spaces for spaces."""
    pieces = (re.escape(" ".join(piece.split())) for piece in lines.split("..."))
    return re.compile(".*".join(pieces), re.DOTALL)


def test_the_guide_does_what_it_says(tmp_path, monkeypatch, capsys):
    [name] = re.findall(r"Save this as `([^`]+)`", GUIDE)
    [code] = blocks("python")
    (tmp_path / name).write_text(code, encoding="utf-8")
    sessions = blocks("console")
    assert len(sessions) == 5
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for session in sessions:
        command, _, output = session.removeprefix("$ ").partition("\n")
        program, *words = shlex.split(command)
        if program == "symscope":
            with pytest.raises(SystemExit) as ended:
                main([*words, *(["--workers", "0"] if words[0] == "reproduce" else [])])
            status, streams = ended.value.code, capsys.readouterr()
            said = streams.out + streams.err
        else:
            assert program == "python"
            done = subprocess.run(
                [sys.executable, *words], env=ENVIRONMENT, capture_output=True, text=True, check=False
            )
            status, said = done.returncode, done.stdout + done.stderr
        shown = " ".join(said.split())
        assert status == (2 if output.startswith("symscope: ") else 0), shown
        assert expected(output).fullmatch(shown), f"{command}\n{shown}\n--- expected ---\n{output}"
    reports = list(tmp_path.glob("runs/mine-coins-quick-*/report.html"))
    assert len(reports) == 2


@pytest.mark.parametrize("guide", sorted(GUIDES.glob("*.md")), ids=lambda path: path.stem)
def test_commands_in_guides_exist(guide):
    """Every symscope command and option a guide names is one the program has."""
    import typer.main

    from symscope.cli import app

    group = typer.main.get_command(app)
    for line in re.findall(r"^(?:\$ )?(symscope [^#\n]*)", guide.read_text(encoding="utf-8"), re.MULTILINE):
        words = line.split()
        command = group
        for word in words[1:]:
            inner = getattr(command, "commands", {})
            if word not in inner:
                break
            command = inner[word]
        assert command is not group, line
        known = {
            option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
        }
        assert {word for word in words if word.startswith("--")} <= known | {"--help"}, line
