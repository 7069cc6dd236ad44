"""Claims of `dynamics/permutation`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.permutation.config import Permutation
from symscope_papers.dynamics.strategies.claims import common_claims, orders_claims


def judge_claims(config: Permutation, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    whole = (config.nodes, config.graphs) == (Permutation.nodes, Permutation.graphs)
    return [*common_claims(config, tables), *orders_claims(tables, whole=whole)]
