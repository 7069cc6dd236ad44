"""The report of a run, from its folder alone: what was asked, claims first, figures beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscope.errors import InputError
from symscope.report import (
    Block,
    Command,
    Facts,
    JudgedClaim,
    Note,
    Picture,
    Section,
    Table,
    Text,
    inline_svg,
    page,
    slug,
)
from symscope.runs._claims import Claim, ClaimKind, Verdict, tally
from symscope.runs._outcome import RunOutcome
from symscope.runs.commands import reproduce_command

if TYPE_CHECKING:
    import pandas as pd

ROWS = 12
OUTCOMES = {Verdict.HOLDS: "good", Verdict.CONTRADICTED: "bad"}  # the others are open


def run_report(folders: Sequence[Path]) -> str:
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
    runs = [RunOutcome.from_folder(path) for path in folders]
    claims = [claim for run in runs for claim in run.claims]
    names = [run.description()["experiment"] for run in runs]
    title = ", ".join(names) if len(runs) <= 3 else f"{len(runs)} experiments"
    sections = [_overview(runs)] if len(runs) > 1 else []
    for number, run in enumerate(runs):
        sections += _sections(run, prefix=f"r{number}", alone=len(runs) == 1)
    return page(
        title=f"Reproduction: {title}",
        lead=f"{tally(claims)} {_asked_in_words(runs)}",
        sections=sections,
        footer="",
    )


def run_folders(paths: Sequence[Path]) -> list[Path]:
    """The run folders that paths stand for: run folders themselves, and finished runs inside folders of runs.

    Args:
        paths: Run folders, or folders that hold them.

    Raises:
        InputError: Neither of them, or a run that is named twice.
    """
    folders = [folder for path in paths for folder in _runs(path)]
    places = [folder.resolve() for folder in folders]
    for folder, place in zip(folders, places, strict=True):
        if places.count(place) > 1:
            raise InputError(f"{folder} is named twice, itself or by the folder it lies in; name it once")
    return folders


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


def _asked_in_words(runs: Sequence[RunOutcome]) -> str:
    asked = [run.description() for run in runs]
    if len(runs) == 1:
        return f"{asked[0]['shows']}"
    presets = sorted({one["preset"] for one in asked})
    return f"Preset {' and '.join(presets)}, {_duration(sum(run.seconds for run in runs))} of computation."


def _overview(runs: Sequence[RunOutcome]) -> Section:
    rows = []
    for run in runs:
        asked = run.description()
        rows.append((asked["experiment"], asked["figure"], run.tally, _duration(run.seconds)))
    columns = ("experiment", "paper's figure", "claims", "time")
    return Section("All experiments", (Table("What was run", columns, tuple(rows)),))


def _sections(run: RunOutcome, *, prefix: str, alone: bool) -> list[Section]:
    asked = run.description()
    claims: list[Block] = [] if alone else [Text(asked["shows"])]
    claims.append(Text(f"From “{asked['paper']}”, {asked['figure']}."))
    if run.incomplete:
        where = "; see the tracebacks under “The run”" if run.failed else ""
        claims.append(Note(f"{run.incomplete}{where}."))
    claims += _claim_blocks(run.claims)
    if asked["differences"]:
        title = f"Where preset {asked['preset']} differs from what the paper states"
        claims.append(Table(title, ("difference",), tuple((line,) for line in asked["differences"])))
    details: list[Block] = [
        Text("To run it again:"),
        Command(reproduce_command(asked)),
        Facts(tuple((key, _value(value)) for key, value in asked["config"].items()), "Parameters"),
        Facts(_how(run), "Time, memory, versions"),
        *[_preview(name, table) for name, table in run.tables().items()],
        *[Command(failure["traceback"]) for failure in run.failures()[:5]],
        *[Command(problem) for problem in run.problems],
    ]
    if alone:
        return [
            Section("Claims", tuple(claims)),
            Section("Figures", tuple(_pictures(run, prefix))),
            Section("The run", tuple(details)),
        ]
    blocks = (*claims, *_pictures(run, prefix), *details)
    anchor = slug(f"{asked['experiment']}-{asked['fingerprint']}")
    return [Section(asked["experiment"], blocks, anchor, asked["figure"])]


def _claim_blocks(claims: Sequence[Claim]) -> list[Block]:
    """What the paper states with its verdicts, then the measurements as tables."""
    blocks: list[Block] = [
        JudgedClaim(
            statement=claim.statement,
            outcome=OUTCOMES.get(claim.verdict, "open"),
            label=claim.verdict.value,
            source=claim.source,
            measured="" if claim.measured is None else claim.measured_text,
            threshold=claim.threshold,
            why=claim.why,
            quote=claim.quote,
            reading=claim.reading,
        )
        for claim in claims
        if claim.verdict is not None
    ]
    titles = {
        ClaimKind.QUANTIFIED: "Measurements behind sentences of the paper that state no number",
        ClaimKind.BEYOND: "Measurements beyond the paper",
    }
    columns = ("measured", "what", "expected", "where", "remark")
    for kind, title in titles.items():
        rows = tuple(
            (claim.measured_text, claim.statement, claim.threshold, claim.source, _remark(claim))
            for claim in claims
            if claim.kind is kind
        )
        blocks += [Table(title, columns, rows)] if rows else []
    return blocks


def _remark(claim: Claim) -> str:
    return " ".join(filter(None, (f"“{claim.quote}”" if claim.quote else "", claim.why)))


def _pictures(run: RunOutcome, prefix: str) -> list[Block]:
    pictures: list[Block] = []
    for figure in run.figures():
        anchor = f"{prefix}-{figure['name']}"
        svg = run.drawing(figure["name"], "svg").decode(errors="replace")
        element = inline_svg(svg, prefix=anchor, alt=figure["alt"])
        pictures.append(
            Picture(element, figure["title"], figure["caption"], figure["source"], f"figure-{anchor}")
        )
    return pictures or [Text("This experiment has no figures.")]


def _how(run: RunOutcome) -> tuple[tuple[str, str], ...]:
    asked, machine = run.description(), run.environment()
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    return (
        ("cells", run.incomplete or f"{run.cells}, 0 failed"),
        ("time in cells", _duration(run.seconds)),
        ("peak memory of a cell", f"{run.peak_memory / 2**20:.0f} MiB"),
        ("seed", str(asked["seed"])),
        ("device", machine["device"]),
        ("processor", machine["processor"]),
        ("symscope", asked["symscope"]),
        ("revision", machine["revision"] or "not under git"),
        *((("figures and claims by", f"revision {machine['closed_by']}"),) if "closed_by" in machine else ()),
        *((("continued", str(machine["continued"])),) if "continued" in machine else ()),
        ("python", machine["python"]),
        ("packages", packages),
        ("run folder", run.folder.name),
        *((("versions and machine", str(machine["note"])),) if "note" in machine else ()),
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
