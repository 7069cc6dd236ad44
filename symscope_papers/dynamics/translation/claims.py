"""Claims of `dynamics/translation`."""

from __future__ import annotations

from dataclasses import replace

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.strategies.claims import closer_claims, common_claims
from symscope_papers.dynamics.translation.config import Translation


def judge_claims(config: Translation, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    whole = replace(config, initial=Translation.initial, mnist=Translation.mnist) == Translation()
    return [*common_claims(config, tables, whole=whole), *closer_claims(tables)]
