"""What the commands share in a terminal: options, consoles, tables, forecasts."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from unicodedata import category

import typer
from typer.core import TyperCommand, TyperGroup

from symscope.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from symscope.data import Action
    from symscope.forecasting import Forecast


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
        help="sample, mnist, fashion-mnist, FILE.npz (X, y), a folder with MNIST's files or with a folder of "
        "images for each class, or MODULE:FUNCTION returning a torch dataset.",
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


def results_console() -> Console:
    """Standard output, where text is shown as it is: brackets in a user's names are no markup."""
    from rich.console import Console

    wide: dict[str, Any] = {} if sys.stdout.isatty() else {"width": 140}
    return Console(markup=False, emoji=False, **wide)


def simple_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table without lines, its first column in colour; text is shown as it is, never as markup.

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


def one_line(message: str) -> str:
    """A message as one line that moves no cursor: control characters of a user's names are shown escaped.

    >>> print(one_line("no file a\\nb\\x1b[2J"))
    no file a\\nb\\x1b[2J
    """
    hidden = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, directions, halves of pairs, ends of lines
    escaped = (c.encode("unicode_escape").decode() if category(c) in hidden else c for c in message)
    return "".join(escaped)


def check_page_path(out: Path, option: str = "--out") -> None:
    """Refuses a page that cannot be written: better said now than after minutes of work.

    Args:
        out: Path of the page.
        option: Option that named it.

    Raises:
        InputError: A folder, or a file in a folder that is not there or cannot be written.
    """
    if out.is_dir():
        raise InputError(f"{option} {out}: this is a folder; name the file to write")
    folder = out.absolute().parent
    if not folder.is_dir():
        raise InputError(f"{option} {out}: there is no folder {folder}; make it first")
    check_writable(folder, f"{option} {out}: cannot write to {folder}")


def check_writable(folder: Path, problem: str) -> None:
    """Refuses a folder that no file can be made in; the message begins with the problem."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{problem}: {error.strerror}") from error


def named_action(group: str, action: str, shape: tuple[int, ...]) -> Action | str:
    """What --group and --action name: words for the library, or the user's own function as an action."""
    from symscope.data import action_from_source

    if ":" in action and action.partition(":")[0] not in ("rotation", "dihedral", "points"):
        return action_from_source(action, group, shape)
    if group.startswith("flip") and not action:
        return group
    return f"{group} {action}".strip()


def usable_device_name(name: str) -> str:
    """The name of a device, if PyTorch can compute on it.

    Raises:
        InputError: It cannot.
    """
    import torch

    try:
        torch.zeros(1, device=name).item()  # a device without numbers ("meta") is none
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(f"--device {name}: PyTorch cannot use it: {str(error).splitlines()[0]}") from error
    return name


def print_forecast(result: Forecast) -> None:
    """The verdict, accuracies by class, advice, cautions and notes of one forecast."""
    console, words = results_console(), result.question.task.words
    columns: list[str] = [words.one]
    values: list[Any] = []
    if result.pilot is not None:
        if result.pilot.new is not None:
            columns.append("new samples")
            values.append(result.pilot.new.class_score)
        columns.append("training samples")
        values.append(result.pilot.known.class_score)
        if result.pilot.covered is not None:
            columns.append("covered")
            values.append(result.pilot.covered.class_score)
    if result.prediction is not None:
        columns.append("architecture alone")
        values.append(result.prediction.class_score)
    if result.check is not None:
        columns.append("trained")
        values.append(result.check.class_accuracy if result.about_new else result.check.known_accuracy)
    intervals = result.class_interval
    columns.append("95 % interval")
    rows = [
        (name, *(accuracy_text(float(value[c])) for value in values), _interval_text(intervals[c].tolist()))
        for c, name in enumerate(result.question.class_names)
    ]
    console.print(result.verdict, soft_wrap=True)
    console.print()
    console.print(simple_table(words.heading, columns, rows))
    console.print()
    if result.advice:
        listed = [
            (
                one.text,
                f"{one.accuracy:.2f}",
                _interval_text([one.low, one.high]),
                one.training_data_text,
                one.training_time_text,
                f"x {one.inference_cost}",
            )
            for one in result.advice
        ]
        columns = ["what", "then", "95 % interval", "training data", "training", "inference"]
        console.print(simple_table(f"Price list: to reach {result.question.target_text}", columns, listed))
        console.print(result.ways_to_target, soft_wrap=True)
    for caution in _cautions(result):
        console.print(f"Caution: {caution}", soft_wrap=True)
    notes = result.notes if result.prediction is None else (*result.notes, *result.prediction.notes)
    for note in notes:
        console.print(f"Note: {note}", soft_wrap=True)


def _interval_text(ends: Sequence[float]) -> str:
    low, high = ends
    return "–" if low != low else f"{low:.2f} to {high:.2f}"


def print_comparison(forecasts: Sequence[Forecast]) -> None:
    """The forecasts of several networks in words, and their verdicts as a table."""
    from symscope.forecasting import comparison_sentences, verdict_table

    console = results_console()
    verdicts = verdict_table(forecasts)
    console.print(comparison_sentences(forecasts), soft_wrap=True)
    console.print()
    console.print(simple_table(verdicts.caption, verdicts.columns, verdicts.rows))
    console.print()
    for result in forecasts:
        for caution in _cautions(result):
            console.print(f"Caution, {result.model.name}: {caution}", soft_wrap=True)


def _cautions(result: Forecast) -> list[str]:
    """What to beware of, a training that failed first."""
    return [*filter(None, [result.training_failure]), *result.cautions]


def accuracy_text(value: float) -> str:
    """Two digits, or a dash where nothing was measured.

    >>> accuracy_text(0.375), accuracy_text(float("nan"))
    ('0.38', '–')
    """
    return "–" if value != value else f"{value:.2f}"
