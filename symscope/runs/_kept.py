"""Results kept with the documentation: finished runs as Markdown pages with small pictures, and an index."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, final

from symscope.errors import InputError
from symscope.runs._claims import Claim, Verdict, measured_text
from symscope.runs._commands import command_of
from symscope.runs._outcome import Outcome, outcome
from symscope.runs._run_page import tally
from symscope.runs._store import RunFolder, read_json, write_bytes

LARGEST_PICTURE = 150_000  # bytes: a repository keeps every version of a picture for ever
NARROWEST = 640  # pixels: below this the labels of a figure cannot be read
SYMBOLS = {Verdict.REPRODUCED: "✓", Verdict.NOT_REPRODUCED: "✗", Verdict.NOT_CHECKED: "○"}
MARK = "<!-- symscope result: "
END = " -->"
INDEX_MARK = "<!-- symscope index of results -->"


@final
@dataclass(frozen=True)
class Kept:
    """What the index says about one kept result; the page carries it in its first line.

    Attributes:
        experiment: Its id.
        paper: The paper's title.
        figure: The paper's figures it answers.
        preset: The preset's name, with "changed" when settings differ from it.
        reproduced: How many claims were reproduced.
        not_reproduced: How many were not.
        not_checked: How many could not be checked at this size.
        device: What it ran on.
        minutes: Spent in cells, all workers together.
        figures: File names of the pictures beside the page.
    """

    experiment: str
    paper: str
    figure: str
    preset: str
    reproduced: int
    not_reproduced: int
    not_checked: int
    device: str
    minutes: float
    figures: tuple[str, ...]


def keep(runs: Sequence[Path], to: Path, *, replace: bool = False) -> list[Path]:
    """Write the page and pictures of every run, and the index of all results in the folder.

    Args:
        runs: Folders of finished runs, each of another experiment.
        to: Folder of kept results; it is made if need be.
        replace: Replace a kept result of another preset or other settings.

    Returns:
        The pages, and the index last.

    Raises:
        InputError: No runs, runs that are not finished, two of one experiment, a page that was kept with
            other settings, a page that is not a kept result, a picture that cannot be made small enough, or
            a folder that cannot be written.
    """
    if not runs:
        raise InputError("expected at least one run folder to keep, got none")
    finished = [_finished(RunFolder(path)) for path in runs]
    names = [asked["experiment"] for _, asked, _ in finished]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"one result is kept of each experiment; several runs are of {', '.join(twice)}")
    _check_own_index(to / "index.md")
    pages = []
    for folder, asked, result in finished:
        pictures = _pictures(folder, asked)
        known = _kept(asked, result, folder, tuple(pictures))
        path = to / f"{_stem(known.experiment)}.md"
        before = _replaceable(path, known, replace)
        foreign = sorted(name for name in pictures if name not in before and (to / name).exists())
        if foreign:
            raise InputError(
                f"{to / foreign[0]} is not of a kept result and would be overwritten; move it, or choose "
                "another --to"
            )
        stale = before - set(pictures)
        _make(to)
        for name, content in pictures.items():
            write_bytes(to / name, content)
        write_bytes(path, _page(folder, asked, result, known).encode())
        for name in stale:
            (to / name).unlink(missing_ok=True)
        pages.append(path)
    write_bytes(to / "index.md", index(to).encode())
    return [*pages, to / "index.md"]


def kept(folder: Path) -> list[Kept]:
    """The results kept in a folder, in the order of their ids; other Markdown pages there are left out.

    Args:
        folder: Where `keep` wrote.

    Raises:
        InputError: A page whose first line was damaged.
    """
    found = [result for path in sorted(folder.glob("*.md")) if (result := _known(path)) is not None]
    return sorted(found, key=lambda result: result.experiment)


def index(folder: Path) -> str:
    """The index page of a folder of kept results: one table per paper, with the verdicts counted.

    Args:
        folder: Where `keep` wrote.

    Raises:
        InputError: No kept results there, or a damaged one.
    """
    results = kept(folder)
    if not results:
        raise InputError(f"{folder} holds no kept results; `symscope keep RUN --to {folder}` writes them")
    good, bad, open_ = (
        sum(getattr(result, name) for result in results)
        for name in ("reproduced", "not_reproduced", "not_checked")
    )
    lines = [
        INDEX_MARK,
        "# Results",
        "",
        f"{len(results)} experiments with {good + bad + open_} claims: {good} reproduced, {bad} not "
        f"reproduced, {open_} not checked at the size that was run. Every page says how to run its "
        "experiment again.",
    ]
    for paper in sorted({result.paper for result in results}):
        lines += [
            "",
            f"## {_plain(paper)}",
            "",
            "| experiment | paper's figure | preset | reproduced | not reproduced | not checked | ran on "
            "| minutes, all cells |",
            "| --- | --- | --- | ---: | ---: | ---: | --- | ---: |",
        ]
        for result in results:
            if result.paper == paper:
                link = f"[{result.experiment}]({_stem(result.experiment)}.md)"
                counts = f"{result.reproduced} | {result.not_reproduced} | {result.not_checked}"
                lines.append(
                    f"| {link} | {_plain(result.figure)} | {result.preset} | {counts} | "
                    f"{_plain(result.device)} | {_number(result.minutes, 2)} |"
                )
    return "\n".join(lines) + "\n"


def _check_own_index(path: Path) -> None:
    """Refuses to overwrite an index that `keep` did not write."""
    if path.exists() and not path.read_text(encoding="utf-8", errors="replace").startswith(INDEX_MARK):
        raise InputError(f"{path} is not an index of kept results; move it, or choose another --to")


def _finished(folder: RunFolder) -> tuple[RunFolder, dict[str, Any], Outcome]:
    asked = folder.asked()
    result = outcome(folder)
    if result is None:
        raise InputError(
            f"{folder.path} is not finished: continue it with `symscope reproduce {folder.path}`"
        )
    return folder, asked, result


def _kept(asked: Mapping[str, Any], result: Outcome, folder: RunFolder, figures: tuple[str, ...]) -> Kept:
    counts = {verdict: sum(claim.verdict is verdict for claim in result.claims) for verdict in Verdict}
    machine = read_json(folder.path / "environment.json")
    return Kept(
        asked["experiment"],
        asked["paper"],
        asked["figure"],
        asked["preset"] + (", changed" if _visible(asked["changes"]) else ""),
        counts[Verdict.REPRODUCED],
        counts[Verdict.NOT_REPRODUCED],
        counts[Verdict.NOT_CHECKED],
        machine["device"] if machine["device"] != "cpu" else f"{machine['cores']} cores",
        result.seconds / 60,
        figures,
    )


def _page(folder: RunFolder, asked: Mapping[str, Any], result: Outcome, known: Kept) -> str:
    record = json.dumps({**vars(known), "figures": list(known.figures)}, ensure_ascii=False)
    shown = {**asked, "changes": _portable(asked["changes"]), "modules": _portable(asked["modules"])}
    lines = [
        f"{MARK}{_uncommented(record)}{END}",
        f"# {known.experiment}",
        "",
        f"{_plain(asked['shows'])} {tally(result.claims)}",
        "",
        f"From “{_plain(asked['paper'])}”, {_plain(asked['figure'])}. To run it again:",
        "",
        "```console",
        f"$ {command_of(shown)}",
        "```",
    ]
    if result.failed or result.problems:
        lines += [
            "",
            f"**{result.failed} of {result.cells} cells failed"
            + (", and plots or claims could not be made" if result.problems else "")
            + ": the evidence is incomplete.**",
        ]
    lines += ["", "## Claims", "", *_claims(result.claims), "", "## Figures"]
    for figure in read_json(folder.path / "figures.json"):
        lines += [
            "",
            f"### {_plain(figure['title'])} ({_plain(figure['source'])})",
            "",
            f"![{_plain(figure['alt'])}]({_picture_name(known.experiment, figure['name'])})",
        ]
        lines += ["", _plain(figure["caption"])] if figure["caption"] else []
    lines += ["", "## The run", "", *_run(folder, asked, result, known)]
    return "\n".join(lines) + "\n"


def _claims(claims: Sequence[Claim]) -> list[str]:
    rows = ["| verdict | claim | measured | asked | source |", "| --- | --- | --- | --- | --- |"]
    for claim in claims:
        statement = _plain(claim.statement) + (f"<br>*{_plain(claim.why)}*" if claim.why else "")
        rows.append(
            f"| {SYMBOLS[claim.verdict]} {claim.verdict.value} | {statement} | "
            f"{_plain(measured_text(claim.measured))} | {_plain(claim.threshold) or '–'} | "
            f"{_plain(claim.source)} |"
        )
    return rows if claims else ["No claims were made."]


def _run(folder: RunFolder, asked: Mapping[str, Any], result: Outcome, known: Kept) -> list[str]:
    machine = read_json(folder.path / "environment.json")
    summary = read_json(folder.path / "summary.json")
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    facts = {
        "preset": known.preset,
        "seed": asked["seed"],
        "device": machine["device"],
        "processor": f"{machine['processor']}, {machine['cores']} cores",
        "cells": f"{result.cells}, {result.failed} failed",
        "minutes in cells": _number(known.minutes, 3),
        "peak memory of a cell": f"{result.peak_memory / 2**20:.0f} MiB",
        "finished": summary["finished"],
        "versions": f"symscope {asked['symscope']}, Python {machine['python']}, {packages}",
        "revision": machine["revision"] or "not under git",
        **{f"`{key}`": _value(value) for key, value in _portable(asked["config"]).items()},
    }
    return [
        "| what | value |",
        "| --- | --- |",
        *[f"| {name} | {_plain(str(value))} |" for name, value in facts.items()],
    ]


def _pictures(folder: RunFolder, asked: Mapping[str, Any]) -> dict[str, bytes]:
    """The PNG of every figure under the name it is kept by, small enough for a repository."""
    pictures = {}
    for figure in read_json(folder.path / "figures.json"):
        path = folder.path / "figures" / f"{figure['name']}.png"
        if not path.is_file():
            raise InputError(f"{path} is missing: the run folder is damaged, run it again")
        pictures[_picture_name(asked["experiment"], figure["name"])] = small_png(path.read_bytes())
    return pictures


def small_png(png: bytes, largest: int = LARGEST_PICTURE) -> bytes:
    """A picture of at most `largest` bytes: as it is, with 256 colours, or with fewer pixels.

    Args:
        png: The bytes of a PNG file.
        largest: Bytes allowed.

    Raises:
        InputError: Not a picture, or one that would become too small to read.
    """
    from PIL import Image, UnidentifiedImageError

    if len(png) <= largest:
        return png
    try:
        full = Image.open(io.BytesIO(png)).convert("RGB")
    except (UnidentifiedImageError, OSError) as error:
        raise InputError(f"expected the bytes of a PNG file, got {png[:8]!r}") from error
    scale = 1.0
    while full.width * scale >= min(NARROWEST, full.width):
        size = (round(full.width * scale), round(full.height * scale))
        picture = full if scale == 1.0 else full.resize(size, Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        picture.quantize(256, dither=Image.Dither.NONE).save(buffer, "png", optimize=True)
        if len(buffer.getvalue()) <= largest:
            return buffer.getvalue()
        scale *= 0.8
    raise InputError(
        f"a picture of {len(png)} bytes cannot be brought under {largest} and stay readable: draw fewer "
        "points"
    )


def _replaceable(path: Path, new: Kept, replace: bool) -> set[str]:
    """The pictures of the page that is about to be replaced; refuses what should not be replaced."""
    if not path.exists():
        return set()
    old = _known(path)
    if old is None:
        raise InputError(f"{path} is not a kept result and is not overwritten; choose another --to")
    if old.experiment != new.experiment:
        raise InputError(
            f"{path} is the result of {old.experiment}, not of {new.experiment}: keep it elsewhere"
        )
    if old.preset != new.preset and not replace:
        raise InputError(
            f"{path} keeps preset {old.preset}, this run is preset {new.preset}; --replace to take it all "
            "the same"
        )
    own = re.compile(re.escape(_stem(new.experiment)) + r"-[a-z0-9-]+\.png")
    return {name for name in old.figures if own.fullmatch(name)}


def _known(path: Path) -> Kept | None:
    """The record in a page's first line, None when the page is not a kept result."""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    if not first.startswith(MARK):
        return None
    try:
        record = json.loads(first.removeprefix(MARK).removesuffix(END))
        return Kept(**{**record, "figures": tuple(record["figures"])})
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{path}: its first line is damaged ({error}); delete the page and keep it again"
        ) from error


