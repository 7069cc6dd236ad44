"""Keep the results of finished runs in docs/results: a Markdown page each with small pictures, an index, and
the list of what contradicts the papers.

python -m docs.tooling.keep_results RUN... [--out docs/results] [--replace]

RUN is a run folder, or a folder that holds run folders. A page shows the command that repeats its
experiment and the machine it ran on. Keeping a run of the same preset again replaces the page.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, final

from symscope.errors import InputError
from symscope.runs import Claim, ClaimKind, RunOutcome, Verdict, run_folders
from symscope.runs.commands import reproduce_command

LARGEST_PICTURE = 150_000  # bytes: a repository keeps every version of a picture for ever
NARROWEST = 640  # pixels: below this the labels of a figure cannot be read
SYMBOLS = {Verdict.HOLDS: "✓", Verdict.CONTRADICTED: "✗"}  # the others: ○
MARK = "<!-- symscope result: "
END = " -->"
INDEX_MARK = "<!-- symscope index of results -->"


@final
@dataclass(frozen=True)
class KeptResult:
    """The index's row about one kept result; the page carries it in its first line.

    Attributes:
        experiment: The experiment's id.
        paper: The paper's title.
        figure: The paper's figures it answers.
        preset: The preset's name, with "changed" when settings differ from it.
        verdicts: Number of stated claims by verdict.
        measurements: Number of measurements without a verdict.
        contradicted: Statement, source, quote, measured value and remark of each contradicted claim.
        device: The device it ran on.
        minutes: Time spent in cells, all workers together.
        figures: File names of the pictures beside the page.
    """

    experiment: str
    paper: str
    figure: str
    preset: str
    verdicts: dict[str, int]
    measurements: int
    contradicted: list[dict[str, str]]
    device: str
    minutes: float
    figures: tuple[str, ...]


def keep_results(runs: Sequence[Path], out: Path, *, replace: bool = False) -> list[Path]:
    """Write the page and pictures of every run, and the index of all results in the folder.

    Args:
        runs: Folders of finished runs, each of another experiment.
        out: Folder of kept results; it is made if need be.
        replace: Replace a kept result of another preset or other settings.

    Returns:
        The pages, then what contradicts the papers, and the index last.

    Raises:
        InputError: No runs, runs that are not finished, two of one experiment, a page that was kept with
            other settings, a page that is not a kept result, a picture that cannot be made small enough, or
            a folder that cannot be written.
    """
    if not runs:
        raise InputError("expected at least one run folder to keep, got none")
    finished = [RunOutcome.from_folder(path) for path in runs]
    names = [run.description()["experiment"] for run in finished]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"one result is kept of each experiment; several runs are of {', '.join(twice)}")
    _check_own_index(out / "index.md")
    pages = []
    for run in finished:
        pictures = _pictures(run)
        known = _kept(run, tuple(pictures))
        path = out / f"{_stem(known.experiment)}.md"
        before = _replaceable(path, known, replace)
        foreign = sorted(name for name in pictures if name not in before and (out / name).exists())
        if foreign:
            raise InputError(
                f"{out / foreign[0]} is not of a kept result and would be overwritten; move it, or choose "
                "another --out"
            )
        stale = before - set(pictures)
        _make(out)
        for name, content in pictures.items():
            (out / name).write_bytes(content)
        path.write_text(_page(run, known), encoding="utf-8")
        for name in stale:
            (out / name).unlink(missing_ok=True)
        pages.append(path)
    for name, written in (("against-the-papers.md", against_page(out)), ("index.md", index_page(out))):
        (out / name).write_text(written, encoding="utf-8")
        pages.append(out / name)
    return pages


def read_results(folder: Path) -> list[KeptResult]:
    """The results kept in a folder, in the order of their ids; other Markdown pages there are left out.

    Args:
        folder: Folder that `keep_results` wrote.

    Raises:
        InputError: A page whose first line was damaged.
    """
    results = [result for path in sorted(folder.glob("*.md")) if (result := _known(path)) is not None]
    return sorted(results, key=lambda result: result.experiment)


def index_page(folder: Path) -> str:
    """The index page of a folder of kept results: one table per paper, with the verdicts counted.

    Args:
        folder: Folder that `keep_results` wrote.

    Raises:
        InputError: No kept results there, or a damaged one.
    """
    results = read_results(folder)
    if not results:
        raise InputError(
            f"{folder} holds no kept results; `python -m docs.tooling.keep_results RUN` writes them"
        )
    counts = {verdict: sum(result.verdicts.get(verdict, 0) for result in results) for verdict in Verdict}
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    measurements = sum(result.measurements for result in results)
    old = sum(not result.verdicts and not result.measurements for result in results)
    lines = [
        INDEX_MARK,
        "# Results",
        "",
        f"{len(results)} experiments. Statements of the papers: {words or 'none'}. Beside them "
        f"{measurements} measurements without a verdict: numbers for sentences of the papers that state "
        "none, and what goes beyond the papers. Every page says how to run its experiment again.",
    ]
    if old:
        lines += [
            "",
            f"{old} pages were kept before claims were sorted by kind; they show their earlier verdicts and "
            "are not counted.",
        ]
    for paper in sorted({result.paper for result in results}):
        lines += [
            "",
            f"## {_plain(paper)}",
            "",
            "| experiment | paper's figure | preset | holds | contradicted | other verdicts | measurements "
            "| ran on | minutes, all cells |",
            "| --- | --- | --- | ---: | ---: | --- | ---: | --- | ---: |",
        ]
        for result in results:
            if result.paper == paper:
                link = f"[{result.experiment}]({_stem(result.experiment)}.md)"
                holds, contradicted = (
                    result.verdicts.get(verdict, 0) for verdict in (Verdict.HOLDS, Verdict.CONTRADICTED)
                )
                others = "; ".join(
                    f"{count} {verdict}"
                    for verdict, count in result.verdicts.items()
                    if verdict not in (Verdict.HOLDS, Verdict.CONTRADICTED)
                )
                lines.append(
                    f"| {link} | {_plain(result.figure)} | {result.preset} | {holds} | {contradicted} | "
                    f"{others or '–'} | {result.measurements} | "
                    f"{_plain(result.device)} | {_number(result.minutes, 2)} |"
                )
    return "\n".join(lines) + "\n"


def against_page(folder: Path) -> str:
    """The page of what was found against the papers: every stated claim that a kept result contradicts.

    Args:
        folder: Folder that `keep_results` wrote.

    Raises:
        InputError: A damaged kept result.
    """
    results = [result for result in read_results(folder) if result.contradicted]
    lines = [
        INDEX_MARK,
        "# What we found against the papers",
        "",
        "Sentences and numbers of the papers that do not hold at the settings the papers state, with the "
        "papers' words and what was measured. Everything else that was tested is on "
        "[the pages of the experiments](index.md).",
    ]
    if not results:
        lines += ["", "No kept result that was judged by kind contradicts a statement."]
    for paper in sorted({result.paper for result in results}):
        lines += ["", f"## {_plain(paper)}"]
        for result in results:
            for claim in result.contradicted if result.paper == paper else ():
                lines += [
                    "",
                    f"**{_plain(claim['source'])}.** “{_plain(claim['quote'])}”",
                    "",
                    f"Tested: {_plain(claim['statement'])} Measured: {_plain(claim['measured'])}; asked: "
                    f"{_plain(claim['threshold'])}. {_plain(claim['why'])} "
                    f"([{result.experiment}]({_stem(result.experiment)}.md))",
                ]
    return "\n".join(lines) + "\n"


def _check_own_index(path: Path) -> None:
    """Refuses to overwrite an index that `keep_results` did not write."""
    if path.exists() and not path.read_text(encoding="utf-8", errors="replace").startswith(INDEX_MARK):
        raise InputError(f"{path} is not an index of kept results; move it, or choose another --out")


def _kept(run: RunOutcome, figures: tuple[str, ...]) -> KeptResult:
    verdicts = [claim.verdict for claim in run.claims if claim.verdict is not None]
    asked, machine = run.description(), run.environment()
    return KeptResult(
        asked["experiment"],
        asked["paper"],
        asked["figure"],
        asked["preset"] + (", changed" if _visible(asked["changes"]) else ""),
        {verdict.value: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts},
        len(run.claims) - len(verdicts),
        [
            {
                "statement": claim.statement,
                "source": claim.source,
                "quote": claim.quote,
                "measured": claim.measured_text,
                "threshold": claim.threshold,
                "why": claim.why,
            }
            for claim in run.claims
            if claim.verdict is Verdict.CONTRADICTED
        ],
        machine["device"] if machine["device"] != "cpu" else f"{machine['cores']} cores",
        run.seconds / 60,
        figures,
    )


def _page(run: RunOutcome, known: KeptResult) -> str:
    asked = run.description()
    record = json.dumps({**vars(known), "figures": list(known.figures)}, ensure_ascii=False)
    shown = {**asked, "changes": _portable(asked["changes"]), "modules": _portable(asked["modules"])}
    lines = [
        f"{MARK}{_uncommented(record)}{END}",
        f"# {known.experiment}",
        "",
        f"{_plain(asked['shows'])} {run.tally}",
        "",
        f"From “{_plain(asked['paper'])}”, {_plain(asked['figure'])}. To run it again:",
        "",
        "```console",
        f"$ {reproduce_command(shown)}",
        "```",
    ]
    if run.failed or run.problems:
        lines += [
            "",
            f"**{run.failed} of {run.cells} cells failed"
            + (", and plots or claims could not be made" if run.problems else "")
            + ": the evidence is incomplete.**",
        ]
    lines += ["", "## Claims", "", *_claims(run.claims)]
    if asked["differences"]:
        lines += ["", f"## Where preset {asked['preset']} differs from what the paper states", ""]
        lines += [f"- {_plain(line)}" for line in asked["differences"]]
    lines += ["", "## Figures"]
    for figure in run.figures():
        lines += [
            "",
            f"### {_plain(figure['title'])} ({_plain(figure['source'])})",
            "",
            f"![{_plain(figure['alt'])}]({_picture_name(known.experiment, figure['name'])})",
        ]
        lines += ["", _plain(figure["caption"])] if figure["caption"] else []
    lines += ["", "## The run", "", *_run(run, known)]
    return "\n".join(lines) + "\n"


def _claims(claims: Sequence[Claim]) -> list[str]:
    """What the paper states, with verdicts; then the measurements, kind by kind."""
    stated = [
        f"| {SYMBOLS.get(claim.verdict, '○')} {claim.verdict.value} | {_statement(claim)} | "
        f"{_plain(claim.measured_text)} | {_plain(claim.threshold) or '–'} | {_plain(claim.source)} |"
        for claim in claims
        if claim.verdict is not None
    ]
    header = ["| verdict | claim | measured | asked | source |", "| --- | --- | --- | --- | --- |"]
    lines = [*header, *stated] if stated else ["The paper states nothing that this experiment tests."]
    titles = {
        ClaimKind.QUANTIFIED: "Measurements behind sentences that state no number",
        ClaimKind.BEYOND: "Measurements beyond the paper",
    }
    for kind, title in titles.items():
        rows = [
            f"| {_plain(claim.measured_text)} | {_statement(claim)} | {_plain(claim.threshold) or '–'} | "
            f"{_plain(claim.source) or '–'} |"
            for claim in claims
            if claim.kind is kind
        ]
        header = ["| measured | what | expected | source |", "| --- | --- | --- | --- |"]
        lines += ["", f"### {title}", "", *header, *rows] if rows else []
    return lines


def _statement(claim: Claim) -> str:
    """The statement, the paper's words, how they were read, and the remark, under each other."""
    parts = [_plain(claim.statement)]
    parts += [f"“{_plain(claim.quote)}”"] if claim.quote else []
    parts += [f"Read as: {_plain(claim.reading)}"] if claim.reading else []
    parts += [f"*{_plain(claim.why)}*"] if claim.why else []
    return "<br>".join(parts)


