"""Lemmas 1-7, Propositions 1-3 and Corollaries 1-2 on random networks of many groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch

from symscope.dynamics.identities import IDENTITIES, equation_3_gap, identity_errors
from symscope.errors import InputError
from symscope.report import COLOURS, WRONG, new_figure, style
from symscope.runs import CellContext, CellResults, Claim, Experiment, Plot, Preset, RunTables
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.random_problems import check_groups, random_problem

ROUNDING = 1e-10
FLOOR = 1e-18  # where an error of exactly zero is drawn


@final
@dataclass(frozen=True)
class Identities:
    """Config of `dynamics/identities`: which groups, and how many random networks of each."""

    groups: tuple[str, ...] = (
        "C3",
        "C6",
        "C8",
        "D3",
        "D4",
        "D6",
        "S3",
        "S4",
        "S5",
        "C2xC2",
        "C3xC3",
        "C4xC4",
    )
    networks: int = 8

    def __post_init__(self) -> None:
        check_groups(self.groups)
        if self.networks < 1:
            raise InputError(f"networks: expected at least 1, got {self.networks}")


def _cells(config: Identities) -> list[dict[str, Any]]:
    return [{"group": name, "network": k} for name in config.groups for k in range(config.networks)]


def _cell(config: Identities, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    generator = torch.Generator().manual_seed(context.seed)
    problem = random_problem(cell["group"], generator)
    network = problem.network
    shared = {
        "declaration": repr(network),
        "parameters": network.parameters,
        "equivariant_parameters": network.equivariant_dimension,
    }
    found = identity_errors(problem, seed=context.seed)
    return {
        "identities": [{"identity": one.name, "error": one.error, **shared} for one in found],
        "feature_averaging": [{"gap": equation_3_gap(problem, seed=context.seed), **shared}],
    }


def _claims(config: Identities, tables: RunTables) -> list[Claim]:
    table, gaps = tables["identities"], tables["feature_averaging"]["gap"]
    worst = table.groupby("identity", sort=False)["error"].max()
    seen = f"Largest relative error over {len(gaps)} random networks of {table['group'].nunique()} groups."
    claims = [
        Claim.at_most(statement, name, float(worst[name]), ROUNDING, why=seen)
        for name, (statement, _) in IDENTITIES.items()
    ]
    claims.append(
        Claim.at_most(
            "Feature averaging has the augmented risk for every A, Eq. 3 as printed.",
            "Remark 1, Eq. 3",
            float(gaps.abs().max()),
            ROUNDING,
            why="Off E the two differ for losses that are not linear: Jensen's inequality makes an "
            "equality of averages a bound. The relative difference is shown.",
        )
    )
    claims.append(
        Claim.at_most(
            "Feature averaging has at most the augmented risk (convex losses, Jensen).",
            "beyond the paper",
            float((-gaps).max()),
            ROUNDING,
            why="Largest excess of the feature-averaged risk over the augmented one; negative when there is "
            "none.",
        )
    )
    return claims


def _plots(config: Identities, tables: RunTables) -> list[Plot]:
    table = tables["identities"]
    names = list(IDENTITIES)
    families = {"C": "cyclic", "D": "dihedral", "S": "symmetric", "x": "translations"}
    figure = new_figure(7.6, 4.8)
    with style():
        axes = figure.subplots()
        for k, (key, label) in enumerate(families.items()):
            mine = table["group"].map(lambda name: "x" if "x" in name else name[0]) == key
            part = table[mine]
            height = [names.index(name) + 0.18 * (k - 1.5) for name in part["identity"]]
            size = part["error"].clip(lower=FLOOR)
            axes.plot(size, height, "o", markersize=4, color=COLOURS[k], alpha=0.6, label=label)
        axes.axvline(ROUNDING, color=WRONG, linestyle="--", linewidth=1)
        axes.set(xscale="log", xlabel="relative error (exact zeros at the left edge)", xlim=(FLOOR / 3, 1e-8))
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.grid(True, axis="x")
        axes.legend(loc="lower right", fontsize=9, title="groups")
    return [
        Plot(
            name="errors",
            figure=figure,
            title="Every statement, on random networks",
            source="Lemmas 1-7, Prop. 1-3, Cor. 1-2",
            alt="Dot plot of the relative error of each lemma, proposition and corollary for every random "
            f"network; the largest is {table['error'].max():.1g}, left of the dashed line at 1e-10.",
            caption="One dot per random network. Left of the dashed line a statement holds to 1e-10; float64 "
            "rounding is about 1e-16.",
        )
    ]


identities = Experiment(
    id="dynamics/identities",
    paper=PAPER,
    figure="Lemmas 1-7, Prop. 1-3, Cor. 1-2",
    shows="What the paper proves about nominal, augmented and equivariant risks holds to rounding.",
    config=Identities,
    presets={
        "quick": Preset(
            Identities(groups=("C6", "D4", "S3", "S4", "C3xC3"), networks=2), "half a minute on two cores"
        ),
        "paper": Preset(Identities(), "a minute on two cores"),
    },
    cells=_cells,
    measure=_cell,
    plot=_plots,
    claims=_claims,
)
