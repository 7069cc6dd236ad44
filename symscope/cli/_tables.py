"""Tables as the terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def simple_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table without lines, its first column in colour; text is shown as it is, never read as markup.

    >>> simple_table("Groups", ("name", "what"), [("C8", "cyclic")]).row_count
    1
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 2, 0, 0),
        min_width=len(title),
    )
    for index, column in enumerate(columns):
        table.add_column(column, style="cyan" if index == 0 else None, overflow="fold")
    for row in rows:
        table.add_row(*[Text(cell) for cell in row])
    return table
