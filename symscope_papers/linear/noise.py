"""Label noise does not change how fast the asymmetry decays, only where it ends (Fig. 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch

from symscope.data.synthetic import absolute_value
from symscope.errors import InputError
from symscope.linear import regression_flow, second_moments, weight_split
from symscope.linear.descent import mean_loss_rate
from symscope.report import COLOURS, new_figure, style
from symscope.runs import CellContext, CellResults, Claim, Experiment, Plot, Preset, RunTables
from symscope_papers.linear import PAPER
from symscope_papers.linear.training import (
    asymmetry_of,
    decay_fit,
    dress_asymmetry,
    recorded_epochs,
    trained,
)

KINDS = ("orbit", "point")
TITLES = {"orbit": "one draw of noise per orbit", "point": "one draw of noise per point"}


@final
@dataclass(frozen=True)
class Noise:
    """Config of `linear/noise`: standard deviations of the noise on the labels."""

    points: int = 100
    sigmas: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    learning_rate: float = 1e-2
    epochs: int = 5000
    records: int = 150

    def __post_init__(self) -> None:
        if self.points < 1 or self.epochs < 1 or self.records < 4:
            raise InputError(
                f"expected at least 1 point, 1 epoch and 4 records, got {self.points}, {self.epochs}, "
                f"{self.records}"
            )
        if len(self.sigmas) < 2 or min(self.sigmas) < 0:
            raise InputError(f"sigmas: expected two or more levels, none negative, got {self.sigmas}")


def _cells(config: Noise) -> list[dict[str, Any]]:
    return [{"noise": kind, "sigma": sigma} for kind in KINDS for sigma in config.sigmas]


def _cell(config: Noise, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    toy = absolute_value(config.points, context.run_seed)
    seed = context.run_seed + 1
    if cell["noise"] == "orbit":
        whole = toy.noisy(cell["sigma"], seed).completed()  # Assumption 1 still holds
    else:
        whole = toy.completed().noisy(cell["sigma"], seed)
    x, y, group = (t.to(context.device) for t in (whole.features, whole.targets, toy.group))
    generator = torch.Generator().manual_seed(context.run_seed + 2)
    start = torch.randn(2, generator=generator, dtype=torch.float64).to(x)
    moments = second_moments(x, y)
    solution = regression_flow(moments.xx, moments.xy)
    record = recorded_epochs(config.epochs, config.records)
    times = (mean_loss_rate(config.learning_rate, len(x)) * record).to(x)
    path = trained(x, y, start[None], config.learning_rate, record)[:, 0]
    asymmetric = weight_split(path, group).asymmetric[:, 1]
    end = weight_split(solution.limit(start), group).asymmetric[1]
    slope, straight, used = decay_fit(times.cpu(), (asymmetric - end).abs().cpu())
    measured = asymmetry_of(path, x, group)
    row = {
        "fitted_rate": slope,
        "straightness": straight,
        "records_fitted": used,
        "eigenvalue": float(solution.rates[0]),
        "floor": asymmetry_of(solution.limit(start)[None], x, group)[0],
        "first_asymmetry": measured[0],
        "final_asymmetry": measured[-1],
    }
    paths = [
        {"epoch": int(epoch), "asymmetry": a, "asymmetric_weight": float(w)}
        for epoch, a, w in zip(record.tolist(), measured, asymmetric, strict=True)
    ]
    return {"paths": paths, "levels": [row]}


def _claims(config: Noise, tables: RunTables) -> list[Claim]:
    levels, paths = tables["levels"], tables["paths"]
    shared = paths[paths["noise"] == "orbit"].groupby("epoch")["asymmetric_weight"]
    error = (levels["fitted_rate"] / levels["eigenvalue"] - 1).abs()
    rates = levels["fitted_rate"]
    point = levels[(levels["noise"] == "point") & (levels["sigma"] > 0)]
    return [
        Claim.at_most(
            "The rate of decay does not depend on the noise.",
            "Fig. 3",
            float(rates.max() / rates.min() - 1),
            0.01,
            why=f"Largest over smallest fitted rate for σ from {min(config.sigmas):g} to "
            f"{max(config.sigmas):g}, both kinds of noise, of the distance of the asymmetric weight from "
            "its limit; the threshold is ours.",
        ),
        Claim.at_most(
            "It is the eigenvalue of K_G on the asymmetric weights.",
            "Theorem 3.3.3",
            float(error.max()),
            0.01,
            why="Relative, the worst level.",
        ),
        Claim.at_most(
            "Where an orbit shares its noise, the asymmetric weight does not notice it at all.",
            "Theorem 3.3.3",
            float((shared.max() - shared.min()).max()),
            1e-12,
            why="Largest difference between two noise levels, over all epochs: labels do not enter w_k.",
        ),
        Claim.at_most(
            "Where every point has its own noise, the decay ends at the asymmetry of the sample's own "
            "solution.",
            "beyond the paper",
            float((point["final_asymmetry"] / point["floor"] - 1).abs().max()),
            0.01,
            why="Relative, the worst level; the threshold is ours. Floors: "
            + ", ".join(f"{f:.2g} at σ = {s:g}" for s, f in zip(point["sigma"], point["floor"], strict=True))
            + f", from {point['first_asymmetry'].iloc[0]:.2g} at the start: a small noisy sample is not a "
            "symmetric one.",
        ),
    ]


def _plots(config: Noise, tables: RunTables) -> list[Plot]:
    paths = tables["paths"]
    figure = new_figure(9.0, 4.0)
    with style():
        panels = figure.subplots(1, 2, sharey=True)
        for axes, kind in zip(panels, KINDS, strict=True):
            for i, sigma in enumerate(config.sigmas):
                part = paths[(paths["noise"] == kind) & (paths["sigma"] == sigma)]
                shown = part[part["asymmetry"] > 0]
                colour = COLOURS[i % len(COLOURS)]
                # lines that coincide take turns, so that all are seen
                turns: Any = (6 * i, (6, 6 * (len(config.sigmas) - 1))) if kind == "orbit" else "-"
                axes.plot(
                    shown["epoch"],
                    shown["asymmetry"],
                    linestyle=turns,
                    color=colour,
                    linewidth=2.6 if kind == "orbit" else 1.6,
                    label=f"σ = {sigma:g}",
                )
            dress_asymmetry(axes, TITLES[kind])
            axes.set_xlabel("epoch")
        panels[1].set_ylabel("")
        panels[1].legend(fontsize=9, loc="lower left")
    return [
        Plot(
            name="noise",
            figure=figure,
            title="Asymmetry loss while |x| is learned from noisy labels",
            source="Fig. 3",
            alt="Two panels of the asymmetry loss against epochs on a logarithmic axis, a line per noise "
            "level. Left, all lines coincide and fall straight down. Right, they start with the same "
            "slope and level off, higher for more noise.",
            caption="Left: both points of an orbit have the same noisy label, Assumption 1 holds and the "
            "lines coincide (drawn in pieces, in turn). Right: each point has its own noise; the slope "
            "is the same, and the line ends at the asymmetry of the noisy sample.",
        )
    ]


noise = Experiment(
    id="linear/noise",
    paper=PAPER,
    figure="Fig. 3",
    shows="Noise on the labels does not slow the decay of the asymmetry.",
    config=Noise,
    presets={
        "quick": Preset(Noise(points=50, sigmas=(0.0, 0.1, 0.25, 0.5), records=100), "half a minute"),
        "paper": Preset(Noise(), "a minute"),
    },
    cells=_cells,
    measure=_cell,
    plot=_plots,
    claims=_claims,
)
