"""Small runs of an experiment, and the verdicts on its claims."""

from __future__ import annotations

from symscope.runs import Outcome, Place, Verdict, request, run
from symscope.runs._outcome import tables_of
from symscope.runs._store import RunFolder

FAILED = Verdict.NOT_REPRODUCED
REPRODUCED = Verdict.REPRODUCED


def finished(folder, name: str, *changes: str) -> tuple[Outcome, dict]:
    """The outcome and the tables of a run with a changed quick preset, its figures drawn."""
    [outcome] = run([request(name, changes=changes, device="cpu")], folder, Place(workers=0))
    assert list(outcome.folder.joinpath("figures").glob("*.svg"))
    return outcome, tables_of(RunFolder(outcome.folder))


def verdicts(claims) -> list[Verdict]:
    return [claim.verdict for claim in claims]
