"""Tables in the terminal."""

from __future__ import annotations

from rich.console import Console

from symscope.cli._output import simple_table


def test_text_is_shown_as_it_is():
    console = Console(width=60, record=True)
    console.print(simple_table("A long title of few", ("n",), [("[red]not markup[/red]",), ("x",)]))
    shown = console.export_text()
    assert "[red]not markup[/red]" in shown
    assert "A long title of few" in shown
