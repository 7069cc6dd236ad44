"""Claims of `dynamics/translation`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.strategies.claims import common_claims, orders_claims
from symscope_papers.dynamics.translation.config import Translation


def judge_claims(config: Translation, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    size = (config.size, config.images, config.batch)
    whole = size == (Translation.size, Translation.images, Translation.batch) and config.mnist != "sample"
    return [*common_claims(config, tables), *orders_claims(tables, whole=whole)]
