"""Keep the results of finished runs in docs/results: a Markdown page each with small pictures, an index, and
the list of what contradicts the papers.

python -m docs.tooling.keep_results RUN... [--out docs/results] [--replace] [--note TEXT]

RUN is a run folder, or a folder that holds run folders. A page shows the command that repeats its
experiment and the machine it ran on. Keeping a run of the same preset again replaces the page. A run of
preset authors, what a paper's public scripts do, has a page of its own beside that of the paper's settings.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.tooling.result_pages import (
    END,
    INDEX_MARK,
    MARK,
    KeptResult,
    against_page,
    index_page,
    is_path,
    page_stem,
    result_page,
)
from symscope.errors import InputError
from symscope.runs import RunOutcome, Verdict, run_folders

LARGEST_PICTURE = 150_000  # bytes: a repository keeps every version of a picture for ever
NOTHING = "–"  # a claim's words for no measurement
NARROWEST = 640  # pixels: below this the labels of a figure cannot be read


def keep_results(runs: Sequence[Path], out: Path, *, replace: bool = False, note: str = "") -> list[Path]:
    """Write the page and pictures of every run, and the index of all results in the folder.

    Args:
        runs: Folders of finished runs, each of another experiment, or one of its preset authors.
        out: Folder of kept results; it is made if need be.
        replace: Replace a kept result of another preset or other settings.
        note: A remark below the title of the page, in Markdown; for a single run.

    Returns:
        The pages, then what contradicts the papers, and the index last.

    Raises:
        InputError: No runs, runs that are not finished, two of one experiment, a note on several runs, a page
            that was kept with other settings, a page that is not a kept result, a picture that cannot be made
            small enough, or a folder that cannot be written.
    """
    if not runs:
        raise InputError("expected at least one run folder to keep, got none")
    if note and len(runs) > 1:
        raise InputError(f"a note is for the page of one run, got {len(runs)} runs; keep them one by one")
    finished = [RunOutcome.from_folder(path) for path in runs]
    asked = [run.description() for run in finished]
    stems = [page_stem(one["experiment"], one["preset"]) for one in asked]
    twice = sorted(
        {one["experiment"] for one, stem in zip(asked, stems, strict=True) if stems.count(stem) > 1}
    )
    if twice:
        raise InputError(f"one result is kept of each experiment; several runs are of {', '.join(twice)}")
    _check_own_index(out / "index.md")
    pages = []
    for run, stem in zip(finished, stems, strict=True):
        pictures = _pictures(run, stem)
        known = _kept(run, tuple(pictures))
        path = out / f"{stem}.md"
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
        path.write_text(result_page(run, known, note), encoding="utf-8")
        for name in stale:
            (out / name).unlink(missing_ok=True)
        pages.append(path)
    results = read_results(out)
    for name, written in (
        ("against-the-papers.md", against_page(results)),
        ("index.md", index_page(results)),
    ):
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
    return sorted(results, key=lambda result: (result.experiment, not result.counted))


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
        asked["preset"]
        + (", changed" if _visible(asked["changes"]) else "")
        + (", in part" if run.missing else ""),
        {verdict.value: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts},
        len(run.claims) - len(verdicts),
        _words_of(run, Verdict.CONTRADICTED),
        machine["device"] if machine["device"] != "cpu" else f"{machine['cores']} cores",
        run.seconds / 60,
        figures,
        _words_of(run, Verdict.NUMBER_DIFFERS),
        [words for words in _words_of(run, Verdict.NOT_TESTABLE) if words["measured"] != NOTHING],
    )


def _words_of(run: RunOutcome, verdict: Verdict) -> list[dict[str, str]]:
    """What the claims with a verdict state, quote and measured."""
    names = ("statement", "source", "quote", "reading", "threshold", "why")
    return [
        {**{name: getattr(claim, name) for name in names}, "measured": claim.measured_text}
        for claim in run.claims
        if claim.verdict is verdict
    ]


def _pictures(run: RunOutcome, stem: str) -> dict[str, bytes]:
    """The PNG of every figure under the name it is kept by, small enough for a repository."""
    names = [figure["name"] for figure in run.figures()]
    return {f"{stem}-{name}.png": small_png(run.drawing(name, "png")) for name in names}


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
    own = re.compile(re.escape(new.stem) + r"-[a-z0-9-]+\.png")
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


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make {folder}: {error.strerror}; choose another --out") from error


def _visible(changes: Mapping[str, Any]) -> bool:
    """Whether settings differ from the preset in more than where the user's data lies."""
    return not all(map(is_path, changes.values()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Keep the runs named on the command line; a mistake is one line on standard error and status 2."""
    parser = argparse.ArgumentParser(prog="python -m docs.tooling.keep_results", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run folder, or a folder of them")
    parser.add_argument("--out", type=Path, default=Path("docs/results"), help="folder of kept results")
    parser.add_argument("--replace", action="store_true", help="also replace a result of another preset")
    parser.add_argument("--note", default="", metavar="TEXT", help="a remark below the title; for one RUN")
    given = parser.parse_args(arguments)
    try:
        for page in keep_results(run_folders(given.runs), given.out, replace=given.replace, note=given.note):
            print(page)
    except InputError as error:
        print(f"keep_results: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
