"""Null spaces against theory: how many linear symmetries there are, which, and whether they hold held-out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch

from symscope.discovery import verify
from symscope.discovery.exact import (
    LinearSymmetries,
    fibre_dimension,
    lie_algebra,
    linear_symmetries,
    orbit_dimension,
)
from symscope.discovery.fields import linear_combination
from symscope.discovery.uses import conservation_error, conserved_quantities, parameter_gradient_flow
from symscope.errors import InputError
from symscope.runs import CellContext, CellResults, Claim, Experiment, Plot, Preset, RunTables
from symscope_papers.discovery import PAPER
from symscope_papers.discovery.exact_figures import dimension_plot, generator_plots, spectrum_plot
from symscope_papers.discovery.known_networks import Known, known_network

TOLERANCE = 1e-6  # relative loss drift of a symmetry, and sine of a principal angle; ours
LEVEL = 1e-3  # chance of a gap by accident; ours

SMALL = (
    *(f"linear {s}" for s in ("1-1-1", "1-2-1", "1-3-1", "2-2-2", "2-3-2", "3-2-1", "1-2-3", "2-2-3-2")),
    *(f"ReLU {s}" for s in ("1-2-1", "2-2-2", "3-4-2", "2-3-2-2")),
    "leaky ReLU 2-3-2",
    *(f"tanh {s}" for s in ("1-2-1", "2-3-2", "2-2-2-2")),
    *(f"sigmoid {s}" for s in ("2-2-2", "3-3-1")),
    "softmax 2-2-3",
    "LayerNorm 2-3-1",
    "RMSNorm 2-3-1",
    "attention 2-2",
)
LARGE = (
    *(f"linear {s}" for s in ("1-4-1", "1-5-1", "3-3-3", "4-3-1", "2-4-3", "3-4-3", "2-2-2-2-2")),
    *(f"{a} {s}" for a in ("ReLU", "leaky ReLU", "tanh", "sigmoid") for s in ("3-5-2", "4-4-4", "2-3-3-2")),
    *("softmax 3-3-3", "softmax 2-4-4", "LayerNorm 2-4-2", "RMSNorm 2-4-1", "attention 3-2", "attention 3-3"),
)


@final
@dataclass(frozen=True)
class Exact:
    """Config of `discovery/exact`: networks by name, seeds, one wide network for the layered method."""

    networks: tuple[str, ...] = SMALL
    seeds: tuple[int, ...] = (0, 1)
    points: int = 16
    wide: str = "ReLU 10-30-30-5"

    def __post_init__(self) -> None:
        if not self.networks or not self.seeds:
            raise InputError(f"expected networks and seeds, got {self.networks} and {self.seeds}")
        if self.points < 1:
            raise InputError(f"points: expected at least 1, got {self.points}")


def _cells(config: Exact) -> list[dict[str, Any]]:
    small = [{"network": name, "number": seed} for name in config.networks for seed in config.seeds]
    return [*small, *([{"network": config.wide, "number": 0}] if config.wide else [])]


def _cell(config: Exact, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    known = known_network(cell["network"])
    layered = cell["network"] == config.wide
    seed, started = context.seed % 10**6, time.perf_counter()
    method = "layers" if layered else "all"
    found = linear_symmetries(known.problem, seed=seed, method=method, affine=known.affine)
    seconds = time.perf_counter() - started
    everything = (*found.fields, *found.translations)
    theta = known.problem.random_points(1, 1, seed + 17).theta[0]
    algebra = None if layered else lie_algebra(found.fields, known.problem.size, found.translations)
    drift, rival = _drifts(config, known, found, seed)
    row = {
        "family": known.family,
        "parameters": known.problem.size,
        "method": found.method,
        "unknowns": found.unknowns,
        "expected": known.dimension,
        "found": found.dimension,
        "expected_translations": known.translations,
        "translations": len(found.translations),
        "largest_chance": max((n.chance for n in found.null_spaces if n.dimension), default=None),
        "held_out": max(n.held_out or 0.0 for n in found.null_spaces),
        "span_sine": _span_sine(known, found),
        "algebra": algebra.name if algebra is not None else None,
        "closure": algebra.closure if algebra is not None else None,
        "orbit": orbit_dimension(everything, theta),
        "fibre": fibre_dimension(known.problem, theta, seed=seed),
        "drift": drift,
        "random_drift": rival,
        "conserved": None if layered else len(conserved_quantities(everything)),
        "conservation": None if layered else _conservation(known, everything, seed),
        "seconds": seconds,
    }
    spectrum = found.null_spaces[0]
    values = [
        {"index": k, "value": v, "floor": spectrum.floor} for k, v in enumerate(spectrum.singular_values)
    ]
    return {"networks": [row], "spectra": values, "generators": [] if layered else _generators(known, found)}


def _span_sine(known: Known, found: LinearSymmetries) -> float | None:
    """Largest sine of the principal angles between what was found and the theory's generators."""
    if known.span is None or not found.fields:
        return None
    size = known.problem.size
    if size > 60:
        return None
    theory = torch.linalg.qr(known.span).Q
    ours = torch.linalg.qr(torch.stack([f.dense(size).reshape(-1) for f in found.fields], 1)).Q
    if ours.shape != theory.shape:
        return 1.0
    return float((ours - theory @ (theory.T @ ours)).norm(dim=0).max())


