"""The report of a run, from its folder alone: what was asked, claims first, figures beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscope.errors import InputError
from symscope.report import Block, Command, Facts, Note, Picture, Section, Table, Text, inline_svg, page, slug
from symscope.report import Verdict as Shown
from symscope.runs._claims import Claim, Verdict, measured_text
from symscope.runs._commands import command_of
from symscope.runs._outcome import Outcome, failures_of, outcome, tables_of
from symscope.runs._store import RunFolder, read_json

if TYPE_CHECKING:
    import pandas as pd

ROWS = 12
OUTCOMES = {Verdict.REPRODUCED: "good", Verdict.NOT_REPRODUCED: "bad", Verdict.NOT_CHECKED: "open"}


def report(folders: Sequence[Path]) -> str:
    """One page about one run or several.

    Args:
        folders: Run folders, in reading order.

    Returns:
        A self-contained HTML page.

    Raises:
        InputError: No folder, one that is not a run folder, or a run that was not finished.
    """
    if not folders:
        raise InputError("a report needs at least one run folder")
    runs = [_closed(RunFolder(path)) for path in folders]
    claims = [claim for _, _, result in runs for claim in result.claims]
    names = [asked["experiment"] for _, asked, _ in runs]
    title = ", ".join(names) if len(runs) <= 3 else f"{len(runs)} experiments"
    sections = [_overview(runs)] if len(runs) > 1 else []
    for number, (folder, asked, result) in enumerate(runs):
        sections += _sections(folder, asked, result, prefix=f"r{number}", alone=len(runs) == 1)
    return page(
        title=f"Reproduction: {title}",
        lead=f"{tally(claims)} {_asked_in_words(runs)}",
        sections=sections,
        footer="",
    )


def run_folders(paths: Sequence[Path]) -> list[Path]:
    """Run folders themselves, and every finished run inside folders of runs.

    Raises:
        InputError: Neither of them, or a run that is named twice.
    """
    found = [folder for path in paths for folder in _runs(path)]
    places = [folder.resolve() for folder in found]
    for folder, place in zip(found, places, strict=True):
        if places.count(place) > 1:
            raise InputError(f"{folder} is named twice, itself or by the folder it lies in; name it once")
    return found


def tally(claims: Sequence[Claim]) -> str:
    """How many claims had which verdict, as a sentence.

    >>> from symscope.runs import below
    >>> tally([below("small", "Fig. 1", 0.1, 1.0), below("tiny", "Fig. 1", 0.1, 0.01)])
    '1 of 2 checked claims reproduced; 1 not reproduced.'
    """
    counts = {verdict: sum(claim.verdict is verdict for claim in claims) for verdict in Verdict}
    checked = len(claims) - counts[Verdict.NOT_CHECKED]
    if not checked:
        return "No claim was checked."
    whole = "All" if counts[Verdict.REPRODUCED] == checked else f"{counts[Verdict.REPRODUCED]} of"
    words = [f"{whole} {checked} checked claims reproduced"]
    words += [f"{counts[v]} {v}" for v in (Verdict.NOT_REPRODUCED, Verdict.NOT_CHECKED) if counts[v]]
    return "; ".join(words) + "."


def _runs(path: Path) -> list[Path]:
    """A run folder itself, or every finished run inside a folder of runs."""
    if (path / "run.json").exists():
        return [path]
    inside = (
        sorted(child for child in path.glob("*") if (child / "run.json").exists()) if path.is_dir() else []
    )
    finished = [child for child in inside if (child / "summary.json").exists()]
    if not finished:
        what = (
            "does not exist" if not path.exists() else "is not a run folder and holds none that is finished"
        )
        raise InputError(f"{path} {what}; `symscope reproduce` makes run folders, by default in runs/")
    return finished


def _closed(folder: RunFolder) -> tuple[RunFolder, dict[str, Any], Outcome]:
    asked = folder.asked()
    result = outcome(folder)
    if result is None:
        raise InputError(
            f"{folder.path} is not finished: continue it with `symscope reproduce {folder.path}`"
        )
    return folder, asked, result


def _asked_in_words(runs: Sequence[tuple[RunFolder, dict[str, Any], Outcome]]) -> str:
    first = runs[0][1]
    if len(runs) == 1:
        return f"{first['shows']}"
    presets = sorted({asked["preset"] for _, asked, _ in runs})
    seconds = sum(result.seconds for _, _, result in runs)
    return f"Preset {' and '.join(presets)}, {_duration(seconds)} of computation."


def _overview(runs: Sequence[tuple[RunFolder, dict[str, Any], Outcome]]) -> Section:
    rows = tuple(
        (asked["experiment"], asked["figure"], tally(result.claims), _duration(result.seconds))
        for _, asked, result in runs
    )
    return Section(
        "All experiments", (Table("What was run", ("experiment", "paper's figure", "claims", "time"), rows),)
    )


def _sections(
    folder: RunFolder, asked: dict[str, Any], result: Outcome, *, prefix: str, alone: bool
) -> list[Section]:
    claims: list[Block] = [] if alone else [Text(asked["shows"])]
    claims.append(Text(f"From “{asked['paper']}”, {asked['figure']}."))
    if result.failed:
        claims.append(
            Note(f"{result.failed} of {result.cells} cells failed; see the tracebacks under “The run”.")
        )
    claims += [_shown(claim) for claim in result.claims]
    run: list[Block] = [
        Text("To run it again:"),
        Command(command_of(asked)),
        Facts(tuple((key, _value(value)) for key, value in asked["config"].items()), "Parameters"),
        Facts(_how(asked, result, folder), "Time, memory, versions"),
        *[_preview(name, table) for name, table in tables_of(folder).items()],
        *[Command(failure["traceback"]) for failure in failures_of(folder)[:5]],
        *[Command(problem) for problem in result.problems],
    ]
    if alone:
        return [
            Section("Claims", tuple(claims)),
            Section("Figures", tuple(_pictures(folder, prefix))),
            Section("The run", tuple(run)),
        ]
    blocks = (*claims, *_pictures(folder, prefix), *run)
    return [
        Section(
            asked["experiment"],
            blocks,
            slug(f"{asked['experiment']}-{asked['fingerprint']}"),
            asked["figure"],
        )
    ]


def _shown(claim: Claim) -> Shown:
    return Shown(
        statement=claim.statement,
        outcome=OUTCOMES[claim.verdict],
        label=claim.verdict.value,
        source=claim.source,
        measured="" if claim.measured is None else measured_text(claim.measured),
        threshold=claim.threshold,
        why=claim.why,
    )


def _pictures(folder: RunFolder, prefix: str) -> list[Block]:
    pictures: list[Block] = []
    for figure in read_json(folder.path / "figures.json"):
        svg = (folder.path / "figures" / f"{figure['name']}.svg").read_text(encoding="utf-8")
        anchor = f"{prefix}-{figure['name']}"
        element = inline_svg(svg, prefix=anchor, alt=figure["alt"])
        pictures.append(
            Picture(element, figure["title"], figure["caption"], figure["source"], f"figure-{anchor}")
        )
    return pictures or [Text("This experiment has no figures.")]


def _how(asked: dict[str, Any], result: Outcome, folder: RunFolder) -> tuple[tuple[str, str], ...]:
    surroundings = read_json(folder.path / "environment.json")
    packages = ", ".join(f"{name} {version}" for name, version in surroundings["packages"].items())
    return (
        ("cells", f"{result.cells}, {result.failed} failed"),
        ("time in cells", _duration(result.seconds)),
        ("peak memory of a cell", f"{result.peak_memory / 2**20:.0f} MiB"),
        ("seed", str(asked["seed"])),
        ("device", surroundings["device"]),
        ("processor", surroundings["processor"]),
        ("symscope", asked["symscope"]),
        ("revision", surroundings["revision"] or "not under git"),
        ("python", surroundings["python"]),
        ("packages", packages),
        ("run folder", folder.name),
    )


def _preview(name: str, table: pd.DataFrame) -> Table:
    shown = table.head(ROWS)
    rows = tuple(tuple(_value(value) for value in row) for row in shown.itertuples(index=False))
    numeric = tuple(kind.kind in "ifb" for kind in table.dtypes)
    part = f"first {len(shown)} of {len(table)} rows" if len(shown) < len(table) else f"{len(table)} rows"
    caption = f"tables/{name}.parquet, {part}"
    return Table(caption, tuple(map(str, table.columns)), rows, numeric, f"Table {name} ({len(table)} rows)")


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_value(item) for item in value)
    if isinstance(value, float):
        return "–" if value != value else f"{value:.6g}"
    return "–" if value is None else str(value)


def _duration(seconds: float) -> str:
    """Seconds as a reader says them.

    >>> _duration(0.034), _duration(75), _duration(7300)
    ('0.034 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
