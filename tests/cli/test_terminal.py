"""Help as a reader sees it: flags without a type, values with a telling name."""

from __future__ import annotations

import re

import pytest
import typer
from rich.console import Console

from symscope.cli._terminal import simple_table
from tests.cli.test_app import called


@pytest.mark.parametrize(
    "command",
    [(), ("list",), ("demo",), ("forecast",), ("reproduce",), ("report",), ("discover",), ("data", "show")],
)
def test_no_option_shows_a_python_type(command, capsys):
    assert called(*command, "--help") == 0
    options = re.findall(r"^│ +--.*$", capsys.readouterr().out, flags=re.MULTILINE)
    assert len(options) > 1
    for line in options:
        assert not re.search(r"<[\w\[\]]+>|\b(TEXT|INTEGER|FLOAT|PATH)\b", line)


def test_the_parser_s_errors_are_of_one_public_type():
    """`main` turns them into one line: if typer changes their base class, this is where it shows."""
    assert issubclass(typer.BadParameter, typer.TyperException)
    refused = typer.BadParameter("no such colour")
    assert "no such colour" in refused.format_message()


def test_an_error_names_the_help_of_its_command(capsys):
    assert called("data", "show", "--gruop", "C8") == 2
    assert capsys.readouterr().err.rstrip().endswith("See 'symscope data show --help'.")
    assert called("data") == 2
    assert "fetch" in capsys.readouterr().out


def test_text_is_shown_as_it_is():
    console = Console(width=60, record=True)
    console.print(simple_table("A long title of few", ("n",), [("[red]not markup[/red]",), ("x",)]))
    shown = console.export_text()
    assert "[red]not markup[/red]" in shown
    assert "A long title of few" in shown
