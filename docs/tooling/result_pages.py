"""Pages about kept results, in Markdown: one per experiment, their index, and what contradicts the papers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, final

from symscope.errors import InputError
from symscope.runs import Claim, ClaimKind, RunOutcome, Verdict
from symscope.runs.commands import reproduce_command

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
        preset: The preset's name, with "changed" when settings differ from it. A result of preset
            authors has a page of its own beside the paper's and is not counted with it.
        verdicts: Number of stated claims by verdict.
        measurements: Number of measurements without a verdict.
        contradicted: Statement, source, quote, reading, measured value, condition and remark of each
            contradicted claim.
        device: The device it ran on.
        minutes: Time spent in cells, all workers together.
        figures: File names of the pictures beside the page.
        differing: The same as `contradicted` of each claim whose number differs, the setting being unknown.
        borderline: The same of each claim whose words have no border, where what was measured is near it.
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
    differing: list[dict[str, str]] = field(default_factory=list)
    borderline: list[dict[str, str]] = field(default_factory=list)

    @property
    def stem(self) -> str:
        """Name of the page and beginning of its pictures' names."""
        return page_stem(self.experiment, self.preset)

    @property
    def counted(self) -> bool:
        """Whether it is a result at the paper's own settings."""
        return not _of_authors(self.preset)


def result_page(run: RunOutcome, known: KeptResult, note: str = "") -> str:
    """The page of one kept result; its first line carries the record that the index is made from.

    Args:
        run: The finished run.
        known: Its row in the index.
        note: A remark below the title, in Markdown.
    """
    asked = run.description()
    record = json.dumps({**vars(known), "figures": list(known.figures)}, ensure_ascii=False)
    shown = {**asked, "changes": _portable(asked["changes"]), "modules": _portable(asked["modules"])}
    lines = [
        f"{MARK}{_uncommented(record)}{END}",
        f"# {known.experiment}",
        "",
        *([f"*{' '.join(note.split())}*", ""] if note else []),
        f"{_plain(asked['shows'])} {run.tally}",
        "",
        f"From “{_plain(asked['paper'])}”, {_plain(asked['figure'])}. To run it again:",
        "",
        "```console",
        f"$ {reproduce_command(shown)}",
        "```",
    ]
    if run.incomplete or run.problems:
        why = [run.incomplete] if run.incomplete else []
        why += ["plots or claims could not be made"] if run.problems else []
        lines += ["", f"**{', and '.join(why)}: the evidence is incomplete.**"]
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
            f"![{_plain(figure['alt'])}]({known.stem}-{figure['name']}.png)",
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
        "cells": run.incomplete or f"{run.cells}, 0 failed",
        "minutes in cells": _number(known.minutes, 3),
        "peak memory of a cell": f"{run.peak_memory / 2**20:.0f} MiB",
        "finished": run.finished,
        "versions": f"symscope {asked['symscope']}, Python {machine['python']}, {packages}",
        "revision": machine["revision"] or "not under git",
        **({"continued": machine["continued"]} if "continued" in machine else {}),
        **(
            {"figures and claims": f"made from the cells by revision {machine['closed_by']}"}
            if "closed_by" in machine
            else {}
        ),
        **{f"`{key}`": _value(value) for key, value in _portable(asked["config"]).items()},
    }
    return [
        "| what | value |",
        "| --- | --- |",
        *[f"| {name} | {_plain(str(value))} |" for name, value in facts.items()],
    ]


