"""The `symscope` program: its commands, its help, and what a user's mistake looks like."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from symscope._version import __version__
from symscope.cli._data import data_app
from symscope.cli._demo import demo
from symscope.cli._discover import discover
from symscope.cli._forecast import forecast
from symscope.cli._list import catalogue
from symscope.cli._reproduce import compare, report, reproduce
from symscope.errors import InputError

HELP = """
Will a neural network learn a symmetry from data?

[bold]Start here[/bold]

  [cyan]symscope demo[/cyan]                     a first answer on bundled digits, as a page

  [cyan]symscope forecast --model mlp --group C8[/cyan]     will it learn this symmetry?

  [cyan]symscope list[/cyan]                     experiments, groups, actions, data

  [cyan]symscope data show --group C8[/cyan]     what a group does to a few digits

  [cyan]symscope reproduce spectral/circles-distance[/cyan]     a figure, claims checked

Every command has its own --help with examples.
Shell completion: [cyan]symscope --install-completion[/cyan].

Exit status: 0 fine; 1 a checked claim did not hold, or an accuracy is below
what was asked; 2 bad input, with one line on standard error: what was
expected, what came, what to do.
"""

# typer names this class differently from version to version; it is what a bad parameter always is
USAGE_ERROR: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> bool:
    if wanted:
        print(f"symscope {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Options of the program itself; its help is `HELP`."""


app.command(name="list")(catalogue)
app.command()(demo)
app.command()(forecast)
app.command()(reproduce)
app.command()(report)
app.command()(compare)
app.command()(discover)
app.add_typer(data_app, name="data")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program; a user's mistake becomes one line on standard error and exit status 2.

    Args:
        arguments: What follows the program's name; None takes it from `sys.argv`.
    """
    given = None if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no tick shows a question mark
    try:
        status = app(args=given, prog_name="symscope", standalone_mode=False)
        print(end="", flush=True)  # a full disk shows here at the latest
    except InputError as error:
        _stop(str(error), 2)
    except USAGE_ERROR as error:
        if error.format_message():
            at = error.ctx.command_path if error.ctx else "symscope"
            _stop(f"{error.format_message().rstrip('.')}. See '{at} --help'.", 2)
        error.show()  # no command at all: the help
        sys.exit(2)
    except typer.Abort:
        _stop("stopped.", 130)
    except OSError as error:
        if error.filename is not None:
            _stop(f"{error.filename}: {error.strerror}.", 2)
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered has nowhere to go
        _stop(f"{error.strerror} while writing standard output; free some.", 2)
    sys.exit(status or 0)


def _stop(message: str, status: int) -> NoReturn:
    print(f"symscope: {message}", file=sys.stderr)
    sys.exit(status)
