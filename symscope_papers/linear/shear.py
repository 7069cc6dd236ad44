"""Groups that lack the transposes of their elements: the two parts of the weights are coupled (App. A)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from symscope.errors import InputError
from symscope.linear import regression_assumptions, regression_flow, second_moments, weight_split
from symscope.linear.weight_parts import coupling, invariant_weights
from symscope.report import COLOURS, INK, new_figure, style
from symscope.runs import CellContext, CellResults, Claim, Experiment, Plot, Preset, RunTables
from symscope_papers.linear import PAPER
from symscope_papers.linear.training import asymmetry_of, recorded_epochs, trained

KINDS = ("reflection", "translations")
NAMES = {"reflection": "reflection about c, {x → 2c − x}", "translations": "translations {x → x + k c}"}


@final
@dataclass(frozen=True)
class Shear:
    """Config of `linear/shear`: how strongly the elements shear, and how many translations stand for all."""

    points: int = 50
    shears: tuple[float, ...] = (0.0, 0.1, 0.25, 0.5, 1.0)
    translations: int = 9
    learning_rate: float = 1e-2
    epochs: int = 3000
    records: int = 100

    def __post_init__(self) -> None:
        if 0.0 not in self.shears or len(self.shears) < 2 or min(self.shears) < 0:
            raise InputError(f"shears: expected 0, for comparison, and positive values, got {self.shears}")
        if self.translations < 3 or self.translations % 2 == 0:
            raise InputError(f"translations: expected an odd number from 3 on, got {self.translations}")
        if self.points < 2 or self.epochs < 1 or self.records < 2:
            raise InputError(
                f"expected at least 2 points, 1 epoch and 2 records, got {self.points}, {self.epochs}, "
                f"{self.records}"
            )


def elements(kind: str, shear: float, translations: int) -> Tensor:
    """Matrices that act on the features (1, x): `(1, x) g = (1, x + a)`, or `(1, 2c - x)`.

    The reflection about c, with the identity, is a group of two for every c. Translations are infinitely
    many: `translations` multiples of the smallest stand for them.

    >>> elements("reflection", 0.5, 3)[1].tolist()
    [[1.0, 1.0], [0.0, -1.0]]
    """
    if kind == "reflection":
        rows = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2 * shear], [0.0, -1.0]]]
    else:
        half = translations // 2
        rows = [[[1.0, k * shear], [0.0, 1.0]] for k in sorted(range(-half, half + 1), key=abs)]
    return torch.tensor(rows, dtype=torch.float64)


def _cells(config: Shear) -> list[dict[str, Any]]:
    reflections = [{"kind": "reflection", "shear": shear} for shear in config.shears]
    return reflections + [{"kind": "translations", "shear": shear} for shear in config.shears if shear > 0]


def _cell(config: Shear, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    shear = cell["shear"]
    group = elements(cell["kind"], shear, config.translations)
    generator = torch.Generator().manual_seed(context.run_seed)
    position = torch.rand(config.points, generator=generator, dtype=torch.float64)
    x = torch.stack([torch.ones_like(position), position], 1)
    # the distance from the mirror; under translations only a constant is invariant
    y = (position - shear).abs() if cell["kind"] == "reflection" else torch.ones_like(position)
    whole = torch.einsum("nd,gde->gne", x, group).flatten(0, 1)
    labels = y.repeat(len(group))
    x, whole, labels, group = (t.to(context.device) for t in (x, whole, labels, group))
    moments = second_moments(whole, labels)
    fixed = invariant_weights(group).to(whole)
    start = torch.randn(2, generator=torch.Generator().manual_seed(context.run_seed + 1)).to(whole)
    starts = torch.stack([start, start + fixed[:, 0]])  # one asymmetric part, two symmetric ones
    record = recorded_epochs(config.epochs, config.records)
    path = trained(whole, labels, starts, config.learning_rate, record)
    asymmetric = weight_split(path, group).asymmetric
    drift = torch.linalg.vector_norm(asymmetric[:, 0] - asymmetric[:, 1], dim=1)
    third = regression_assumptions(whole, labels, group)[2]
    mixed = coupling(moments.xx, group)
    row = {
        "transposes": third.holds,
        "assumption": third.verdict,
        "coupling": mixed.relative,
        "verdict": mixed.verdict,
        "drift": float(drift.max()),
        "limit_asymmetry": _translated(
            regression_flow(moments.xx, moments.xy).limit(starts[0]), whole, group
        ),
    }
    paths = [
        {"epoch": int(epoch), "drift": float(d)} for epoch, d in zip(record.tolist(), drift, strict=True)
    ]
    return {"paths": paths, "groups": [row]}


def _translated(w: Tensor, x: Tensor, group: Tensor) -> float:
    """The largest asymmetry over pairs {identity, g}: it needs no average over the whole group."""
    return max(asymmetry_of(w[None], x, group[[0, i]])[0] for i in range(1, len(group)))


def _claims(config: Shear, tables: RunTables) -> list[Claim]:
    groups = tables["groups"]
    sheared, straight = groups[groups["shear"] > 0], groups[groups["shear"] == 0]
    detected = int((~sheared["transposes"].astype(bool)).sum())
    return [
        Claim.from_check(
            "Missing transposes are detected, and only where they are missing.",
            "App. A",
            detected == len(sheared) and bool(straight["transposes"].astype(bool).all()),
            measured=f"{detected} of {len(sheared)} sheared groups reported; the unsheared one "
            + ("holds" if bool(straight["transposes"].astype(bool).all()) else "reported too"),
            threshold="all sheared groups, and not the unsheared one",
        ),
        Claim.at_least(
            "Without transposes the symmetric part drives the asymmetric one.",
            "App. A",
            float(sheared["drift"].min()),
            1e-3,
            why="Largest distance between the asymmetric weights of two runs that start with the same "
            "ones and symmetric parts one apart, the least over all sheared groups; the threshold is "
            f"ours. Coupling: {100 * sheared['coupling'].min():.2g} to "
            f"{100 * sheared['coupling'].max():.2g} % of the fastest rate.",
        ),
        Claim.at_most(
            "With transposes it does not.",
            "Theorem 3.3.2",
            float(straight["drift"].max()),
            1e-12,
        ),
        Claim.at_most(
            "Training ends invariant all the same.",
            "beyond the paper",
            float(groups["limit_asymmetry"].max()),
            1e-9,
            why="Asymmetry loss of the limit, the worst group; the threshold is ours. The loss does not "
            "change under the group, so its only minimum is invariant; this needs no transposes, only "
            "K_G positive definite.",
        ),
    ]


def _plots(config: Shear, tables: RunTables) -> list[Plot]:
    paths, groups = tables["paths"], tables["groups"]
    figure = new_figure(9.4, 4.0)
    with style():
        left, right = figure.subplots(1, 2)
        reflections = paths[paths["kind"] == "reflection"]
        for i, (shear, part) in enumerate(reflections.groupby("shear")):
            colour = INK if shear == 0 else COLOURS[(i - 1) % len(COLOURS)]
            left.plot(part["epoch"], part["drift"], color=colour, label=f"c = {shear:g}")
        left.set(
            title="two runs, same asymmetric start",
            xlabel="epoch",
            ylabel="distance of their asymmetric weights",
        )
        left.grid(True)
        left.legend(fontsize=9, title="reflection about c")
        for colour, marker, kind in zip(COLOURS, "os", KINDS, strict=False):
            part = groups[groups["kind"] == kind].sort_values("shear")
            right.plot(part["shear"], 100 * part["coupling"], f"{marker}-", color=colour, label=NAMES[kind])
        right.set(title="coupling of the two parts", xlabel="shear c", ylabel="% of the fastest rate")
        right.set_ylim(bottom=0)
        right.grid(True)
        right.legend(fontsize=9)
    return [
        Plot(
            name="shear",
            figure=figure,
            title="Where the transpose of an element is not in the group",
            source="App. A",
            alt="Left: distance between the asymmetric weights of two runs against epochs: zero for the "
            "reflection about the origin, a bump for every other. Right: coupling of the two parts "
            "against the shear, for reflections and for translations.",
            caption="Features (1, x). A reflection about the origin has its transpose in the group, "
            "about any other point it has not. Left: the runs differ only in their symmetric start, yet "
            "their asymmetric weights part.",
        )
    ]


shear = Experiment(
    id="linear/shear",
    paper=PAPER,
    figure="App. A",
    shows="Without the transposes of its elements a group does not split the weights in two independent "
    "parts; it is learned all the same.",
    config=Shear,
    presets={
        "quick": Preset(Shear(records=60), "half a minute"),
        "paper": Preset(
            Shear(points=100, shears=(0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0), epochs=6000), "a minute or two"
        ),
    },
    cells=_cells,
    measure=_cell,
    plot=_plots,
    claims=_claims,
)
