"""Figures of `spectral/trained`, in the paper's layout."""

from __future__ import annotations

import math

import pandas as pd

from symscope.report import COLOURS, FAINT, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import error_line, shared_legend, wrong_line
from symscope_papers.spectral.pairs.angles import by_angles
from symscope_papers.spectral.pairs.figures import angle_axis, angle_scatter
from symscope_papers.spectral.trained.claims import rank_correlations
from symscope_papers.spectral.trained.config import RUNS, Trained


def draw_plots(config: Trained, tables: RunTables) -> list[Plot]:
    """A scatter for each run, ranks against n, and mean errors against n."""
    table = tables["pairs"]
    made = [scatter_plot(table[table["run"] == run], run, config) for run in config.runs]
    return [*made, ranks_plot(table), sweep_plot(table)]


def scatter_plot(mine: pd.DataFrame, run: str, config: Trained) -> Plot:
    """The spectral error against the error of trained networks, a panel for each number of angles."""
    name, source = RUNS[run]
    labels = ("spectral error (Eq. 7)", "error of trained networks")
    rho = rank_correlations(mine, "spectral")
    figure, _ = angle_scatter(
        mine, "spectral", "trained", labels, lambda part: f"ρ = {rho[part['angles'].iloc[0]]:.2f}"
    )
    reached = f"; {mine['converged'].mean():.0%} of the pairs reached the loss asked for, after"
    trained = reached if config.tolerance else ", trained for"
    ranks = "; ".join(f"n = {n}: rho {value:.2f}" for n, value in rho.items())
    return Plot(
        name=run,
        figure=figure,
        title=f"Trained networks: {name}",
        source=source or "beyond the paper",
        alt="Scatter plots, one for each number of angles, of the spectral error against the error of "
        f"trained networks at the missing image, with Spearman's rank correlation ({ranks}).",
        caption=f"Each dot is a pair of digits: two networks of width {config.width}, one for each digit "
        f"whose upright image is missing{trained} {mine['epochs'].median():.0f} epochs in the middle.",
    )


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
                rho = rank_correlations(mine, column)
                bars = [_bars(rho[n], len(part)) for n, part in by_angles(mine).items()]
                axes.errorbar(
                    [n * (1 + 0.03 * (2 * index + side)) for n in rho],
                    list(rho.values()),
                    list(zip(*bars, strict=True)),
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
        shared_legend(figure, [axes], "lower center", columns=1, fontsize=8.5)
    return Plot(
        name="ranks",
        figure=figure,
        title="How well theory ranks pairs, as trained networks see them",
        source="Fig. 5B, 11, and beyond",
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
            means = [part["trained"].mean() for part in parts.values()]
            errors = [part["trained"].std() / math.sqrt(len(part)) for part in parts.values()]
            error_line(axes, list(parts), means, errors, "o-", colour, RUNS[run][0])
        parts = by_angles(table[table["run"] == runs[0]])
        for column, name, line in (("spectral", "spectral error", "s--"), ("exact", "exact NTK error", "^:")):
            means = [part[column].mean() for part in parts.values()]
            axes.plot(list(parts), means, line, color=FAINT, label=name)
        wrong_line(axes)
        angle_axis(axes, list(parts))
        axes.set_ylabel("mean error at the missing image")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8.5)
    return Plot(
        name="sweep",
        figure=figure,
        title="Mean error against the number of angles",
        source="Fig. 5B, 11, and beyond",
        alt="Line chart of the mean error at the missing image against the number of angles, for trained "
        "networks and for theory; above one, the dashed line, predictions are wrong.",
        caption="Bars are one standard error over pairs. Above the dashed line the prediction is wrong.",
    )
