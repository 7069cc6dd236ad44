"""`symscope data`: fetch data sets, and look at what a group does to them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symscope.cli._terminal import Data, Group, PlainCommand, PlainGroup
from symscope.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from symscope.data import Action, LabelledData

CHANNELS = 4  # of a colour image, at most
COLUMNS = 16  # pictures of a row; of a larger group the elements are thinned out
SHORT = 14  # letters of an element's name; of longer ones half as many fit

data_app = typer.Typer(
    help="Fetch data, and look at what a group does to it.",
    cls=PlainGroup,
    no_args_is_help=True,
)


@data_app.command(cls=PlainCommand)
def fetch(
    name: Annotated[str, typer.Argument(help="The data set: mnist or fashion-mnist.", metavar="NAME")],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FOLDER",
            help="Folder to put it in; default: the user's cache.",
            show_default=False,
        ),
    ] = None,
    mirrors: Annotated[
        list[str] | None,
        typer.Option("--mirror", help="Ask this address instead of the public ones.", metavar="URL"),
    ] = None,
) -> None:
    """Download a data set from public mirrors, checked by SHA-256; an interrupted download goes on.

    Examples:

      [cyan]symscope data fetch mnist[/cyan]

      [cyan]symscope data fetch fashion-mnist[/cyan]

      [cyan]symscope data fetch mnist --to my/folder --mirror https://intranet/mnist/[/cyan]
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from symscope.data import data_folder, fetch_data

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        ids: dict[str, Any] = {}

        def advance(file: str, done: int, total: int) -> None:
            if file not in ids:
                ids[file] = bars.add_task(file, total=total or None)
            bars.update(ids[file], completed=done, total=total or None)

        folder = fetch_data(name, to or data_folder(name), mirrors or None, advance)
    print(f"{name} is in {folder}")
    print(f"Use it with --data {name if to is None else folder}")


@data_app.command(cls=PlainCommand)
def show(
    group: Group = "C8",
    action: Annotated[
        str,
        typer.Option(
            "--action",
            "-a",
            metavar="ACTION",
            help="How it acts: `symscope list actions`; default: as the samples' shape suggests.",
        ),
    ] = "",
    data: Data = "sample",
    samples: Annotated[
        int,
        typer.Option(
            "--samples", metavar="N", help="Number of samples, each of another class where possible."
        ),
    ] = 4,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed for drawing samples.")] = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="A .png, .svg, .pdf or .html file.")
    ] = Path("orbits.png"),
) -> None:
    """Draw the orbits of a few samples: one row per sample, one column per group element.

    Also prints how far the action is from an exact, orthogonal group action: rotating pixels is not one.

    Examples:

      [cyan]symscope data show --group C8 --action rotation[/cyan]

      [cyan]symscope data show --group D4 --action dihedral:orthogonal --out orbits.html[/cyan]

      [cyan]symscope data show --group C7xC7 --action shift --data mine.npz --samples 2[/cyan]

      [cyan]symscope data show --group D4 --action dihedral --data birds/[/cyan]     birds/terns/1.png, ...

      [cyan]symscope data show --group I --data clouds.npz[/cyan]     points in space
    """
    from symscope.data import (
        action_errors,
        default_tolerance,
        fixing_elements,
        parse_named_action,
        sample_kind,
    )

    if out.suffix not in (".png", ".svg", ".pdf", ".html"):
        raise InputError(f"--out {out}: expected a name that ends in .png, .svg, .pdf or .html")
    source, names = _shown(data, action)
    shape = tuple(source.x.shape[1:])
    acting = parse_named_action(f"{group} {action}".strip(), shape)[1]
    chosen = _few(source, data, samples, seed)
    kind = sample_kind(acting, shape)
    what = "images" if kind == "image" else "samples"
    far = action_errors(acting, _single(chosen.x))
    lines = [
        f"{acting.group.name} acting by {acting.name} on {len(chosen)} {what} of {chosen.name}.",
        *([f"{acting.note}."] if acting.note else []),
        f"Error as a group action, |g(hx) - (gh)x| / |x|: {far.homomorphism:.2g} at most.",
        f"Error as an orthogonal one (change of inner products): {far.orthogonality:.2g} at most.",
    ]
    points = acting.orbit(chosen.x)
    stabilisers, _ = fixing_elements(points, chosen.x, acting.group, default_tolerance(points.dtype))
    if fixed := sum(len(stabiliser) > 1 for stabiliser in stabilisers):
        lines.append(f"{fixed} of {len(chosen)} {what} are fixed by an element other than the identity.")
    rows = [str(label) if names is None else names[label] for label in chosen.labels.tolist()]
    _write(points, acting, kind, rows, lines, out)
    print("\n".join(lines))
    print(f"Picture: {out}")


