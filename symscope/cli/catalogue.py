"""`symscope list`: everything that has a name, by name."""

from __future__ import annotations

from typing import Annotated

import typer

from symscope.errors import InputError, nearest

GROUPS = (
    ("C8", "rotations by 1/8 turn: the cyclic group of order 8 (C and any number)"),
    ("D4", "rotations and reflections of the square, order 8 (D and any number)"),
    ("S3, A4", "all, or the even, permutations of 3 or 4 things"),
    ("C14xC14", "products with x: here the cyclic shifts of a 14 x 14 image"),
    ("Q, O", "the quaternion group; the rotations of the cube"),
)

SOURCES = (
    ("sample", "200 MNIST digits of each class, bundled: no download needed (the default)"),
    ("mnist", "all 70,000 digits, after `symscope data fetch mnist`"),
    ("FOLDER", "a folder with MNIST-like IDX files, plain or .gz"),
    ("FILE.npz", "your own arrays: `images` [n, h, w] and, if you have them, `labels` [n]"),
)


def catalogue(
    what: Annotated[
        str, typer.Argument(help="all, experiments, groups, actions or data.", metavar="[WHAT]")
    ] = "all",
) -> None:
    """Groups, actions and data sources by name.

    Examples:

      [cyan]symscope list[/cyan]             everything

      [cyan]symscope list groups[/cyan]      how groups are written
    """
    from rich.console import Console

    sections = {"groups": _groups, "actions": _actions, "data": _sources}
    if what != "all" and what not in sections:
        raise InputError(
            f"symscope list shows all, {', '.join(sections)}; got {what!r}: {nearest(what, ['all', *sections])}"
        )
    console = Console()
    for name, section in sections.items():
        if what in ("all", name):
            section(console)


def _table(console: object, title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    assert isinstance(console, Console)
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2), pad_edge=False
    )
    for index, column in enumerate(columns):
        table.add_column(column, style="cyan" if index == 0 else None, no_wrap=index == 0)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()


def _groups(console: object) -> None:
    _table(console, "Groups (--group)", ("name", "what it is"), list(GROUPS))


def _actions(console: object) -> None:
    from symscope.cli.data import ACTIONS

    rows = [(name, action.groups, action.does) for name, action in ACTIONS.items()]
    _table(console, "Actions on images (--action)", ("name", "groups", "what it does"), rows)


def _sources(console: object) -> None:
    _table(console, "Data (--data)", ("name", "what it is"), list(SOURCES))
