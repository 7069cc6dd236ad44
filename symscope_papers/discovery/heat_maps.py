"""Heat maps of generators, their rows and columns labelled with parameters."""

from __future__ import annotations

from typing import Any

import numpy as np


def heat_map(axes: Any, table: np.ndarray, names: list[str], title: str, *, first: bool) -> None:
    """One generator: rows move, in proportion to columns; blue positive, red negative."""
    axes.imshow(table, cmap="RdBu", vmin=-1, vmax=1)
    axes.set_title(title, fontsize=8)
    ticks = range(len(names))
    axes.set_xticks(ticks, names, rotation=90, fontsize=7)
    axes.set_yticks(ticks, names if first else [""] * len(names), fontsize=7)
    axes.set_xticks([t - 0.5 for t in ticks], minor=True)
    axes.set_yticks([t - 0.5 for t in ticks], minor=True)
    axes.grid(which="minor", linewidth=0.4)
    axes.tick_params(which="minor", length=0)
    axes.set_xlabel("in proportion to", fontsize=8)
    if first:
        axes.set_ylabel("moves", fontsize=8)
