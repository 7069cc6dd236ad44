"""Options that several commands share, and help that shows flags as flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

Group = Annotated[
    str,
    typer.Option("--group", "-g", metavar="GROUP", help="C8, D4, C14xC14, S4, ...: `symscope list groups`."),
]
Data = Annotated[
    str,
    typer.Option(
        "--data",
        "-d",
        metavar="SOURCE",
        help="sample, mnist, FILE.npz (X, y), a folder with MNIST's files or with a folder of images for "
        "each class, or MODULE:FUNCTION returning a torch dataset.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of all randomness.")]
Page = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="HTML page to write.")]
Modules = Annotated[
    list[str] | None,
    typer.Option(
        "--module", "-m", metavar="MODULE", help="Your own experiments: a Python file or a module's name."
    ),
]
RunFolders = Annotated[
    list[Path], typer.Argument(metavar="RUN", help="Run folders, or a folder that holds them.")
]


def _without_value(option: Any) -> Any:
    """A flag takes no value, so its help names none."""
    if getattr(option, "is_flag", False) and option.metavar is None:
        option.metavar = ""
    return option


class PlainCommand(TyperCommand):
    """A command whose help shows flags without a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, flags without the name of a value."""
        return [_without_value(option) for option in super().get_params(ctx)]


class PlainGroup(TyperGroup):
    """A group of commands whose help shows flags without a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, flags without the name of a value."""
        return [_without_value(option) for option in super().get_params(ctx)]
