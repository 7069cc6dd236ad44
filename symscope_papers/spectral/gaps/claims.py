"""What gaps do to kernels and trained networks: beyond the paper, which leaves out one angle."""

from __future__ import annotations

import math

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.gaps.config import ONE, Gaps
from symscope_papers.spectral.gaps.measure import FORMULA, KERNEL
from symscope_papers.spectral.pairs.angles import at_angles, by_angles
from symscope_papers.spectral.trained.config import RUNS

EXPECTED = {
    ONE: "falls to 0 with n: images seen come ever nearer",
    "gap": "levels off with n: the nearest image seen stays as far away as before",
}


def judge_claims(config: Gaps, tables: RunTables) -> list[Claim]:
    """Errors at upright for every method and pattern, and how well kernels predict trained networks."""
    table = tables["errors"]
    claims = []
    for by in (KERNEL, FORMULA, *config.runs):
        mine = table[table["by"] == by]
        claims += [_errors(part, by, str(name)) for name, part in mine.groupby("pattern", sort=False)]
    for by in (FORMULA, *config.runs):
        claims += _agreement(table, by)
    return claims


def method_name(by: str) -> str:
    """What a page calls a method."""
    return RUNS[by][0] if by in RUNS else by


def _errors(part: pd.DataFrame, by: str, pattern: str) -> Claim:
    means = {n: float(own["upright"].mean()) for n, own in by_angles(part).items()}
    errors = {n: float(own["upright"].std()) / math.sqrt(len(own)) for n, own in by_angles(part).items()}
    wrong = {n: float((own["upright"] > 1).mean()) for n, own in by_angles(part).items()}
    return Claim.beyond(
        f"Mean error at the upright image, {pattern} missing ({method_name(by)}).",
        at_angles(means, errors, form=".3f .3f", between=" ± "),
        expected=EXPECTED.get(pattern, EXPECTED["gap"] if pattern.startswith("gap") else ""),
        uncertainty=f"± one standard error over {part['pair'].nunique()} pairs",
        why=f"Share of pairs that are wrong: {at_angles(wrong, form='.2f')}.",
    )


def _agreement(table: pd.DataFrame, by: str) -> list[Claim]:
    """Rank correlations of a method's errors with those of kernel regression, pattern by pattern."""
    keys = ["angles", "pattern", "pair"]
    both = table[table["by"] == KERNEL].merge(table[table["by"] == by], on=keys, suffixes=("", "_other"))
    return [
        Claim.beyond(
            f"Spearman's rho of errors at upright with kernel regression, {pattern} missing "
            f"({method_name(by)}).",
            at_angles(
                {
                    n: float(own["upright"].corr(own["upright_other"], method="spearman"))
                    for n, own in by_angles(part).items()
                },
                form=".2f",
            ),
            uncertainty=f"over {part['pair'].nunique()} pairs",
        )
        for pattern, part in both.groupby("pattern", sort=False)
    ]
