"""Figures of `dynamics/rotation`."""

from __future__ import annotations

from symscope.runs import Plot, RunTables
from symscope_papers.dynamics.rotation.config import FOUR, Rotation
from symscope_papers.dynamics.strategies.figures import strategy_plots


def draw_plots(config: Rotation, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    return strategy_plots(config, tables, source="Fig. 1c", task="shapes under quarter turns", ways=FOUR)
