"""The tables of an experiment run cell by cell, in this process."""

from __future__ import annotations

from typing import Any

import pandas as pd

from symscope.runs import CellContext, Experiment


def gathered(experiment: Experiment, config: Any) -> dict[str, pd.DataFrame]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for number, cell in enumerate(experiment.cells(config)):
        results = experiment.measure(config, cell, CellContext(11 + number, 7, "cpu"))
        for name, part in results.items():
            plain = [{k: v.item() if hasattr(v, "item") else v for k, v in row.items()} for row in part]
            rows.setdefault(name, []).extend({**cell, **row} for row in plain)
    return {name: pd.DataFrame(part) for name, part in rows.items()}
