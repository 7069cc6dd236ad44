"""`symscope reproduce`, `report` and `compare`: run experiments, show a run, put two side by side."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symscope.cli._list import warn_of_broken
from symscope.cli._terminal import Modules, RunFolders
from symscope.errors import InputError

if TYPE_CHECKING:
    from symscope.runs import RunOutcome, RunRequest

OPTIONS = {"changes": "--set"}  # where the name is not the parameter's


def _complete(incomplete: str) -> list[str]:
    from symscope.runs import experiments

    known = experiments()
    return [
        name
        for name in (*dict.fromkeys(one.partition("/")[0] for one in known), *known)
        if name.startswith(incomplete)
    ]


Names = Annotated[
    list[str] | None,
    typer.Argument(
        help="Experiments, whole families of them, or run folders to continue.",
        metavar="ID",
        autocompletion=_complete,
        show_default=False,
    ),
]


def reproduce(
    names: Names = None,
    everything: Annotated[bool, typer.Option("--all", help="Every experiment there is.")] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="PRESET",
            help="quick, paper, or another the experiment has. Default: quick.",
            show_default=False,
        ),
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change one setting of the preset.", metavar="KEY=VALUE")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device", metavar="DEVICE", help="auto, cpu or cuda. Default: auto.", show_default=False
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", help="Seed of all randomness. Default: 0.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="Folder for run folders. Default: runs.", show_default=False
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            help="Local processes; 0: this one. Default: one per core.",
            show_default=False,
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask", help="Use the Dask cluster of this scheduler.", metavar="ADDRESS", show_default=False
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Keep finished cells, or compute every one anew.")
    ] = True,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="Run only the cells with these parameters: a long run in pieces.",
            metavar="NAME=VALUE,...",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 where a statement of a paper does not hold.")
    ] = False,
    modules: Modules = None,
) -> None:
    """Run experiments of the papers, check their claims, write a report.

    Finished cells are stored as they come. Whatever stops a run (Ctrl-C, kill, power), the same command
    goes on where it was; a finished run answers at once. Exit status: 0 finished, whatever the
    verdicts; 1 cells failed, or with --strict a statement of a paper does not hold; 2 bad input or an
    experiment that cannot be imported; 130 stopped by Ctrl-C.

    Examples:

      [cyan]symscope reproduce spectral/circles-distance[/cyan]

      [cyan]symscope reproduce spectral/circles-density --preset paper --set points=4,8,16[/cyan]

      [cyan]symscope reproduce linear --workers 4[/cyan]     every experiment whose id begins with linear/

      [cyan]symscope reproduce --all[/cyan]

      [cyan]symscope reproduce spectral/missing --dask tcp://head:8786[/cyan]

      [cyan]symscope reproduce runs/spectral-missing-quick-0123456789ab[/cyan]     continue a run

      [cyan]symscope reproduce spectral/networks --preset paper --only network=mlp --only angles=2,4[/cyan]

      [cyan]symscope reproduce mine/first --module mine.py[/cyan]     your own experiment
    """
    from symscope.cli._run_board import Board
    from symscope.runs import RunRequest, Workers, experiment_ids, experiments, run_experiments

    where, names, modules = Workers(workers, dask), names or [], modules or []
    families = [name for name in names if "/" not in name]
    left_out = (everything or families) and warn_of_broken(None if everything else families)
    settings = {"preset": preset, "changes": changes, "device": device, "seed": seed, "modules": modules}
    typed: dict[str, Any] = {name: value for name, value in settings.items() if value not in (None, [])}
    if folders := _run_folders(names, everything):
        typed.pop("modules", None)  # these are named again: no file of the folder decides what is imported
        requests = _continued(folders, typed if out is None else {**typed, "out": out}, modules)
        out = folders[0].resolve().parent
    else:
        wanted = [one for name in names for one in experiment_ids(name, modules)] or experiments(modules)
        requests, out = [RunRequest.of(name, **typed) for name in wanted], out or Path("runs")
    board = Board(requests)
    try:
        with board:
            outcomes = run_experiments(
                requests,
                out,
                where,
                progress=board.progress,
                on_finish=board.finished,
                warn=board.warn,
                fresh=not resume,
                only=_only(only or []),
            )
    except KeyboardInterrupt:
        print(
            f"\nStopped; {board.done} of {board.total} cells are finished and kept. Continue with:\n  "
            f"{_again()}",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None
    if len(outcomes) < len(requests):
        print(f"{board.done} of {board.total} cells are finished and kept; the others were not asked for.")
    if outcomes:
        _write_reports(outcomes, out)
    statuses = [outcome.strict_status if strict else outcome.status for outcome in outcomes]
    raise typer.Exit(2 if left_out else max(statuses, default=0))


def report(
    runs: RunFolders,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The page; default: report.html in the folder.",
            show_default=False,
        ),
    ] = None,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Make plots and claims anew from the stored cells first.")
    ] = False,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="With --redraw: also runs whose cells are not all there.")
    ] = False,
    modules: Modules = None,
) -> None:
    """Write the report of one run or several: one HTML file that needs no network.

    Examples:

      [cyan]symscope report runs/spectral-missing-quick-0123456789ab[/cyan]

      [cyan]symscope report runs --out all.html[/cyan]     every finished run on one page

      [cyan]symscope report runs/spectral-... --redraw[/cyan]     with the plots of today's version

      [cyan]symscope report runs/spectral-... --redraw --unfinished[/cyan]     of the cells that are there
    """
    from symscope.report import write_page
    from symscope.runs import redraw_run, run_folders, run_report

    folders = run_folders(runs)
    if redraw:
        for folder in folders:
            redraw_run(folder, modules or [], unfinished=unfinished)
    target = out or _page_inside(runs[0])
    write_page(run_report(folders), target)
    print(target)


def compare(
    a: Annotated[Path, typer.Argument(help="A run folder.", metavar="A")],
    b: Annotated[Path, typer.Argument(help="Another, of the same experiment.", metavar="B")],
) -> None:
    """Two runs of one experiment side by side: settings, claims, tables.

    Example: [cyan]symscope compare runs/spectral-missing-quick-... runs/spectral-missing-paper-...[/cyan]
    """
    from symscope.cli._terminal import results_console, simple_table
    from symscope.runs import compare_runs

    console = results_console()
    result = compare_runs(a, b)
    console.print(f"A  {result.names[0]}\nB  {result.names[1]}\n")
    if result.settings:
        console.print(simple_table("Asked differently", ("setting", "A", "B"), result.settings))
    console.print(simple_table("Claims", ("claim", "A", "B"), result.claims))
    console.print(simple_table("Tables", ("table", "column", "difference"), result.tables))
    console.print("The tables are equal, bit for bit." if result.same else "The tables differ.")


def _run_folders(names: list[str], everything: bool) -> list[Path]:
    """The names as run folders to continue; none where they are experiments."""
    if everything == bool(names):
        raise InputError(
            "say which experiments to run, or --all (not both); `symscope list experiments` shows them"
        )
    folders = [Path(name) for name in names if (Path(name) / "run.json").exists()]
    if folders and len(folders) < len(names):
        raise InputError("name experiments or run folders, not both in one command")
    return folders


def _continued(folders: list[Path], typed: dict[str, Any], modules: list[str]) -> list[RunRequest]:
    """The requests of run folders; they bring their own settings and their own place."""
    from symscope.runs import RunRequest

    requests = [RunRequest.from_folder(folder, modules) for folder in folders]
    if typed:
        ids = " and ".join(sorted({request.experiment.id for request in requests}))
        options = [OPTIONS.get(name, f"--{name}") for name in typed]
        raise InputError(
            f"{', '.join(options)}: a run folder is continued with its own; leave that out, or name {ids} "
            "instead of the folder to start another run"
        )
    if len({folder.resolve().parent for folder in folders}) > 1:
        raise InputError("run folders are continued from one place at a time; name those of one folder")
    for folder, request in zip(folders, requests, strict=True):
        if folder.resolve().name != request.folder_name:
            raise InputError(f"{folder} was renamed: name it {request.folder_name} again to continue it")
    return requests


def _only(texts: list[str]) -> dict[str, set[str]]:
    """`network=mlp,conv` and the like, by name."""
    asked: dict[str, set[str]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not (name and equals and values):
            raise InputError(f"--only {text}: expected NAME=VALUE or NAME=VALUE,VALUE")
        asked.setdefault(name, set()).update(values.split(","))
    return asked


def _again() -> str:
    """The same command, without --fresh: that would throw away what is there."""
    words = [word for word in sys.argv[1:] if word != "--fresh"]
    return shlex.join(["symscope", *words])


def _page_inside(folder: Path) -> Path:
    """The page of a folder, which may be somebody else's: no link there decides which file is overwritten."""
    path = folder / "report.html"
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InputError(f"{path} is a link or no file, so no page is written there; remove it")
    return path


def _write_reports(outcomes: list[RunOutcome], out: Path) -> None:
    from symscope.report import write_page
    from symscope.runs import run_report

    for outcome in outcomes:
        write_page(run_report([outcome.folder]), _page_inside(outcome.folder))
    target = outcomes[0].folder / "report.html"
    if len(outcomes) > 1:
        target = _page_inside(out)
        write_page(run_report([outcome.folder for outcome in outcomes]), target)
    print(f"Report: {target}")