def _shown(data: str, action: str) -> tuple[LabelledData, tuple[str, ...] | None]:
    """The samples a user names, series as images of one row, and the names of their classes."""
    from symscope.data import LabelledData, as_samples

    source, names = as_samples(data, task="classification")
    assert isinstance(source, LabelledData)
    if source.x.ndim == 2 and action.startswith(("shift", "flip")):
        return replace(source, x=source.x[:, None]), names
    if source.x.ndim != 3 and not (source.x.ndim == 4 and source.x.shape[1] <= CHANNELS):
        raise InputError(
            f"--data {data}: expected images [n, height, width], or with up to {CHANNELS} channels [n, "
            f"channels, height, width], clouds [n, points, 2 or 3], series (--action shift) or graphs, got "
            f"shape {tuple(source.x.shape)}"
        )
    return source, names


def _single(images: Tensor) -> Tensor:
    """Every channel as an image, those without any light left out."""
    single = images.flatten(0, -3)
    lit = single.flatten(1).any(1)
    return single[lit] if bool(lit.any()) else single[:1]


def _few(source: LabelledData, data: str, count: int, seed: int) -> LabelledData:
    """A few samples, each of another class while there are classes left."""
    import torch

    from symscope.numerics import seed_generator

    if not 1 <= count <= 64:
        raise InputError(f"--samples: expected 1 to 64 samples, got {count}")
    if not 0 <= seed < 2**63:
        raise InputError(f"--seed is 0 or more, below 2^63; got {seed}")
    if count > len(source):
        raise InputError(f"--samples {count}: {data} has only {len(source)} samples")
    generator = seed_generator(seed)
    order = torch.randperm(len(source), generator=generator).tolist()
    first: dict[int, list[int]] = {}
    for index in order:
        first.setdefault(int(source.labels[index]), []).append(index)
    rounds = max(len(members) for members in first.values())
    picked = [
        members[turn] for turn in range(rounds) for _, members in sorted(first.items()) if turn < len(members)
    ]
    return source.take(torch.tensor(picked[:count]))


def _write(points: Tensor, acting: Action, kind: str, rows: list[str], lines: list[str], out: Path) -> None:
    from symscope.report import (
        Picture,
        Section,
        Text,
        figure_bytes,
        image_element,
        orbit_figure,
        page,
        save_figure,
        write_page,
    )

    group = acting.group
    order = group.order
    most = COLUMNS if max(map(len, group.labels)) <= SHORT else COLUMNS // 2
    step = -(-order // most)
    shown = range(0, order, step)
    title = f"{group.name} by {acting.name}" + (f", every {step}th of {order} elements" if step > 1 else "")
    figure = orbit_figure(
        points[:, list(shown)],
        rows=rows,
        columns=[group.labels[g].replace(" about ", "\nabout ") for g in shown],
        title=title,
        kind=kind,
    )
    if out.suffix != ".html":
        save_figure(figure, out)
        return
    alt = (
        f"Grid of samples: a row for each of the classes {', '.join(rows)}, a column per element of "
        f"{group.name}."
    )
    picture = Picture(image_element(figure_bytes(figure, "png"), alt=alt), title)
    sections = [Section("Orbits", (picture, *[Text(line) for line in lines[1:]]))]
    write_page(page(title=f"Orbits under {group.name}", lead=lines[0], sections=sections), out)
