"""Claims of `dynamics/permutation`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.permutation.config import Permutation
from symscope_papers.dynamics.strategies.claims import common_claims, orders_claims


def judge_claims(config: Permutation, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    size = (config.nodes, config.graphs, config.batch)
    whole = size == (Permutation.nodes, Permutation.graphs, Permutation.batch)
    return [*common_claims(config, tables), *orders_claims(tables, whole=whole)]