def _run(run: RunOutcome, known: KeptResult) -> list[str]:
    asked, machine = run.description(), run.environment()
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    facts = {
        "preset": known.preset,
        "seed": asked["seed"],
        "device": machine["device"],
        "processor": f"{machine['processor']}, {machine['cores']} cores",
        "cells": f"{run.cells}, {run.failed} failed",
        "minutes in cells": _number(known.minutes, 3),
        "peak memory of a cell": f"{run.peak_memory / 2**20:.0f} MiB",
        "finished": run.finished,
        "versions": f"symscope {asked['symscope']}, Python {machine['python']}, {packages}",
        "revision": machine["revision"] or "not under git",
        **{f"`{key}`": _value(value) for key, value in _portable(asked["config"]).items()},
    }
    return [
        "| what | value |",
        "| --- | --- |",
        *[f"| {name} | {_plain(str(value))} |" for name, value in facts.items()],
    ]


def _pictures(run: RunOutcome) -> dict[str, bytes]:
    """The PNG of every figure under the name it is kept by, small enough for a repository."""
    pictures, experiment = {}, run.description()["experiment"]
    for figure in run.figures():
        pictures[_picture_name(experiment, figure["name"])] = small_png(run.drawing(figure["name"], "png"))
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


def _replaceable(path: Path, new: KeptResult, replace: bool) -> set[str]:
    """The pictures of the page that is about to be replaced; refuses what should not be replaced."""
    if not path.exists():
        return set()
    old = _known(path)
    if old is None:
        raise InputError(f"{path} is not a kept result and is not overwritten; choose another --out")
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


def _known(path: Path) -> KeptResult | None:
    """The record in a page's first line, None when the page is not a kept result."""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    if not first.startswith(MARK):
        return None
    try:
        record = json.loads(first.removeprefix(MARK).removesuffix(END))
        return KeptResult(**{**record, "figures": tuple(record["figures"])})
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
        raise InputError(f"cannot make {folder}: {error.strerror}; choose another --out") from error


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Keep the runs named on the command line; a mistake is one line on standard error and status 2."""
    parser = argparse.ArgumentParser(prog="python -m docs.tooling.keep_results", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run folder, or a folder of them")
    parser.add_argument("--out", type=Path, default=Path("docs/results"), help="folder of kept results")
    parser.add_argument("--replace", action="store_true", help="also replace a result of another preset")
    given = parser.parse_args(arguments)
    try:
        for page in keep_results(run_folders(given.runs), given.out, replace=given.replace):
            print(page)
    except InputError as error:
        print(f"keep_results: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
