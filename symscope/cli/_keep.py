"""`symscope keep`: finished runs as pages that a repository can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def keep(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders, or a folder that holds them.", metavar="RUN...")
    ],
    to: Annotated[Path, typer.Option("--to", "-t", help="Folder of kept results.")] = Path("docs/results"),
    replace: Annotated[
        bool, typer.Option("--replace", help="Also replace a result of another preset or other settings.")
    ] = False,
) -> None:
    """Keep finished runs: a Markdown page each, with claims and small pictures, and an index of all.

    A page says how to run its experiment again, and on what machine it ran. Keeping a run of the same preset
    again replaces the page.

    Examples:

      [cyan]symscope keep runs/spectral-missing-paper-0123456789ab[/cyan]

      [cyan]symscope keep runs --to docs/results --replace[/cyan]     every finished run in a folder
    """
    from symscope.runs import keep as kept
    from symscope.runs import run_folders

    folders = run_folders(runs)
    for page in kept(folders, to, replace=replace):
        print(page)