def _drifts(
    config: Exact, known: Known, found: LinearSymmetries, seed: int
) -> tuple[float | None, float | None]:
    """Held-out loss drift of a random element of the algebra, and of random fields of its norm."""
    fields = (*found.fields, *found.translations)
    if not fields:
        return None, None
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(len(fields), generator=generator, dtype=torch.float64)
    tested = verify(known.problem, linear_combination(fields, weights), seed=seed, points=config.points)
    return tested.loss_drift, tested.random_loss_drift


def _conservation(known: Known, fields: Any, seed: int) -> float | None:
    """Largest relative change of a conserved quantity along gradient flow on four data points."""
    quantities = conserved_quantities(fields)
    if not quantities:
        return None
    sample = known.problem.random_points(1, 4, seed + 29)
    try:
        path = parameter_gradient_flow(
            known.problem, sample.theta[0], sample.x[0], sample.y[0], 0.5, records=5
        )
    except InputError:  # the flow slides along a kink of ReLU, which is no fault of the quantity
        return None
    return max(conservation_error(quantity, path) for quantity in quantities)


def _generators(known: Known, found: LinearSymmetries) -> list[dict[str, Any]]:
    """Entries of the first few generators, for pictures."""
    layout, rows = known.problem.layout, []
    for number, field in enumerate(found.fields[:6]):
        table = field.dense(layout.size)
        table = table / table.abs().max()
        for i, j in torch.nonzero(table).tolist():
            rows.append(
                {
                    "generator": number,
                    "name": field.name,
                    "row": i,
                    "column": j,
                    "row_name": layout.entry(i),
                    "column_name": layout.entry(j),
                    "value": float(table[i, j]),
                    "size": layout.size,
                }
            )
    return rows


def _claims(config: Exact, tables: RunTables) -> list[Claim]:
    table = tables["networks"]
    wide = table["network"] == config.wide
    small = table[~wide]
    claims = [
        _counted(
            "Linear layers have gl(h), so(h,h) with one input and output, more with one of them.",
            "Sec. 3.3, beyond",
            small[small["family"] == "linear"],
        ),
        _counted(
            "ReLU and leaky ReLU layers have one rescaling per unit.",
            "Sec. 3.3.2",
            small[small["family"].isin(["ReLU", "leaky ReLU"])],
        ),
        _counted(
            "tanh and sigmoid layers have no linear symmetry.",
            "Sec. 2",
            small[small["family"].isin(["tanh", "sigmoid"])],
        ),
        _counted(
            "Softmax is free of translations, normalisation of scale, attention has gl on QK and VO.",
            "Sec. 2",
            small[small["family"].isin(["softmax", "LayerNorm", "RMSNorm", "attention"])],
        ),
    ]
    return [*claims, *_quality(small), *_wide_claims(config, table[wide])]


