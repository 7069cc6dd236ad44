"""The guide "Add your own experiment", followed word by word."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs.program import ENVIRONMENT

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
GUIDE = (GUIDES / "add-your-own-experiment.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)


def expected(lines: str) -> re.Pattern[str]:
    """The output a guide shows, `...` for anything, and any number of spaces for spaces."""
    pieces = (re.escape(" ".join(piece.split())) for piece in lines.split("..."))
    return re.compile(".*".join(pieces), re.DOTALL)


def test_the_guide_does_what_it_says(tmp_path):
    [name] = re.findall(r"Save this as `([^`]+)`", GUIDE)
    [code] = blocks("python")
    (tmp_path / name).write_text(code, encoding="utf-8")
    sessions = blocks("console")
    assert len(sessions) == 5
    environment = {**ENVIRONMENT, "PATH": f"{BIN}:{ENVIRONMENT['PATH']}"}
    for session in sessions:
        command, _, output = session.removeprefix("$ ").partition("\n")
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        shown = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == (2 if output.startswith("symscope: ") else 0), shown
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
