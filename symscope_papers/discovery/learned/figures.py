"""Figures of learned discoveries: generators with parameter names, training curves, held-out drift."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from symscope.discovery.learned import TERMS
from symscope.report import COLOURS, new_figure, slug, style
from symscope.runs import Plot, RunTables
from symscope_papers.discovery.learned.config import LearnedRun

WORDS = {
    "scale-free": "scale-free objective",
    "pointwise": "pointwise objective",
    "paper": "paper's objective",
    "corrected": "corrected objective",
}


def learned_plots(source: str) -> Callable[[LearnedRun, RunTables], list[Plot]]:
    """The figures of a learned experiment.

    Args:
        source: The paper's figure of the first network's generators.

    Returns:
        Generators of every network, training curves of the first, held-out drift of all.
    """

    def draw_plots(config: LearnedRun, tables: RunTables) -> list[Plot]:
        objective = config.objectives[0]
        return [
            *[
                generator_plot(tables, name, "Sec. 5.3" if place else source, objective=objective)
                for place, name in enumerate(config.networks)
            ],
            curve_plot(tables, config.networks[0], "Fig. 6" if source == "Fig. 3" else "as Fig. 6"),
            drift_plot(tables, "beyond the paper", config.tolerance),
        ]

    return draw_plots


def generator_plot(tables: RunTables, network: str, source: str, *, objective: str = "scale-free") -> Plot:
    """Learned matrices of one seed above the matrices of their fields, labelled by parameters."""
    table = tables["generators"]
    actions = table["action"].unique().tolist()
    rows = [(action, kind) for action in actions for kind in ("learned", "field")]
    rows = [(action, kind) for action, kind in rows if not (action == "linear" and kind == "field")]
    wanted = (table["objective"] == objective) | (table["action"] == "linear")
    chosen = table[(table["network"] == network) & wanted & (table["seed"] == 0)]
    names = chosen["row"].drop_duplicates().tolist()
    count = int(chosen["generator"].max()) + 1
    size = max(1.9, 0.24 * len(names))
    figure = new_figure(min(size * count + 2.4, 12.0), size * len(rows) + 0.9)
    with style():
        grid = figure.subplots(len(rows), count, squeeze=False)
        for line, (action, kind) in zip(grid, rows, strict=True):
            for number, axes in enumerate(line):
                part = chosen[(chosen["generator"] == number) & (chosen["action"] == action)]
                square = part.pivot(index="row", columns="column", values=kind).loc[names, names]
                image = axes.imshow(square.to_numpy(float), cmap="RdBu_r", vmin=-1, vmax=1)
                _label(axes, names, first=number == 0)
                axes.set_title(_title(action, kind, number, part), loc="center", fontsize=9)
        figure.colorbar(image, ax=grid, shrink=0.8, label="entry over the largest")
    return Plot(
        name=f"generators-{slug(network)}",
        figure=figure,
        title=f"Learned generators, {network}",
        source=source,
        alt=f"Heat maps of {count} learned generators of the {network} network, rows and columns labelled by "
        "its parameters; and of the matrices that best describe their fields.",
        caption="h: the matrix that was trained. An action network is free to read h in any basis, so h need "
        "not look like a symmetry; M, the best fit of the field V(θ) = Mθ, shows the linear part of where "
        "parameters go (its share of the field in the title). "
        f"First seed, {WORDS[objective]}"
        + ("; the action gθ with the corrected objective." if "linear" in actions else "."),
    )


def _label(axes: Any, names: list[str], *, first: bool) -> None:
    places, size = range(len(names)), 8 if len(names) <= 6 else 6.5
    axes.set_xticks(places, names, rotation=90, fontsize=size)
    axes.set_yticks(places, names if first else [], fontsize=size)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0)


def _title(action: str, kind: str, number: int, part: pd.DataFrame) -> str:
    if action == "linear":
        return f"h{number + 1}, a = gθ"
    word = "" if action == "network" else f", {action}"
    if kind == "learned":
        return f"h{number + 1}{word}"
    return f"M{number + 1} ({1 - float(part['unexplained'].iloc[0]):.0%} of V{word})"


def curve_plot(tables: RunTables, network: str, source: str) -> Plot:
    """Held-out terms against steps, one panel for each objective; every seed a line."""
    table = tables["curves"]
    table = table[(table["network"] == network) & (table["action"] == table["action"].iloc[0])]
    objectives = table["objective"].unique().tolist()
    shown = [name for name in TERMS if name != "sparsity" and float(table[name].abs().max()) > 0]
    figure = new_figure(min(4.3 * len(objectives), 9.6) + 1.2, 3.6)
    with style():
        panels = figure.subplots(1, len(objectives), squeeze=False, sharey=True)[0]
        for axes, objective in zip(panels, objectives, strict=True):
            for colour, name in zip(COLOURS, shown, strict=False):
                for seed, part in table[table["objective"] == objective].groupby("seed"):
                    values = part[name].clip(lower=1e-6)
                    axes.semilogy(part["step"], values, color=colour, label=name if seed == 0 else None)
            axes.set(title=WORDS[objective], xlabel="step")
            axes.grid(True)
        panels[0].set_ylabel("held-out value of the term")
        panels[-1].legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return Plot(
        name=f"curves-{slug(network)}",
        figure=figure,
        title=f"Training curves, {network}",
        source=source,
        alt=f"Held-out terms of the objective against training steps for the {network} network, one panel "
        "for each objective.",
        caption="Terms without their weights, on parameters and data that are not trained on; one line per "
        "seed. A norm near 1 means that fields have shrunk to nothing. Values below 1e-6 are drawn there.",
    )


def drift_plot(tables: RunTables, source: str, tolerance: float) -> Plot:
    """Loss drift along every learned field against that of random fields of the same length."""
    table = tables["fields"]
    groups = list(table.groupby(["network", "objective", "action"], sort=False))
    figure = new_figure(7.4, 0.42 * len(groups) + 1.5)
    with style():
        axes = figure.subplots()
        for place, (_, part) in enumerate(groups):
            for colour, column, name in (
                (COLOURS[0], "loss_drift", "learned field"),
                (COLOURS[1], "random_loss_drift", "random field"),
            ):
                label = name if place == 0 else None
                axes.semilogx(part[column], [place] * len(part), "o", color=colour, alpha=0.7, label=label)
        axes.axvline(tolerance, color=COLOURS[2], linewidth=1, linestyle="--", label="tolerance (ours)")
        axes.set_yticks(range(len(groups)), ["\n".join(_words(key)) for key, _ in groups], fontsize=8)
        axes.set_ylim(len(groups) - 0.4, -0.6)
        axes.set_xlabel("largest relative change of a held-out loss")
        axes.grid(True, axis="x")
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return Plot(
        name="drift",
        figure=figure,
        title="Do the losses keep still on held-out parameters and data?",
        source=source,
        alt="Dots of the largest relative loss change along learned fields and along random fields of the "
        "same length, for every network, objective and action.",
        caption="Parameters travel a tenth and half of their norm along the field. One dot for each "
        "generator and seed: the worst of all held-out points.",
    )


def _words(key: Any) -> tuple[str, str]:
    network, objective, action = key
    extra = "" if action == "network" else f", {'a = gθ' if action == 'linear' else action}"
    return network, f"{WORDS[objective]}{extra}"
