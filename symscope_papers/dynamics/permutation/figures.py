"""Figures of `dynamics/permutation`."""

from __future__ import annotations

from symscope.runs import Plot, RunTables
from symscope_papers.dynamics.permutation.config import Permutation
from symscope_papers.dynamics.strategies.figures import strategy_plots


def draw_plots(config: Permutation, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    return strategy_plots(config, tables, source="Fig. 1a", task="graphs under permutations of their nodes")