def _uncommented(record: str) -> str:
    """JSON without two dashes in a row, which would end the comment it stands in."""
    return re.sub("-(?=-)", lambda _: "\\u002d", record)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make {folder}: {error.strerror}; choose another --to") from error


def _stem(experiment: str) -> str:
    return experiment.replace("/", "-")


def _picture_name(experiment: str, figure: str) -> str:
    return f"{_stem(experiment)}-{figure}.png"


def _portable(value: Any) -> Any:
    """The same with paths as `path/to/NAME`: a kept page does not name the folders of one machine."""
    if isinstance(value, Mapping):
        return {key: _portable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(item) for item in value]
    return f"path/to/{PurePath(value).name}" if _is_path(value) else value


def _visible(changes: Mapping[str, Any]) -> bool:
    """Whether settings differ from the preset in more than where the user's data lies."""
    return not all(map(_is_path, changes.values()))


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and (PurePath(value).is_absolute() or "/" in value)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value))
    return f"{value:.6g}" if isinstance(value, float) else "–" if value is None else str(value)


def _plain(text: str) -> str:
    """Text as Markdown shows it letter by letter, on one line.

    >>> _plain("a | b < *c*")
    'a \\\\| b &lt; \\\\*c\\\\*'
    """
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([|*\[\]\\])|(?<!\w)(_)|(_)(?!\w)", r"\\\1\2\3", text)


def _number(value: float, digits: int) -> str:
    """So many digits, never in powers of ten."""
    return f"{value:.0f}" if value >= 10**digits else f"{value:.{digits}g}"
