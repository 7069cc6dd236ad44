"""Does augmented training leave E? The spectrum of Hess R_aug on E_perp along training, against drift."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch

from symscope.dynamics import (
    TrainingProblem,
    drift,
    gradient_field,
    stability,
    training_descent,
    training_flow,
)
from symscope.dynamics.deviations import growth_rate, perturbed_weights, random_deviation
from symscope.dynamics.layer_vectors import LayerWeights
from symscope.errors import InputError
from symscope.runs import CellContext, CellResults, Claim, Experiment, Preset, RunTables
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.random_problems import check_groups, taught_problem
from symscope_papers.dynamics.stability_figures import stability_plots

RATE = 0.01  # ours: predicted and measured growth within a hundredth of the largest curvature
LINEAR = 1e-3  # up to this |A_{E_perp}| the linear prediction is asked to hold
ROUNDING = 1e-13  # below this |A_{E_perp}| is rounding of layers of size 1
DRIFT = 0.01  # ours: predicted and measured drift within a hundredth
NOISE = 0.25  # ours: root mean square of some tens of random walks, all problems together, against theory
PROBE = 1e-6  # a deviation small against the layers, large against rounding
EXACT = 1e-8  # ours: nominal drift is about 1e-4 of the layers, rounding 1e-16


@final
@dataclass(frozen=True)
class Stability:
    """Config of `dynamics/stability`.

    Attributes:
        groups: Names as `symscope.groups.parse` takes them.
        seeds: Problems per group.
        samples: Data points of each.
        horizon: Time of training (learning rate times steps).
        moments: At how many times to look.
        deviation: Size of the first step off E.
        passes: Random elements per step of sampled augmentation.
        steps: Steps of sampled augmentation.
        rate: Its learning rate.
        repeats: Sampled trainings per problem.
    """

    groups: tuple[str, ...] = ("C4", "C6", "D4", "D5", "S3", "S4", "C3xC3")
    seeds: int = 6
    samples: int = 24
    horizon: float = 100.0
    moments: int = 13
    deviation: float = 1e-8
    passes: tuple[int, ...] = (4, 16, 64)
    steps: int = 50
    rate: float = 1e-4
    repeats: int = 16

    def __post_init__(self) -> None:
        check_groups(self.groups)
        if min(self.seeds, self.samples, self.steps, self.repeats) < 1 or self.moments < 3:
            raise InputError("seeds, samples, steps and repeats: expected 1 or more; moments: 3 or more")
        if not (self.horizon > 0 and self.deviation > 0 and self.rate > 0):
            raise InputError("horizon, deviation and rate: expected positive numbers")
        if not self.passes or min(self.passes) < 1:
            raise InputError(f"passes: expected numbers of 1 or more, got {self.passes}")


def _cells(config: Stability) -> list[dict[str, Any]]:
    """Two layers, where E may be a saddle; and one layer, whose convex risk makes it stable."""
    return [
        {"group": name, "layers": layers, "problem": k}
        for layers in (2, 1)
        for name in config.groups
        for k in range(config.seeds if layers == 2 else 1)
    ]


def _cell(config: Stability, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    generator = torch.Generator().manual_seed(context.seed)
    problem, start = taught_problem(cell["group"], config.samples, generator, cell["layers"])
    off = random_deviation(problem, config.deviation, generator)
    times = _times(config)
    found = drift(problem, start, off, times, rtol=1e-10)
    spectrum, rates = [], []
    for time, weights in zip(found.times, found.weights, strict=True):
        ends = stability(problem, weights, seed=context.seed % 2**31)
        assert ends.outside is not None
        assert ends.inside is not None
        for part, extremes in (("outside", ends.outside), ("inside", ends.inside)):
            spectrum.append(
                {
                    "time": time,
                    "part": part,
                    "lowest": extremes.lowest,
                    "highest": extremes.highest,
                    "dimension": extremes.dimension,
                    "residual": extremes.residual,
                    "products": extremes.products,
                    "verdict": ends.verdict,
                }
            )
        # not their difference: a single layer may have one eigenvalue only
        largest = max(abs(ends.outside.highest), abs(ends.outside.lowest))
        for end, value, direction in (
            ("lowest", ends.outside.lowest, ends.outside.lowest_direction),
            ("highest", ends.outside.highest, ends.outside.highest_direction),
        ):
            seen = _measured_rate(problem, weights, direction, 1e-3 / largest)
            rates.append(
                {
                    "time": time,
                    "end": end,
                    "predicted": -value,
                    "measured": seen,
                    "largest": largest,
                    "verdict": ends.verdict,
                }
            )
    measured = zip(found.times, found.predicted.tolist(), found.measured.tolist(), strict=True)
    return {
        "spectrum": spectrum,
        "rates": rates,
        "drift": [{"time": t, "predicted": p, "measured": m} for t, p, m in measured],
        "noise": _noise(config, problem, start, generator),
    }


def _times(config: Stability) -> list[float]:
    """0, then times that grow by a constant factor from a hundredth of the horizon to the horizon."""
    count = config.moments - 1
    return [0.0, *(config.horizon * 100 ** (k / max(count - 1, 1) - 1) for k in range(count))]


def _measured_rate(
    problem: TrainingProblem, weights: LayerWeights, direction: LayerWeights, time: float
) -> float:
    """The growth rate of `|A_{E_perp}|` over a short augmented flow, from a step along one direction."""
    field = gradient_field(problem, "augmented")
    off = perturbed_weights(weights, direction, PROBE)
    path = training_flow(problem.network, field, off, [time], rtol=1e-12, atol=1e-20)
    return growth_rate(path.times, path.drift())


def _noise(
    config: Stability, problem: TrainingProblem, start: LayerWeights, generator: torch.Generator
) -> list[dict[str, Any]]:
    """Drift after a few small steps from E: nominal, exactly augmented, and augmented by sampled elements."""
    network = problem.network

    def end(strategy: str, **options: Any) -> float:
        field = gradient_field(problem, strategy, **options)
        path = training_descent(
            network, field, start, rate=config.rate, steps=config.steps, every=config.steps
        )
        return float(path.drift()[-1])

    nominal, exact = end("nominal"), end("augmented")
    rows = []
    for passes in config.passes:
        ends = [end("augmented", passes=passes, generator=generator) for _ in range(config.repeats)]
        rows.append(
            {
                "passes": passes,
                "nominal": nominal,
                "exact": exact,
                "sampled": math.sqrt(sum(e**2 for e in ends) / len(ends)),
                "predicted": nominal / math.sqrt(config.steps * passes),
            }
        )
    return rows


def _claims(config: Stability, tables: RunTables) -> list[Claim]:
    return [*_growth_claims(config, tables), *_sampling_claims(config, tables)]


def _growth_claims(config: Stability, tables: RunTables) -> list[Claim]:
    rates, table, spectrum = tables["rates"], tables["drift"], tables["spectrum"]
    gap = ((rates["predicted"] - rates["measured"]).abs() / rates["largest"]).max()
    linear = table[(table["predicted"] <= LINEAR) & (table["predicted"] >= ROUNDING)]
    error = ((linear["predicted"] - linear["measured"]).abs() / linear["measured"]).max()
    decided = rates[(rates["end"] == "lowest") & (rates["verdict"] != "neutral")]
    right = (decided["measured"] > 0) == (decided["verdict"] == "unstable")
    last = spectrum[(spectrum["part"] == "outside") & (spectrum["time"] == spectrum["time"].max())]
    last = last[last["layers"] == 2]
    unstable = int((last["verdict"] == "unstable").sum())
    return [
        Claim.at_most(
            "Near E, |A_E_perp| grows at the rate given by the spectrum of Hess R_aug on E_perp.",
            "Sec. 4.2",
            float(gap),
            RATE,
            why=f"Largest difference of {len(rates)} rates, over the largest curvature; threshold is ours.",
        ),
        Claim.at_most(
            "The linear equation y' = -Hess R_aug(x) y along the equivariant flow gives the drift.",
            "Sec. 4.2",
            float(error),
            DRIFT,
            why=f"Largest relative difference at {len(linear)} of {len(table)} moments, those with "
            f"|A_E_perp| from {ROUNDING:g}, above rounding, to {LINEAR:g}; threshold is ours.",
        ),
        Claim.from_check(
            "The sign of the lowest eigenvalue says whether augmented training leaves E.",
            "beyond the paper",
            bool(right.all()),
            measured=f"{int(right.sum())} of {len(right)} right",
            threshold="all",
            why=f"{int((decided['verdict'] == 'unstable').sum())} unstable and "
            f"{int((decided['verdict'] == 'stable').sum())} stable moments; the stable ones are of networks "
            "of one layer, whose risk is convex.",
        ),
        Claim.from_check(
            "E is consistently unstable under augmented training (networks with a hidden layer).",
            "Sec. 5.1 (i)",
            unstable == len(last),
            measured=f"{unstable} of {len(last)} trained networks",
            threshold="all",
            why=f"Verdict on Hess R_aug at time {config.horizon:g}; the fastest growth rate left is "
            f"{-last['lowest'].max():.3g} to {-last['lowest'].min():.3g}.",
        ),
    ]


def _sampling_claims(config: Stability, tables: RunTables) -> list[Claim]:
    noise = tables["noise"]
    pooled = ((noise["sampled"] / noise["predicted"]) ** 2).groupby(noise["passes"]).mean() ** 0.5
    walk = (pooled - 1).abs().max()
    trainings = config.repeats * int((noise["passes"] == noise["passes"].iloc[0]).sum())
    return [
        Claim.at_most(
            "Averaged over all of the group, augmented descent stays in E to rounding.",
            "Cor. 1",
            float((noise["exact"] / noise["nominal"]).max()),
            EXACT,
            why=f"Drift of exact augmentation over that of nominal training after {config.steps} steps of "
            f"rate {config.rate:g}; both are small numbers found by subtracting layers of size 1.",
        ),
        Claim.at_most(
            "Over a short training, sampled augmentation drifts as a random walk: nominal drift over the "
            "root of steps times passes.",
            "beyond the paper",
            float(walk),
            NOISE,
            why="Largest relative difference from theory over numbers of passes, root mean square of "
            f"{trainings} trainings each; threshold is ours. Over times short against "
            "1/|lowest| drift is sampling noise, not instability.",
        ),
    ]


stability_along_training = Experiment(
    id="dynamics/stability",
    paper=PAPER,
    figure="Sec. 4.2, 5.1, 6",
    shows="The spectrum of the augmented Hessian outside E predicts whether and how fast training leaves E.",
    config=Stability,
    presets={
        "quick": Preset(
            Stability(
                groups=("C6", "D4", "S3", "C3xC3"), seeds=2, horizon=20.0, moments=7, repeats=6, steps=25
            ),
            "a minute on two cores",
        ),
        "paper": Preset(Stability(), "four minutes on two cores"),
    },
    cells=_cells,
    measure=_cell,
    plot=lambda config, tables: stability_plots(tables),
    claims=_claims,
)
