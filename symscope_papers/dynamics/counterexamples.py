"""App. B: a minimum of the augmented risk that is none of R, and one of the equivariant risk only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import torch

from symscope.dynamics import TrainingProblem
from symscope.dynamics.counterexamples import (
    Counterexample,
    augmented_not_nominal,
    equivariant_not_augmented,
    identical_neurons,
    one_sample,
)
from symscope.dynamics.identities import hessian_of
from symscope.dynamics.layer_vectors import LayerWeights, flatten, unflatten
from symscope.dynamics.risks import augmented_problem, nominal_risk
from symscope.errors import InputError
from symscope.report import COLOURS, new_figure, style
from symscope.runs import CellContext, CellResults, Claim, Experiment, Plot, Preset, RunTables
from symscope_papers.dynamics import PAPER

EXAMPLES: Mapping[str, tuple[Callable[[int], Counterexample], str, str, str]] = {
    "U": (augmented_not_nominal, "augmented", "nominal", "App. B"),
    "V": (equivariant_not_augmented, "equivariant", "augmented", "App. B"),
    "one sample": (one_sample, "augmented", "nominal", "beyond the paper"),
    "identical neurons": (identical_neurons, "equivariant", "augmented", "beyond the paper"),
}
WORDS = {"nominal": "R", "augmented": "R_aug", "equivariant": "R_eqv"}


@final
@dataclass(frozen=True)
class Counterexamples:
    """Config of `dynamics/counterexamples`: dimensions of the spaces (samples, for identical neurons)."""

    sizes: tuple[int, ...] = (3, 4, 5, 6, 7)
    steps: int = 41

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 3 or max(self.sizes) > 7:
            raise InputError(f"sizes: expected numbers from 3 to 7, got {self.sizes}")
        if self.steps < 3:
            raise InputError(f"steps: expected at least 3 points of each curve, got {self.steps}")


def _cells(config: Counterexamples) -> list[dict[str, Any]]:
    return [{"example": name, "size": size} for name in EXAMPLES for size in config.sizes]


def _made(name: str, size: int) -> Counterexample:
    make = EXAMPLES[name][0]
    return make(3 * size) if name == "identical neurons" else make(size)


def _cell(config: Counterexamples, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    found = _made(cell["example"], cell["size"])
    _, of, not_of, _ = EXAMPLES[cell["example"]]
    rows = [
        {"risk": name, "gradient": at.gradient, "lowest": at.lowest, "strict": at.strict}
        for name, at in (
            ("nominal", found.nominal),
            ("augmented", found.augmented),
            ("equivariant", found.equivariant),
        )
    ]
    return {"minima": rows, "curves": _curves(found, of, not_of, config.steps)}


def _curves(found: Counterexample, of: str, not_of: str, steps: int) -> list[dict[str, Any]]:
    """Each of the two risks along its own direction of least curvature, against the step."""
    rows = []
    for name in (of, not_of):
        problem = found.problem if name == "nominal" else augmented_problem(found.problem)
        direction = _lowest_direction(problem, found.weights, inside=name == "equivariant")
        base = float(nominal_risk(problem, found.weights))
        for t in torch.linspace(-1, 1, steps, dtype=torch.float64).tolist():
            moved = tuple(w + t * d for w, d in zip(found.weights, direction, strict=True))
            rows.append({"risk": name, "step": t, "change": float(nominal_risk(problem, moved)) - base})
    return rows


def _lowest_direction(problem: TrainingProblem, weights: LayerWeights, inside: bool) -> LayerWeights:
    """The eigenvector of least curvature; inside E where R_eqv, equal to R_aug there, is asked about."""
    network = problem.network
    h = hessian_of(partial(nominal_risk, problem), network, flatten(weights))
    if not inside:
        return unflatten(network, torch.linalg.eigh(h).eigenvectors[:, 0])
    eye = torch.eye(network.parameters, dtype=torch.float64)
    projector = torch.stack([_projected(network, e) for e in eye])
    values, vectors = torch.linalg.eigh(projector)
    basis = vectors[:, values > 0.5]
    least = torch.linalg.eigh(basis.T @ h @ basis).eigenvectors[:, 0]
    return unflatten(network, basis @ least)


def _projected(network: Any, vector: torch.Tensor) -> torch.Tensor:
    return flatten(
        tuple(maps.project(part) for maps, part in zip(network.maps, unflatten(network, vector), strict=True))
    )


def _claims(config: Counterexamples, tables: RunTables) -> list[Claim]:
    table = tables["minima"]
    claims = []
    for name, (_, of, not_of, source) in EXAMPLES.items():
        part = table[table["example"] == name]
        strict = {risk: part[part["risk"] == risk] for risk in (of, not_of)}
        good = bool(strict[of]["strict"].all()) and not bool(strict[not_of]["strict"].any())
        low, high = strict[not_of]["lowest"].max(), strict[of]["lowest"].min()
        claims.append(
            Claim.from_check(
                f"{name}: a strict minimum of {WORDS[of]} that is none of {WORDS[not_of]}.",
                source,
                good,
                measured=f"least curvature {high:.3g} or more, and {low:.3g} or less",
                threshold="positive for the first, not for the second",
                why=f"Sizes {', '.join(map(str, config.sizes))}; gradients at most "
                f"{part['gradient'].max():.1g}.",
            )
        )
    return claims


def _plots(config: Counterexamples, tables: RunTables) -> list[Plot]:
    curves = tables["curves"]
    size = config.sizes[min(1, len(config.sizes) - 1)]
    figure = new_figure(9.2, 3.0)
    with style():
        panels = figure.subplots(1, len(EXAMPLES))
        for axes, (name, (_, of, not_of, _)) in zip(panels, EXAMPLES.items(), strict=True):
            part = curves[(curves["example"] == name) & (curves["size"] == size)]
            for risk, colour, line in ((of, COLOURS[2], "-"), (not_of, COLOURS[1], "--")):
                one = part[part["risk"] == risk]
                axes.plot(one["step"], one["change"], line, color=colour, label=WORDS[risk])
            axes.plot([0], [0], "o", color=COLOURS[0], markersize=4)
            axes.set(title=name, xlabel="step")
            axes.legend(fontsize=8, loc="upper center")
            bottom, top = axes.get_ylim()
            axes.set_ylim(bottom, top + 0.45 * (top - bottom))
        panels[0].set_ylabel("change of the risk")
    return [
        Plot(
            name="curves",
            figure=figure,
            title="Minima of one risk that are none of another",
            source="App. B",
            alt="Four panels of risks along their directions of least curvature: in each the first risk "
            "(solid) has a minimum at the dot and the second (dashed) has not.",
            caption="Each risk along its own direction of least curvature from the same equivariant layers "
            f"(dot), size {size}. U and V are the paper's; the other two are least squares on one sample "
            "and two hidden neurons that the group swaps.",
        )
    ]


counterexamples = Experiment(
    id="dynamics/counterexamples",
    paper=PAPER,
    figure="App. B",
    shows="The converses of Proposition 3 fail, on the paper's examples and on two from practice.",
    config=Counterexamples,
    presets={
        "quick": Preset(Counterexamples(sizes=(3, 4, 5), steps=21), "a few seconds"),
        "paper": Preset(Counterexamples(), "half a minute"),
    },
    cells=_cells,
    measure=_cell,
    plot=_plots,
    claims=_claims,
)
