"""Claims of `linear/ewk-spectrum`."""

from __future__ import annotations

from typing import Any

import pandas as pd

from symscope.linear.weights_spectrum import slow_eigenvalue
from symscope.runs import Claim, RunTables
from symscope_papers.linear.ewk_spectrum.config import SMALL, Ewk


def judge_claims(config: Ewk, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    table = tables["summary"]
    relu = table[table["activation"] == "relu"]
    plain = relu[relu["start"] == "default"]
    where = f"Mean over {len(plain)} ReLU networks, PyTorch's initialisation, {config.points} points."
    return [
        _about("About a third of all eigenvalues are below 0.2.", table, "small", 1 / 3, where),
        _about(
            "About a third of the eigenvalues that are displayed, those not zero, are below 0.2.",
            table,
            "small_of_nonzero",
            1 / 3,
            f"A reading of the paper's 'them' that we chose because it fits. {where}",
        ),
        _about("2 % of the eigenvalues are zero.", table, "zero_share", 0.02, where),
        Claim.at_least(
            "At least one eigenvalue is zero for every ReLU unit, a fifth of all: scaling a unit up before "
            "and down after changes nothing.",
            "beyond the paper",
            int((relu["zeros"] - config.width).min()),
            0,
            why="Least number of zeros less the number of units, over all ReLU networks. So 2 % is "
            "impossible for a ReLU network; the paper does not name its activation.",
        ),
        Claim.at_most(
            "Along that rescaling the kernel vanishes, relative to its largest eigenvalue.",
            "beyond the paper",
            float(relu["rescaling_residual"].max()),
            1e-12,
            why="Three units of every ReLU network; no eigenvalue routine is involved.",
        ),
        Claim.at_most(
            "The zeros are those counted from the units alone: silent ones, ones that are active everywhere, "
            "and one for each that bends inside the cube.",
            "beyond the paper",
            int((relu["zeros"] - relu["counted_zeros"]).abs().max()),
            0.01 * (5 * config.width + 1),
            why="Largest difference over ReLU networks; eigenvalues at the edge of rounding go either way. "
            "Threshold is ours: 1 % of the weights.",
        ),
        Claim.at_least(
            "The eigenvalues spread over many orders of magnitude.",
            "App. I",
            float(table["decades"].min()),
            3,
            why="Least spread over all networks, of eigenvalues that are not zero. Threshold is ours.",
        ),
        Claim.at_most(
            "Eigenvalues below 0.2 need more than 1000 epochs at 0.01 to lose 90 %.",
            "Fig. 5",
            SMALL,
            slow_eigenvalue(config.learning_rate, config.epochs, config.remaining),
            why="The threshold is (1 - 0.1^(1/1000)) / 0.01 = 0.23.",
        ),
    ]


def _about(statement: str, table: pd.DataFrame, column: str, paper: float, where: str) -> Claim:
    """Within a quarter of a third, or within half of the paper's small number; the ranges are ours."""
    slack = 0.25 if paper > 0.1 else 0.5
    kinds: dict[Any, float] = table.groupby(["activation", "start"], sort=False)[column].mean().to_dict()
    measured = kinds["relu", "default"]
    spread = table[(table["activation"] == "relu") & (table["start"] == "default")][column].std()
    others = "; ".join(f"{a}, {s}: {value:.3f}" for (a, s), value in kinds.items())
    return Claim.from_check(
        statement,
        "Fig. 5",
        abs(measured - paper) <= slack * paper,
        measured=f"{measured:.3f} (networks spread by {spread:.3f})",
        threshold=f"{paper * (1 - slack):.3f} to {paper * (1 + slack):.3f}",
        why=f"{where} By activation and initialisation: {others}. The range is ours.",
    )
