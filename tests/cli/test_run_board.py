"""What a person sees in a terminal while experiments run."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from symscope.cli._run_board import raised
from tests.cli.test_app import called
from tests.runs.program import ENVIRONMENT, TOY, other_toy


def test_bars_time_left_and_claims_in_a_real_terminal(tmp_path):
    master, slave = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "symscope.cli",
        "reproduce",
        "toy/matrices",
        "toy/others",
        "--module",
        TOY,
    ]
    options = ["--module", other_toy(tmp_path), "--workers", "0", "--device", "cpu"]
    options += ["--out", str(tmp_path / "runs"), "--set", "seconds=0.02"]
    environment = {**ENVIRONMENT, "COLUMNS": "100", "LINES": "40", "TERM": "xterm-256color"}
    process = subprocess.Popen([*command, *options], stdout=slave, stderr=slave, stdin=slave, env=environment)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the terminal closes with the last process on it
            break
        if not part:
            break
        shown += part
    assert process.wait(timeout=30) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert re.search(r"toy/matrices\s+━+.*6/6", text)
    assert re.search(r"toy/others\s+[━╸╺ ]+.*/6\b", text)
    assert re.search(r"everything\s+[━╸╺ ]+.*/12 .*left", text)
    final = text[text.rindex("Claims") :]
    assert "✓ holds" in final
    assert "○ not checked at this size" in final


def test_of_an_error_of_many_lines_the_first_is_shown_and_where_the_rest_is(tmp_path, capsys):
    """The name of the error stands in the first line of its message, which need not be the last one."""
    mine = tmp_path / "mine.py"
    source = Path(TOY).read_text()
    source = source.replace("was told to fail", "was told to fail\\nindented:\\n  a\\nthe last line")
    source = source.replace(
        "    norms = tables", "    raise LookupError('no norms\\nno claims')\n    norms = tables"
    )
    mine.write_text(source)
    words = ("reproduce", "toy/matrices", "--module", str(mine), "--workers", "0", "--device", "cpu")
    assert called(*words, "--set", "fail=1", "--out", str(tmp_path / "runs")) == 1
    said = capsys.readouterr().err.splitlines()
    [folder] = (tmp_path / "runs").iterdir()
    assert said == [
        f"toy/matrices: 1 of 6 cells failed; the tracebacks are in {folder / 'cells'} and in the report; the "
        "same command tries them again",
        "  ZeroDivisionError: cell 1 was told to fail (and 3 more lines)",
        "toy/matrices: plots or claims could not be made: LookupError: no norms (and 1 more line); the "
        "traceback is in the report",
    ]
    page = (folder / "report.html").read_text()
    assert "the last line" in page
    assert "no claims" in page


def test_the_error_is_found_in_a_traceback():
    def text(raise_: str) -> str:
        with pytest.raises(Exception) as caught:
            exec(raise_)
        return "".join(traceback.format_exception(caught.value))

    assert raised(text("raise KeyError('x')")) == "KeyError: 'x'"
    assert raised(text("raise ValueError")) == "ValueError"
    chained = "try:\n  1 / 0\nexcept ZeroDivisionError as error:\n  raise ValueError('a\\nb') from error"
    assert raised(text(chained)) == "ValueError: a (and 1 more line)"
    inner = "raise RuntimeError('caught\\nTraceback (most recent call last):\\n  File x\\nOSError: y')"
    assert raised(text(inner)) == "RuntimeError: caught (and 3 more lines)"
    assert raised(text("import symscope\nraise symscope.InputError('bad')")) == "InputError: bad"
    assert raised(text("compile('1 +', 'x', 'exec')")).startswith("SyntaxError: ")
    assert (
        raised("The cell ended: KilledWorker: a\nb\n") == "The cell ended: KilledWorker: a (and 1 more line)"
    )
