"""Claims of `linear/ewk-spectrum`."""

from __future__ import annotations

from typing import Any

import pandas as pd

from symscope.linear.weights_spectrum import slow_eigenvalue
from symscope.runs import Claim, RunTables
from symscope_papers.linear.ewk_spectrum.config import SMALL, Ewk

OPEN = "The paper does not state its activation and initialisation."
THIRD = "The eigenvalues that are less than 0.2, which is about a third of them"


def judge_claims(config: Ewk, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    table = tables["summary"]
    return [*_stated_claims(config, table), *_measurements(table), *_zero_measurements(config, table)]


def _stated_claims(config: Ewk, table: pd.DataFrame) -> list[Claim]:
    return [
        _share_claim(
            config,
            table,
            "About a third of the eigenvalues are below 0.2.",
            "small",
            "about a third",
            1 / 3,
            THIRD,
            why="Of all eigenvalues; with the paper's 2 % of zeros it hardly matters whether they count.",
        ),
        _share_claim(
            config,
            table,
            "2 % of the eigenvalues are zero.",
            "zero_share",
            "2 %",
            0.02,
            "with them accounting for 2% of all the eigenvalues",
            why="No ReLU network can have 2 %: every unit makes one zero, 20 % in all.",
        ),
        Claim.at_most(
            "Eigenvalues below 0.2 need more than 1000 epochs at a learning rate of 0.01 to lose 90 %.",
            "Fig. 5",
            SMALL,
            slow_eigenvalue(config.learning_rate, config.epochs, config.remaining),
            quote="would require more than 1000 epochs with a learning rate of 10^{-2} with full-batch",
            why="The eigenvalue that loses 90 % in exactly 1000 is (1 - 0.1^(1/1000)) / 0.01 = 0.23.",
        ),
        Claim.from_check(
            "The network has 501 parameters.",
            "Fig. 5",
            bool((table["weights"] == 501).all()),
            measured=int(table["weights"].iloc[0]),
            threshold="501",
            quote="the network has 501 parameters and is underparameterized",
        )
        if config.width == 100
        else Claim.not_checked(
            "The network has 501 parameters.",
            "Fig. 5",
            f"{config.width} hidden units, not the paper's 100.",
            quote="the network has 501 parameters and is underparameterized",
        ),
    ]


def _measurements(table: pd.DataFrame) -> list[Claim]:
    return [
        Claim.quantified(
            "Share of the eigenvalues that are not zero which are below 0.2.",
            "Fig. 5",
            float(_plain(table)["small_of_nonzero"].mean()),
            quote=THIRD,
            uncertainty=f"± {_plain(table)['small_of_nonzero'].std():.2g} over networks",
            why=f"ReLU, PyTorch's initialisation. All: {_by_kind(table, 'small_of_nonzero')}.",
        ),
        Claim.quantified(
            "Orders of magnitude between the largest and the smallest eigenvalue not zero, the least.",
            "App. I",
            float(table["decades"].min()),
            quote="the many orders of magnitude difference between them",
            why=f"By activation and initialisation: {_by_kind(table, 'decades')}.",
        ),
    ]


def _zero_measurements(config: Ewk, table: pd.DataFrame) -> list[Claim]:
    """Zero eigenvalues of ReLU networks, which theory counts."""
    relu = table[table["activation"] == "relu"]
    return [
        Claim.beyond(
            "Least number of zero eigenvalues of a ReLU network, less the number of its units.",
            int((relu["zeros"] - config.width).min()),
            expected="0 or more: scaling a unit up before and down after changes nothing",
        ),
        Claim.beyond(
            "Size of the kernel along that rescaling, relative to its largest eigenvalue.",
            float(relu["rescaling_residual"].max()),
            expected="0 to rounding",
            why="Three units of every ReLU network; no eigenvalue routine is involved.",
        ),
        Claim.beyond(
            "Largest difference between the zeros of a ReLU network and those counted from its units alone: "
            "silent ones, ones that are active everywhere, and one for each that bends inside the cube.",
            int((relu["zeros"] - relu["counted_zeros"]).abs().max()),
            expected="0; eigenvalues at the edge of rounding go either way",
        ),
    ]


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """Networks with PyTorch's own layers as they come."""
    return table[(table["activation"] == "relu") & (table["start"] == "default")]


def _by_kind(table: pd.DataFrame, column: str) -> str:
    kinds: dict[Any, float] = table.groupby(["activation", "start"], sort=False)[column].mean().to_dict()
    return "; ".join(f"{a}, {s}: {value:.3g}" for (a, s), value in kinds.items())


def _share_claim(
    config: Ewk,
    table: pd.DataFrame,
    statement: str,
    column: str,
    stated: str,
    number: float,
    quote: str,
    why: str,
) -> Claim:
    """A share that the paper states; it holds if it is within what some kind of network gives."""
    words = {"quote": quote, "why": f"{why} Means: {_by_kind(table, column)}. {OPEN}"}
    if (config.width, config.points) != (100, 100_000):
        size = f"{config.width} units and {config.points} points, not the paper's 100 and 100000."
        return Claim.not_checked(statement, "Fig. 5", size, quote=quote)
    ranges: Any = table.groupby(["activation", "start"])[column].agg(["min", "max"])
    plain = _plain(table)[column]
    measured = f"{plain.mean():.3f} ± {plain.std():.2g} over networks"
    if bool(((ranges["min"] <= number) & (number <= ranges["max"])).any()):
        threshold = f"{stated}, within the range over networks of one kind"
        return Claim.from_check(statement, "Fig. 5", True, measured=measured, threshold=threshold, **words)
    return Claim.number_differs(statement, "Fig. 5", measured=measured, stated=stated, **words)