def _counted(statement: str, source: str, part: Any) -> Claim:
    if not len(part):
        return Claim.not_checked(statement, source, "none of these networks is in the config")
    right = (part["found"] == part["expected"]) & (part["translations"] == part["expected_translations"])
    words = f"{int(right.sum())} of {len(part)} runs give the dimension of theory"
    return Claim.from_check(statement, source, bool(right.all()), measured=words, threshold="all")


def _quality(small: Any) -> list[Claim]:
    drift, rival = small["drift"].dropna(), small["random_drift"].dropna()
    sines, kept = small["span_sine"].dropna(), small["conservation"].dropna()
    least = f"random fields of the same norm drift by {rival.min():.1e} or more" if len(rival) else ""
    return [
        Claim.at_most(
            "The generators found span the algebra of theory (sine of the largest principal angle).",
            "beyond the paper",
            float(sines.max()),
            TOLERANCE,
            why="threshold is ours",
        )
        if len(sines)
        else Claim.not_checked(
            "The generators found span the algebra of theory.",
            "beyond the paper",
            "theory gives no basis for these networks",
        ),
        Claim.at_most(
            "A random element of every algebra keeps the loss on held-out parameters and data.",
            "beyond the paper",
            float(drift.max()),
            TOLERANCE,
            why=f"threshold is ours; {least}",
        )
        if len(drift)
        else Claim.not_checked("Found symmetries hold held-out.", "beyond the paper", "none found"),
        Claim.at_most(
            "No gap in singular values that decides a dimension is an accident (largest chance).",
            "beyond the paper",
            float(small["largest_chance"].dropna().max()),
            LEVEL,
            why="threshold is ours",
        )
        if small["largest_chance"].notna().any()
        else Claim.not_checked(
            "No gap is an accident.", "beyond the paper", "no null space in these networks"
        ),
        Claim.at_most(
            "Gradient flow conserves the quantities that follow from symmetric generators.",
            "Sec. 1",
            float(kept.max()),
            TOLERANCE,
            why=f"Relative, in {len(kept)} runs; flows that slide along a kink are out. Threshold is ours",
        )
        if len(kept)
        else Claim.not_checked("Gradient flow conserves what follows.", "Sec. 1", "no such quantity"),
        Claim.at_most(
            "What was found is closed under brackets.",
            "Sec. 3",
            float(small["closure"].max()),
            TOLERANCE,
            why="relative part outside; threshold is ours",
        ),
    ]


def _wide_claims(config: Exact, wide: Any) -> list[Claim]:
    statement = "Through its layers, a network too large for all matrices gives one rescaling per ReLU unit."
    if not len(wide):
        return [Claim.not_checked(statement, "beyond the paper", "no wide network in the config")]
    row = wide.iloc[0]
    good = bool(row["found"] == row["expected"])
    words = (
        f"{row['found']} of {row['expected']} in {row['parameters']} parameters, {row['unknowns']} unknowns"
    )
    return [Claim.from_check(statement, "beyond the paper", good, measured=words, threshold="all")]


def _plots(config: Exact, tables: RunTables) -> list[Plot]:
    return [
        *generator_plots(tables["generators"], config.seeds[0]),
        dimension_plot(tables["networks"]),
        spectrum_plot(tables["spectra"], config.seeds[0]),
    ]


exact = Experiment(
    id="discovery/exact",
    paper=PAPER,
    figure="beyond the paper",
    shows="Null spaces give all linear symmetries of small networks, with the dimensions of theory.",
    config=Exact,
    presets={
        "quick": Preset(Exact(), "40 s of one core"),
        "paper": Preset(
            Exact((*SMALL, *LARGE), (0, 1, 2, 3, 4), points=32, wide="ReLU 20-50-40-10"),
            "5 min on two cores",
        ),
    },
    cells=_cells,
    measure=_cell,
    plot=_plots,
    claims=_claims,
)
