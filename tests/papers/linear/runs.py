"""Small runs of an experiment, and the verdicts on its claims."""

from __future__ import annotations

from symscope.runs import RunOutcome, RunRequest, Verdict, Workers, run_experiments

FAILED = Verdict.CONTRADICTED
HOLDS = Verdict.HOLDS


def finished(folder, name: str, *changes: str) -> tuple[RunOutcome, dict]:
    """The outcome and the tables of a run with a changed quick preset, its figures drawn."""
    [outcome] = run_experiments(
        [RunRequest.of(name, changes=changes, device="cpu")], folder, Workers(processes=0)
    )
    assert list(outcome.folder.joinpath("figures").glob("*.svg"))
    return outcome, outcome.tables()


def verdicts(claims) -> list[Verdict]:
    return [claim.verdict for claim in claims]
