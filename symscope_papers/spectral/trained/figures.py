"""Figures of `spectral/trained`, in the paper's layout."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from symscope.report import COLOURS, WRONG, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.scatter_plots import scatter_grid
from symscope_papers.spectral.pairs.angles import angle_axis, by_angles
from symscope_papers.spectral.trained.config import RUNS


def draw_plots(config: Any, tables: RunTables) -> list[Plot]:
    """A scatter for each run, ranks against n, and mean errors against n."""
    table = tables["pairs"]
    made = [scatter_plot(table[table["run"] == run], run, config) for run in config.runs]
    return [*made, ranks_plot(table), sweep_plot(table)]


def scatter_plot(mine: pd.DataFrame, run: str, config: Any) -> Plot:
    """The spectral error against the error of trained networks, a panel for each number of angles."""
    name, source = RUNS[run]
    panels = [(f"n = {n}", part) for n, part in by_angles(mine).items()]
    labels = ("spectral error (Eq. 7)", "error of trained networks")
    figure = scatter_grid(panels, "spectral", "trained", labels, note=lambda part: f"ρ = {_rho(part):.2f}")
    ranks = "; ".join(f"{title}: rho {_rho(part):.2f}" for title, part in panels)
    return Plot(
        name=run,
        figure=figure,
        title=f"Trained networks: {name}",
        source=source,
        alt="Scatter plots, one for each number of angles, of the spectral error against the error of "
        f"trained networks at the missing image, with Spearman's rank correlation ({ranks}).",
        caption=f"Each dot is a pair of digits: two networks of width {config.width}, one for each digit "
        f"whose upright image is missing; {mine['converged'].mean():.0%} of the pairs reached the "
        f"loss asked for, after {mine['epochs'].median():.0f} epochs in the middle.",
    )


def _rho(part: pd.DataFrame, column: str = "spectral") -> float:
    return float(part["trained"].corr(part[column], method="spearman"))


def _bars(rho: float, pairs: int) -> tuple[float, float]:
    """One standard error of a rank correlation to each side, by Fisher's transform."""
    if pairs <= 3 or not abs(rho) < 1:
        return 0.0, 0.0
    z, error = math.atanh(rho), 1.03 / math.sqrt(pairs - 3)
    return rho - math.tanh(z - error), math.tanh(z + error) - rho


def ranks_plot(table: pd.DataFrame) -> Plot:
    """Spearman's rho against n, for every run and for two theories."""
    figure = new_figure(7.2, 4.4)
    theories = (
        ("spectral", "spectral error", "o-", "full"),
        ("own_exact", "regression with its own NTK", "s:", "none"),
    )
    with style():
        axes = figure.subplots()
        for index, (colour, run) in enumerate(zip(COLOURS, table["run"].unique().tolist(), strict=False)):
            mine = table[table["run"] == run]
            for side, (column, name, line, fill) in enumerate(theories):
                found = {n: (_rho(part, column), len(part)) for n, part in by_angles(mine).items()}
                bars = list(zip(*(_bars(*value) for value in found.values()), strict=True))
                axes.errorbar(
                    [n * (1 + 0.03 * (2 * index + side)) for n in found],
                    [rho for rho, _ in found.values()],
                    bars,
                    fmt=line,
                    color=colour,
                    fillstyle=fill,
                    capsize=2,
                    label=f"{RUNS[run][0]}: {name}",
                )
        angle_axis(axes, table["angles"].unique().tolist())
        axes.set_ylabel("rank correlation with\ntrained networks (Spearman's ρ)")
        axes.set_ylim(top=1.02)
        axes.grid(True)
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=1, fontsize=8.5)
    return Plot(
        name="ranks",
        figure=figure,
        title="How well theory ranks pairs, as trained networks see them",
        source="Fig. 5B, 11",
        alt="Line chart of Spearman's rank correlation between the errors of trained networks and those of "
        "theory, against the number of angles, for every parameterisation and optimiser.",
        caption="Bars are one standard error (Fisher's transform). The spectral error is that of the paper's "
        "kernel; a network in PyTorch's parameterisation has another one, whose regression is shown open.",
    )


def sweep_plot(table: pd.DataFrame) -> Plot:
    """Mean errors of trained networks and of theory against n."""
    figure = new_figure(6.6, 4.0)
    with style():
        axes = figure.subplots()
        runs = table["run"].unique().tolist()
        for colour, run in zip(COLOURS, runs, strict=False):
            parts = by_angles(table[table["run"] == run])
            axes.errorbar(
                list(parts),
                [part["trained"].mean() for part in parts.values()],
                [part["trained"].std() / math.sqrt(len(part)) for part in parts.values()],
                fmt="o-",
                color=colour,
                capsize=3,
                label=RUNS[run][0],
            )
        parts = by_angles(table[table["run"] == runs[0]])
        for column, name, line in (("spectral", "spectral error", "s--"), ("exact", "exact NTK error", "^:")):
            means = [part[column].mean() for part in parts.values()]
            axes.plot(list(parts), means, line, color="#8b939c", label=name)
        axes.axhline(1, color=WRONG, linewidth=1, linestyle="--")
        angle_axis(axes, list(parts))
        axes.set_ylabel("mean error at the missing image")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8.5)
    return Plot(
        name="sweep",
        figure=figure,
        title="Mean error against the number of angles",
        source="Fig. 5B, 11",
        alt="Line chart of the mean error at the missing image against the number of angles, for trained "
        "networks and for theory; above one, the dashed line, predictions are wrong.",
        caption="Bars are one standard error over pairs. Above the dashed line the prediction is wrong.",
    )
