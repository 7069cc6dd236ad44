"""Small runs of an experiment, and the verdicts on its claims."""

from __future__ import annotations

from symscope.runs import ClaimKind, RunOutcome, RunRequest, Verdict, Workers, run_experiments

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
    """The verdicts on what the paper states, in order; measurements have none."""
    stated = [claim for claim in claims if claim.kind is ClaimKind.STATED]
    assert all(claim.quote for claim in stated)
    return [claim.verdict for claim in stated]


def measured(claims, words: str):
    """The value of the one claim whose statement has these words."""
    [claim] = [claim for claim in claims if words in claim.statement]
    return claim.measured
