"""The symmetric and the asymmetric weights know nothing of each other (Fig. 1b, 1c)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch

from symscope.data.synthetic import absolute_value
from symscope.errors import InputError
from symscope.linear import weight_split
from symscope.report import COLOURS, INK, new_figure, style
from symscope.runs import CellContext, CellResults, Claim, Experiment, Plot, Preset, RunTables
from symscope_papers.linear import PAPER
from symscope_papers.linear.training import recorded_epochs, trained

KINDS = ("asymmetric", "symmetric")


@final
@dataclass(frozen=True)
class Decoupling:
    """Config of `linear/decoupling`: runs that share one part of their start."""

    points: int = 100
    runs: int = 10
    learning_rate: float = 1e-2
    epochs: int = 1000
    records: int = 100

    def __post_init__(self) -> None:
        if self.points < 1 or self.runs < 2 or self.records < 2 or self.epochs < 1:
            raise InputError(
                f"expected at least 1 point, 2 runs, 1 epoch and 2 records, got {self.points}, "
                f"{self.runs}, {self.epochs} and {self.records}"
            )


def _cells(config: Decoupling) -> list[dict[str, Any]]:
    return [{"shared": kind} for kind in KINDS]


def _cell(config: Decoupling, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    toy = absolute_value(config.points, context.run_seed)
    whole = toy.completed()
    generator = torch.Generator().manual_seed(context.seed)
    parts = weight_split(torch.randn(config.runs, 2, generator=generator, dtype=torch.float64), toy.group)
    if cell["shared"] == "asymmetric":
        starts = parts.symmetric + parts.asymmetric[:1]
    else:
        starts = parts.symmetric[:1] + parts.asymmetric
    x, y, starts = (t.to(context.device) for t in (whole.features, whole.targets, starts))
    record = recorded_epochs(config.epochs, config.records)
    path = weight_split(trained(x, y, starts, config.learning_rate, record), toy.group)
    # one number each: the component of (1, x) that flips, and the one that does not
    symmetric, asymmetric = path.symmetric[..., 0].cpu(), path.asymmetric[..., 1].cpu()
    return {
        "paths": [
            {
                "run": run,
                "epoch": int(epoch),
                "symmetric": float(symmetric[i, run]),
                "asymmetric": float(asymmetric[i, run]),
            }
            for run in range(config.runs)
            for i, epoch in enumerate(record.tolist())
        ]
    }


def _spread(tables: RunTables, shared: str, part: str) -> float:
    """The largest difference between two runs in one part of the weights, over all epochs."""
    paths = tables["paths"]
    by_epoch = paths[paths["shared"] == shared].groupby("epoch")[part]
    return float((by_epoch.max() - by_epoch.min()).max())


def _claims(config: Decoupling, tables: RunTables) -> list[Claim]:
    claims = []
    for kind, other, figure in (
        ("asymmetric", "symmetric", "Fig. 1b"),
        ("symmetric", "asymmetric", "Fig. 1c"),
    ):
        claims += [
            Claim.at_most(
                f"Runs that start with the same {kind} weights keep them the same, whatever the {other} "
                "ones do.",
                f"{figure}, Theorem 3.3.2",
                _spread(tables, kind, kind),
                1e-12,
                why=f"Largest difference between two of {config.runs} runs, over all epochs.",
            ),
            Claim.at_least(
                f"Their {other} weights did differ.",
                figure,
                _spread(tables, kind, other),
                0.1,
                why="Otherwise the first statement would say nothing; the threshold is ours.",
            ),
        ]
    return claims


def _plots(config: Decoupling, tables: RunTables) -> list[Plot]:
    paths = tables["paths"]
    figure = new_figure(9.0, 4.0)
    with style():
        panels = figure.subplots(1, 2, sharey=True)
        for axes, kind, letter in zip(panels, KINDS, "bc", strict=True):
            part = paths[paths["shared"] == kind]
            other = KINDS[1 - KINDS.index(kind)]
            for i, (_, run) in enumerate(part.groupby("run")):
                colour = COLOURS[i % len(COLOURS)]
                axes.plot(
                    run["epoch"], run[other], color=colour, label=f"{other}, a run each" if i == 0 else None
                )
                axes.plot(
                    run["epoch"], run[kind], "--", color=INK, label=f"{kind}, all runs" if i == 0 else None
                )
            axes.set(title=f"({letter}) same {kind} start", xlabel="epoch")
            axes.grid(True)
            axes.legend(fontsize=9)
        panels[0].set_ylabel("weight")
    return [
        Plot(
            name="components",
            figure=figure,
            title="One part shared, the other not",
            source="Fig. 1b-c",
            alt="Two panels of weights against epochs. Left: all runs' asymmetric weights fall on one "
            "dashed line to zero while their symmetric weights come from different starts to one value. "
            "Right: the symmetric weights fall on one line while the asymmetric ones decay to zero from "
            "different starts.",
            caption="Dashed: the part all runs share, drawn for every run; the lines lie on each other. "
            "Solid: the other part.",
        )
    ]


decoupling = Experiment(
    id="linear/decoupling",
    paper=PAPER,
    figure="Fig. 1b-c",
    shows="The part of the weights that respects the symmetry and the part that does not evolve "
    "independently.",
    config=Decoupling,
    presets={
        "quick": Preset(Decoupling(points=50, runs=5), "a few seconds"),
        "paper": Preset(Decoupling(), "a few seconds"),
    },
    cells=_cells,
    measure=_cell,
    plot=_plots,
    claims=_claims,
)
