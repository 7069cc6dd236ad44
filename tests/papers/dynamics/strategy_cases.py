"""The three experiments of Fig. 1 at the smallest size, for their tests."""

from __future__ import annotations

import pandas as pd

from symscope.runs._definition import CellContext
from symscope_papers.dynamics.permutation import permutations
from symscope_papers.dynamics.permutation.config import Permutation
from symscope_papers.dynamics.permutation.measure import graph_problem
from symscope_papers.dynamics.rotation import rotations
from symscope_papers.dynamics.rotation.config import Rotation
from symscope_papers.dynamics.rotation.measure import mask_problem
from symscope_papers.dynamics.translation import translations
from symscope_papers.dynamics.translation.config import Translation
from symscope_papers.dynamics.translation.measure import digit_problem

GRAPHS = Permutation(
    nodes=4, graphs=24, channels=2, invariant=4, hidden=3, runs=3, epochs=4, passes=5, batch=6, block=2,
    check_epochs=2,
)  # fmt: skip
DIGITS = Translation(
    size=4, images=20, channels=(2, 2), invariant=3, mnist="sample", runs=2, epochs=3, passes=4, batch=5,
    block=1, check_runs=1, check_epochs=2,
)  # fmt: skip
SHAPES = Rotation(
    size=4, images=20, channels=(2, 2, 2), runs=2, epochs=3, passes=6, batch=5, block=2, check_runs=1,
    check_epochs=2,
)  # fmt: skip
HERE = CellContext(seed=0, run_seed=5, device="cpu")
CASES = {
    "permutation": (permutations, GRAPHS, graph_problem),
    "translation": (translations, DIGITS, digit_problem),
    "rotation": (rotations, SHAPES, mask_problem),
}


def measured(experiment, config):
    """All tables of a run, without a run folder."""
    rows: dict[str, list] = {}
    for cell in experiment.cells(config):
        for name, result in experiment.measure(config, cell, HERE).items():
            rows.setdefault(name, []).extend({**cell, **row} for row in result)
    return {name: pd.DataFrame(result) for name, result in rows.items()}