def index_page(results: Sequence[KeptResult]) -> str:
    """The index of kept results: one table per paper, with the verdicts counted.

    Args:
        results: The kept results, in the order of their ids.

    Raises:
        InputError: No results.
    """
    if not results:
        raise InputError(
            "expected kept results, got none; `python -m docs.tooling.keep_results RUN` writes them"
        )
    own = [result for result in results if result.counted]
    counts = {verdict: sum(result.verdicts.get(verdict, 0) for result in own) for verdict in Verdict}
    words = "; ".join(_counted(verdict, count) for verdict, count in counts.items() if count)
    measurements = sum(result.measurements for result in own)
    old = sum(not result.verdicts and not result.measurements for result in results)
    lines = [
        INDEX_MARK,
        "# Results",
        "",
        f"{len(own)} experiment{'s' * (len(own) > 1)}. Statements of the papers: {words or 'none'}. Beside "
        f"them {measurements} measurements without a verdict: numbers for sentences of the papers that state "
        "none, and what goes beyond the papers. Every page says how to run its experiment again.",
    ]
    if old:
        lines += [
            "",
            f"{old} page{'s were' if old > 1 else ' was'} kept before claims were sorted by kind, with "
            "earlier verdicts that are not counted.",
        ]
    if len(own) < len(results):
        lines += [
            "",
            "Rows of preset authors repeat an experiment as the papers' public scripts do it, with the "
            "differences on the page; they are not counted.",
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
                link = f"[{result.experiment}]({result.stem}.md)"
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


def _counted(verdict: Verdict, count: int) -> str:
    """A number of verdicts in words.

    >>> _counted(Verdict.HOLDS, 2), _counted(Verdict.NUMBER_DIFFERS, 1)
    ('2 hold', '1 number differs, setting unknown')
    """
    several = {Verdict.HOLDS: "hold", Verdict.NUMBER_DIFFERS: "numbers differ, setting unknown"}
    return f"{count} {several.get(verdict, verdict.value) if count > 1 else verdict.value}"


def against_page(results: Sequence[KeptResult]) -> str:
    """The page of what was found against the papers: contradictions, numbers that differ, what is borderline.

    Args:
        results: The kept results, in the order of their ids, those of preset authors after the papers'.
    """
    contradicted = [(result, claim) for result in results if result.counted for claim in result.contradicted]
    by_scripts = [(result, claim) for result in results for claim in _by_scripts_alone(result, results)]
    differing = [(result, claim) for result in results if result.counted for claim in result.differing]
    borderline = [(result, claim) for result in results if result.counted for claim in result.borderline]
    lines = [
        INDEX_MARK,
        "# What we found against the papers",
        "",
        "Sentences and numbers of the papers that do not hold at the settings the papers state, then those "
        "at the settings of their public scripts alone (preset authors), with the papers' words and what was "
        "measured. "
        "Everything else that was tested is on [the pages of the experiments](index.md); "
        "[the list of all testable sentences](sentences.md) says which experiment tests which, or why none "
        "does.",
    ]
    if not contradicted and not by_scripts:
        lines += ["", "No kept result that was judged by kind contradicts a statement."]
    lines += _by_paper(contradicted, "##", "asked: ")
    sections = (
        (
            "At the settings of the public scripts alone",
            "At the settings that the papers state none of this is contradicted.",
            by_scripts,
            "asked: ",
        ),
        (
            "Other numbers here, where a paper leaves its setting open",
            "What a paper reports and did not come out here. It may come out with settings that the paper "
            "does not state, so none of this is a contradiction.",
            differing,
            "",
        ),
        (
            "Words that leave open whether they hold",
            "What was measured lies between yes and no, and the papers' words draw no border.",
            borderline,
            "",
        ),
    )
    for title, words, found, asked in sections:
        if found:
            lines += ["", f"## {title}", "", words, *_by_paper(found, "###", asked)]
    return "\n".join(lines) + "\n"


def _by_scripts_alone(result: KeptResult, results: Sequence[KeptResult]) -> list[dict[str, str]]:
    """What a result of preset authors contradicts, and the paper's settings do not."""
    if result.counted:
        return []
    own = [one.contradicted for one in results if one.counted and one.experiment == result.experiment]
    known = {claim["statement"] for claims in own for claim in claims}
    return [claim for claim in result.contradicted if claim["statement"] not in known]


def _by_paper(found: Sequence[tuple[KeptResult, Mapping[str, str]]], heading: str, before: str) -> list[str]:
    """Under the paper's title its words, how they were read, and what was measured."""
    lines: list[str] = []
    for paper in sorted({result.paper for result, _ in found}):
        lines += ["", f"{heading} {_plain(paper)}"]
        for result, claim in found:
            if result.paper != paper:
                continue
            lines += ["", f"**{_plain(claim['source'])}.** “{_plain(claim['quote'])}”"]
            lines += ["", f"Read as: {_plain(claim['reading'])}"] if claim["reading"] else []
            preset = "" if result.counted else ", preset authors"
            asked = f"; {before}{_plain(claim['threshold'])}" if claim["threshold"] else ""
            lines += [
                "",
                f"Tested: {_plain(claim['statement'])} Measured: {_plain(claim['measured'])}{asked}. "
                f"{_plain(claim['why'])} "
                f"([{result.experiment}]({result.stem}.md){preset})",
            ]
    return lines


def _uncommented(record: str) -> str:
    """JSON without two dashes in a row, which would end the comment it stands in."""
    return re.sub("-(?=-)", lambda _: "\\u002d", record)


def page_stem(experiment: str, preset: str) -> str:
    """Name of a page, without its ending.

    >>> page_stem("dynamics/rotation", "paper"), page_stem("dynamics/rotation", "authors, changed")
    ('dynamics-rotation', 'dynamics-rotation-authors')
    """
    return experiment.replace("/", "-") + ("-authors" if _of_authors(preset) else "")


def _of_authors(preset: str) -> bool:
    return preset.partition(",")[0] == "authors"


def _portable(value: Any) -> Any:
    """The same with paths as `path/to/NAME`: a kept page does not name the folders of one machine."""
    if isinstance(value, Mapping):
        return {key: _portable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(item) for item in value]
    return f"path/to/{PurePath(value).name}" if is_path(value) else value


def is_path(value: Any) -> bool:
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
