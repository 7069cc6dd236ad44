"""Tables of an experiment at any config, without a run folder."""

from __future__ import annotations

import pandas as pd

from symscope.runs import CellContext


def tables_of_cells(experiment, config, run_seed=0):
    """What the runner hands to claims and plots: rows of all cells with the cells' parameters."""
    rows = {}
    for number, cell in enumerate(experiment.cells(config)):
        result = experiment.measure(config, cell, CellContext(number, run_seed, "cpu"))
        for name, some in result.items():
            rows.setdefault(name, []).extend({**cell, **row} for row in some)
    return {name: pd.DataFrame(some) for name, some in rows.items()}
