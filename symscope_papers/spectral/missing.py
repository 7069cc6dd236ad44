"""Several points missing at once, in any pattern: the linear system of App. A.1 against regression itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch

from symscope.data.synthetic import circles
from symscope.errors import InputError
from symscope.kernels import rbf_kernel
from symscope.report import COLOURS, WRONG, new_figure, style
from symscope.runs import Claim, Experiment, Plot, Preset, Results, Surroundings, Tables, below
from symscope.spectral.circulant import circulant_row, circulant_spectrum, spectral_error, spectral_residual
from symscope.spectral.dense import regression
from symscope_papers.spectral import PAPER


@final
@dataclass(frozen=True)
class Missing:
    """Config of `spectral/missing`: how many points are missing, and how many random patterns of each."""

    points: int = 12
    distance: float = 1.0
    inverse_scale: float = 1.4
    relative_ridge: float = 1e-8
    counts: tuple[int, ...] = tuple(range(1, 13))
    patterns: int = 64

    def __post_init__(self) -> None:
        if self.points < 2:
            raise InputError(f"points: expected 2 or more on each circle, got {self.points}")
        if not 0 <= self.relative_ridge < math.inf:
            raise InputError(f"relative_ridge: expected 0 or more, got {self.relative_ridge}")
        if not self.counts or min(self.counts) < 1 or max(self.counts) >= 2 * self.points:
            raise InputError(f"counts: expected numbers from 1 to {2 * self.points - 1}, got {self.counts}")
        if self.patterns < 1:
            raise InputError(f"patterns: expected at least 1, got {self.patterns}")


def _cells(config: Missing) -> list[dict[str, Any]]:
    return [{"missing": count, "kind": kind} for count in config.counts for kind in ("random", "arc")]


def _patterns(count: int, kind: str, config: Missing, seed: int) -> list[torch.Tensor]:
    """Random subsets of all points, or one arc of neighbours (all arcs of one length are alike)."""
    if kind == "arc":
        return [torch.arange(count)]
    generator = torch.Generator().manual_seed(seed)
    return [torch.randperm(2 * config.points, generator=generator)[:count] for _ in range(config.patterns)]


def _cell(config: Missing, cell: Mapping[str, Any], surroundings: Surroundings) -> Results:
    data = circles(config.points, config.distance)
    gram = rbf_kernel(1 / (math.sqrt(2) * config.inverse_scale))(data.x)
    labels = data.labels.to(torch.float64)
    ridge = config.relative_ridge * float(gram.trace())
    spectrum = circulant_spectrum(circulant_row(gram))
    rows = []
    for number, missing in enumerate(_patterns(cell["missing"], cell["kind"], config, surroundings.seed)):
        formula = spectral_residual(spectrum, labels, missing, ridge)
        solved = labels[missing] - regression(gram, labels, missing, ridge)
        errors = labels[missing] * formula
        rows.append(
            {
                "pattern": number,
                "points": missing.tolist(),
                "mean_error": errors.mean(),
                "wrong": (errors > 1).double().mean(),
                "difference": (formula - solved).abs().max(),
                "spectral_error": spectral_error(spectrum, ridge),
            }
        )
    return {"patterns": rows}


def _claims(config: Missing, tables: Tables) -> list[Claim]:
    table = tables["patterns"]
    claims = [
        below(
            "The linear system over the missing points gives the residuals of kernel regression.",
            "App. A.1",
            float(table["difference"].max()),
            1e-8,
            why=f"Largest difference over {len(table)} patterns of up to {table['missing'].max()} "
            "missing points.",
        )
    ]
    single = table[table["missing"] == 1]
    if len(single):
        gap = (single["mean_error"] - single["spectral_error"]).abs().max()
        claims.append(
            below("With one missing point it is the spectral error of Eq. 7.", "App. A.1", float(gap), 1e-8)
        )
    return claims


def _plots(config: Missing, tables: Tables) -> list[Plot]:
    table = tables["patterns"]
    figure = new_figure(7.2, 4.0)
    with style():
        axes = figure.subplots()
        for colour, (kind, part) in zip(COLOURS, table.groupby("kind", sort=False), strict=False):
            name = "neighbours in a row" if kind == "arc" else "random points"
            if kind == "random":
                axes.plot(part["missing"], part["mean_error"], ".", color=colour, alpha=0.35, markersize=5)
            mean = part.groupby("missing")["mean_error"].mean()
            axes.plot(mean.index, mean.to_numpy(), "o-", color=colour, label=name, fillstyle="none")
        axes.axhline(1, color=WRONG, linewidth=1, linestyle="--")
        axes.set(xlabel=f"points missing of {2 * config.points}", ylabel="mean error on them", yscale="log")
        axes.grid(True)
        axes.legend(fontsize=9)
    return [
        Plot(
            name="missing",
            figure=figure,
            title="Error against the number of missing points",
            source="App. A.1",
            alt="Line chart of the mean error on the missing points against their number, for random "
            "patterns and for "
            "neighbours in a row; above one, the dashed line, predictions are wrong.",
            caption="Small dots are single random patterns. Above the dashed line predictions are wrong.",
        )
    ]


missing_points = Experiment(
    id="spectral/missing",
    paper=PAPER,
    figure="App. A.1",
    shows="The spectral formula for several missing points, in any pattern, is exact.",
    config=Missing,
    presets={
        "quick": Preset(Missing(counts=(1, 2, 3, 5, 8), patterns=16), "seconds"),
        "paper": Preset(Missing(), "a second"),
    },
    cells=_cells,
    measure=_cell,
    plot=_plots,
    claims=_claims,
)
