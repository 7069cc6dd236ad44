"""Fig. 5: several generators of linear and (leaky) ReLU networks, against the exact Lie algebras."""

from __future__ import annotations

from symscope.experiments.claims import Claim, below
from symscope.experiments.definition import Experiment, Plot, Preset, Tables
from symscope.experiments.discovery import PAPER
from symscope.experiments.discovery.learned_claims import drift_claims, length_claim, part
from symscope.experiments.discovery.learned_figures import curve_plot, drift_plot, generator_plot
from symscope.experiments.discovery.learned_runs import LearnedRun, learned_run, run_cells

NETWORKS = ("linear 1-2-1", "ReLU 2-2-2", "leaky ReLU 2-3-2")
CLOSE = 10.0  # degrees, ours


def _claims(config: LearnedRun, tables: Tables) -> list[Claim]:
    claims = []
    angles = tables["angles"]
    for network in config.networks:
        for objective in config.objectives:
            rows = part(angles[angles["network"] == network], objective)
            claims.append(
                below(
                    f"Learned directions lie in the orbits of the exact Lie algebra: {network}, {objective} "
                    "objective.",
                    "Fig. 5",
                    float(rows["median_angle"].median()),
                    CLOSE,
                    why=f"Largest principal angle in degrees, median over held-out parameters; random "
                    f"directions: {rows['random_angle'].iloc[0]:.0f}. The exact algebra has dimension "
                    f"{rows['exact_dimension'].iloc[0]}. The threshold is ours.",
                )
            )
    if "linear" in config.actions and "paper" in config.objectives:
        rows = part(angles, "paper", "linear")
        claims.append(
            below(
                "Generators learned with the action gθ lie in the exact Lie algebra.",
                "Fig. 5",
                float(rows["matrix_angle"].astype(float).median()),
                CLOSE,
                why=f"Largest principal angle of the matrices' span, in degrees; median of {len(rows)} "
                "trainings. The threshold is ours.",
            )
        )
    claims += drift_claims(tables, "Fig. 5", "Learned fields")
    return [*claims, length_claim(tables, "Eq. 8")] if "paper" in config.objectives else claims


def _plots(config: LearnedRun, tables: Tables) -> list[Plot]:
    shown = [
        generator_plot(tables, name, "Fig. 5", objective=config.objectives[0]) for name in config.networks
    ]
    return [
        *shown,
        curve_plot(tables, config.networks[0], "Fig. 6"),
        drift_plot(tables, "beyond the paper", config.tolerance),
    ]


homogeneous = Experiment(
    id="discovery/homogeneous",
    paper=PAPER,
    figure="Fig. 5",
    shows="Learned fields of linear and ReLU networks move along the orbits of their exact Lie algebras.",
    config=LearnedRun,
    presets={
        "quick": Preset(LearnedRun(NETWORKS, actions=("network", "linear")), "a minute and a half"),
        "paper": Preset(
            LearnedRun(NETWORKS, actions=("network", "linear"), steps=10_000, seeds=5, points=64),
            "tens of minutes",
        ),
    },
    cells=run_cells,
    measure=learned_run,
    plot=_plots,
    claims=_claims,
)
