"""The `symscope` program: its commands, its help, and what a user's mistake looks like."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from symscope._version import __version__
from symscope.cli._audit import audit
from symscope.cli._data import data_app
from symscope.cli._demo import demo
from symscope.cli._discover import discover
from symscope.cli._forecast import forecast
from symscope.cli._list import catalogue
from symscope.cli._reproduce import compare, report, reproduce
from symscope.cli._terminal import PlainCommand, PlainGroup, one_line
from symscope.errors import InputError

HELP = """
Will a neural network learn a symmetry from data?

[bold]Start here[/bold]

  [cyan]symscope demo[/cyan]                     a first answer on bundled digits, as a page

  [cyan]symscope forecast --model mlp --group C8[/cyan]     will it learn this symmetry?

  [cyan]symscope audit --model nets.py:build --weights w.pt --data mine.npz --group C8[/cyan]
                                    why is my trained network not symmetric?

  [cyan]symscope list[/cyan]                     experiments, groups, actions, data

  [cyan]symscope data show --group C8[/cyan]     what a group does to a few digits

  [cyan]symscope reproduce spectral/circles-distance[/cyan]     a figure, claims checked

Every command has its own --help with examples.
Shell completion: [cyan]symscope --install-completion[/cyan].

Exit status: 0 fine; 1 a cell failed, or with --strict a statement of a paper
does not hold, or an accuracy or error is worse than asked; 2 bad input, with one
line on standard error: what was expected, what was given, what to do.
"""

app = typer.Typer(
    help=HELP,
    cls=PlainGroup,
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


app.command(name="list", cls=PlainCommand)(catalogue)
for command in (demo, forecast, audit, reproduce, report, compare, discover):
    app.command(cls=PlainCommand)(command)
app.add_typer(data_app, name="data")

BROKEN_PIPE = 141  # status of programs that nobody reads on (128 + SIGPIPE)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program; a user's mistake becomes one line on standard error and exit status 2.

    Args:
        arguments: What follows the program's name; None takes it from `sys.argv`.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no tick shows a question mark
    try:
        status = app(args=given, prog_name="symscope", standalone_mode=False)
        print(end="", flush=True)  # a full disk shows here at the latest
    except InputError as error:
        _stop(str(error), 2)
    except typer.TyperException as error:
        if not error.format_message():  # a group of commands without a command: its help
            app(args=[*given, "--help"], prog_name="symscope", standalone_mode=False)
            sys.exit(2)
        context = getattr(error, "ctx", None)
        at = "symscope" if context is None else context.command_path
        _stop(f"{error.format_message().rstrip('.')}. See '{at} --help'.", 2)
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        sys.exit(BROKEN_PIPE)  # click would say 1, which is an answer of some commands
    except MemoryError:
        _stop("this takes more memory than there is; take fewer samples or a smaller network.", 2)
    except typer.Abort:
        _stop("stopped.", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered has nowhere to go
        sys.exit(BROKEN_PIPE)
    except OSError as error:
        if error.filename is not None:
            _stop(f"{error.filename}: {error.strerror}.", 2)
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered has nowhere to go
        _stop(f"{error.strerror} while writing standard output; free some.", 2)
    sys.exit(status or 0)


def _stop(message: str, status: int) -> NoReturn:
    print(f"symscope: {one_line(message)}", file=sys.stderr)
    sys.exit(status)
