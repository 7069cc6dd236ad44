"""Claims of `dynamics/permutation`."""

from __future__ import annotations

from dataclasses import replace

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.permutation.config import Permutation
from symscope_papers.dynamics.strategies.claims import closer_claims, common_claims


def judge_claims(config: Permutation, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    whole = replace(config, initial=Permutation.initial) == Permutation()
    return [*common_claims(config, tables, whole=whole), *closer_claims(tables)]
