"""`symscope list`: everything that has a name, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from symscope.cli._terminal import Modules, one_line, simple_table
from symscope.errors import InputError, nearest

DATA = {
    "sample": "200 MNIST digits of each class, bundled: nothing to download (the default)",
    "mnist": "all 60,000 training digits, after `symscope data fetch mnist`",
    "fashion-mnist": "60,000 pictures of clothes, after `symscope data fetch fashion-mnist`",
    "FILE.npz": "your own arrays: X [n, height, width] or [n, channels, height, width] for images, [n, "
    "length] or [n, channels, length] for series, [n, points, 2 or 3] for clouds, [n, nodes, nodes] for "
    "graphs; and y [n]; angles or elements [n] if samples are transformed already",
    "FOLDER": "a folder of images for each class, named after it; or MNIST's IDX files, plain or .gz",
    "FILE.py:FUNCTION": "a function of yours that returns a torch dataset",
}


def catalogue(
    what: Annotated[
        str, typer.Argument(help="all, experiments, groups, actions, networks or data.", metavar="WHAT")
    ] = "all",
    modules: Modules = None,
) -> None:
    """Experiments, groups, actions, networks and data sources by name.

    Examples:

      [cyan]symscope list[/cyan]                 everything

      [cyan]symscope list experiments[/cyan]     what `symscope reproduce` can run, and what it costs

      [cyan]symscope list groups[/cyan]          how groups are written
    """
    import sys

    from rich.console import Console

    sections: dict[str, tuple[str, tuple[str, ...], Callable[[], list[tuple[str, ...]]]]] = {
        "experiments": (
            "Experiments (symscope reproduce ID)",
            ("id", "paper", "figure", "what it shows", "cost of each preset"),
            lambda: _experiments(modules or []),
        ),
        "groups": ("Groups (--group)", ("name", "what it is"), _groups),
        "actions": ("Actions on data (--action)", ("name", "what it does"), _actions),
        "networks": ("Networks (--model)", ("name", "what it is"), _networks),
        "data": ("Data (--data)", ("name", "what it is"), lambda: list(DATA.items())),
    }
    if what != "all" and what not in sections:
        known = ["all", *sections]
        raise InputError(f"symscope list shows {', '.join(known)}; got {what!r}: {nearest(what, known)}")
    console = Console() if sys.stdout.isatty() else Console(width=200)
    for name, (title, columns, rows) in sections.items():
        if what in ("all", name):
            console.print(simple_table(title, columns, rows()))
            console.print()
    if what in ("all", "experiments"):
        warn_of_broken()


def warn_of_broken(names: Sequence[str] | None = None) -> bool:
    """A line on standard error for each module of experiments that cannot be imported; whether there are.

    Args:
        names: Only modules that mention one of these families; None for all.
    """
    import sys

    from symscope.runs import broken_modules

    failed = [one for one in broken_modules() if names is None or any(map(one.mentions, names))]
    for one in failed:
        print(f"symscope: left out: {one_line(one.message)}", file=sys.stderr)
    return bool(failed)


def _experiments(modules: list[str]) -> list[tuple[str, ...]]:
    from symscope.runs import experiments

    return [
        (
            name,
            experiment.paper,
            experiment.figure,
            experiment.shows,
            "\n".join(f"{preset}: {value.cost}" for preset, value in experiment.presets.items()),
        )
        for name, experiment in experiments(modules).items()
    ]


def _groups() -> list[tuple[str, ...]]:
    from symscope.groups import GRAMMAR

    return list(GRAMMAR.items())


def _actions() -> list[tuple[str, ...]]:
    from symscope.data import ACTIONS

    return list(ACTIONS.items())


def _networks() -> list[tuple[str, ...]]:
    from symscope.networks import NETWORKS

    return [(name, network.description) for name, network in NETWORKS.items()]
