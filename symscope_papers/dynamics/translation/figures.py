"""Figures of `dynamics/translation`."""

from __future__ import annotations

from symscope.runs import Plot, RunTables
from symscope_papers.dynamics.strategies.figures import strategy_plots
from symscope_papers.dynamics.translation.config import Translation


def draw_plots(config: Translation, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    return strategy_plots(config, tables, source="Fig. 1b", task="digits under shifts")
