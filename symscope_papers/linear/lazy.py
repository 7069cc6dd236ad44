"""Lazy training of a small network on symmetric data: does it become invariant? (App. H: it does not.)"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import pandas as pd
import torch
from torch import nn

from symscope.data.synthetic import permuted_cube
from symscope.errors import InputError
from symscope.kernels.finite import weights_kernel_eigenpairs
from symscope.linear import AsymmetryTracker
from symscope.linear.lazy import LazyNetwork, kernel_change, lazy_loss
from symscope.networks.architectures import mlp
from symscope.report import COLOURS, INK, WRONG, new_figure, style
from symscope.runs import CellContext, CellResults, Claim, Experiment, Plot, Preset, RunTables
from symscope_papers.linear import PAPER

PLAIN = 0.0  # in place of alpha: the network itself, trained as it is
INDUCED = 0.01  # below this share of the target's spread a function counts as invariant; ours


@final
@dataclass(frozen=True)
class Lazy:
    """Config of `linear/lazy`: networks 3-width-1 on `x y + y z + z x`, all six permutations of every point.

    Attributes:
        width: Hidden units.
        orbits: Random points of the cube; the network sees six times as many.
        alphas: Scales of the outputs; 0 stands for ordinary training.
        networks: How many, each with its own points.
        steps: Steps of full-batch gradient descent.
        stability: Learning rate over the largest stable one, 2 over the largest eigenvalue.
        held_out: Points the asymmetry is measured on.
    """

    width: int = 100
    orbits: int = 200
    alphas: tuple[float, ...] = (PLAIN, 1.0, 10.0, 100.0, 1000.0)
    networks: int = 10
    steps: int = 20_000
    stability: float = 0.5
    held_out: int = 200

    def __post_init__(self) -> None:
        if min(self.width, self.orbits, self.networks, self.steps, self.held_out) < 1:
            raise InputError(
                "expected width, orbits, networks, steps and held_out of at least 1, got "
                f"{(self.width, self.orbits, self.networks, self.steps, self.held_out)}"
            )
        scaled = [alpha for alpha in self.alphas if alpha != PLAIN]
        if len(scaled) < 2 or list(self.alphas) != sorted(set(self.alphas)) or self.alphas[0] != PLAIN:
            raise InputError(
                f"alphas: expected 0, then two or more increasing positive numbers, got {self.alphas}"
            )
        if not 0 < self.stability < 1:
            raise InputError(f"stability: expected a number between 0 and 1, got {self.stability}")


def _cells(config: Lazy) -> list[dict[str, Any]]:
    return [{"alpha": alpha, "network": n} for alpha in config.alphas for n in range(config.networks)]


def _measure(config: Lazy, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    seed = 1000 * context.run_seed + cell["network"]
    toy = permuted_cube(config.orbits, seed).completed()
    fresh = permuted_cube(config.held_out, seed + 500)
    device, alpha = context.device, float(cell["alpha"])
    net = mlp((3, config.width, 1), seed=seed).to(device)
    x, y = toy.features.to(device), toy.targets.to(device)
    largest = float(weights_kernel_eigenpairs(net, x, 1, seed=0).values[0])
    rate = config.stability * 2 / largest
    before = mlp((3, config.width, 1), seed=seed).to(device)
    model: nn.Module = net if alpha == PLAIN else LazyNetwork(net, alpha)
    tracker = AsymmetryTracker(model, fresh.features.to(device), toy.group.to(device))
    final = _train(model, tracker, x, y, rate, alpha, config.steps)
    scale = 1.0 if alpha == PLAIN else alpha
    steps = [*(record.step for record in tracker.records), math.inf]
    theory = tracker.predict(x, y, learning_rate=rate / scale**2, loss="half sum", steps=steps)
    spread = float(fresh.targets.std())
    curve = [
        {
            "step": int(measured.step),
            "asymmetry": measured.asymmetry / spread,
            "theory": predicted.asymmetry / spread,
            "symmetric": measured.symmetric,
        }
        for measured, predicted in zip(tracker.records, theory, strict=False)
    ]
    end = {
        "asymmetry": curve[-1]["asymmetry"],
        "theory": curve[-1]["theory"],
        "limit": theory[-1].asymmetry / spread,
        "peak": max(row["asymmetry"] for row in curve),
        "error": math.sqrt(2 * final / len(x)) / spread,
        "weight_change": _weight_change(before, net),
        "kernel_change": kernel_change(before, net, fresh.features.to(device)),
        "switched": _switched(before, net, x),
        "learning_rate": rate,
        "weights": sum(w.numel() for w in net.parameters()),
        "rows": len(x),
    }
    return {"curves": curve, "ends": [end]}


def _train(
    model: nn.Module,
    tracker: AsymmetryTracker,
    x: torch.Tensor,
    y: torch.Tensor,
    rate: float,
    alpha: float,
    steps: int,
) -> float:
    """Full-batch gradient descent, recorded at steps of equal ratio; the last loss, `1/2 sum |f - y|^2`."""
    looks = {round(steps ** (i / 24)) for i in range(25)}
    optimiser = torch.optim.SGD([w for w in model.parameters() if w.requires_grad], lr=rate)
    for step in range(1, steps + 1):
        optimiser.zero_grad()
        loss = (model(x)[:, 0] - y).square().sum() / 2
        (loss if alpha == PLAIN else lazy_loss(loss, alpha)).backward()
        optimiser.step()
        if step in looks:
            tracker.record(step)
    return float(loss.detach())


def _weight_change(before: nn.Module, after: nn.Module) -> float:
    with torch.no_grad():
        first = nn.utils.parameters_to_vector(before.parameters())
        return float((nn.utils.parameters_to_vector(after.parameters()) - first).norm() / first.norm())


def _switched(before: nn.Sequential, after: nn.Sequential, x: torch.Tensor) -> int:
    """How many pairs of a point and a hidden unit have changed sides of their ReLU."""
    with torch.no_grad():
        first, last = (net[:2](x) > 0 for net in (before, after))  # up to the ReLU
    return int((first != last).sum())


def _claims(config: Lazy, tables: RunTables) -> list[Claim]:
    ends = tables["ends"]
    means: Any = ends.groupby("alpha").mean(numeric_only=True).to_dict("index")
    scaled = [alpha for alpha in config.alphas if alpha != PLAIN]
    laziest, before = scaled[-1], scaled[-2]
    return [
        *_induced_claims(config, means, scaled),
        Claim.at_least(
            "The asymmetry does not decay either: at the end of the laziest training it is not ten times "
            "below its peak.",
            "App. H",
            float(means[laziest]["asymmetry"] / means[laziest]["peak"]),
            0.1,
            why="A lazy network starts at zero, which is invariant; training makes it asymmetric. "
            "Threshold is ours.",
        ),
        Claim.at_least(
            "Lazier is not more invariant: the laziest training keeps half the asymmetry of alpha = "
            f"{scaled[0]:g} or more.",
            "App. H",
            float(means[laziest]["asymmetry"] / means[scaled[0]]["asymmetry"]),
            0.5,
            why="Threshold is ours.",
        ),
        *_regime_claims(ends, means, before, laziest),
        Claim.at_least(
            "Not even endless training of the linearised network makes it invariant.",
            "beyond the paper",
            float(means[laziest]["limit"]),
            INDUCED,
            why="The closed form at infinite time, mean over networks. Threshold is ours.",
        ),
    ]


def _induced_claims(config: Lazy, means: Any, scaled: list[float]) -> list[Claim]:
    """Whether invariance was induced, as it was decided before the first run and after it."""
    listed = ", ".join(
        f"{'ordinary' if a == PLAIN else f'alpha {a:g}'}: {means[a]['asymmetry']:.3g}" for a in config.alphas
    )
    setting = (
        f"Means over {config.networks} networks after {config.steps} steps, in units of the target's spread"
    )
    return [
        Claim.at_least(
            "Lazy training does not induce invariance: the laziest network's asymmetry stays above a "
            "hundredth of the target's spread.",
            "App. H",
            float(means[scaled[-1]]["asymmetry"]),
            INDUCED,
            why=f"{setting}: {listed}. Threshold is ours. That it is the laziest network which counts was "
            "decided after the first run; before, it was the least asymmetry over all alphas, which is the "
            "next claim.",
        ),
        Claim.at_least(
            "No scale induces invariance: the least asymmetry over all alphas stays above a hundredth of the "
            "target's spread.",
            "App. H",
            min(float(means[alpha]["asymmetry"]) for alpha in scaled),
            INDUCED,
            why="Small alphas are not lazy: features move and may learn the symmetry. Threshold is ours.",
        ),
    ]


def _regime_claims(ends: pd.DataFrame, means: Any, before: float, laziest: float) -> list[Claim]:
    """Whether the training was lazy at all."""
    slope = math.log(means[laziest]["weight_change"] / means[before]["weight_change"])
    slope /= math.log(laziest / before)
    lazy = ends[ends["alpha"] == laziest]
    gaps = (lazy["asymmetry"] / lazy["theory"] - 1).abs()
    switched = lazy["switched"]
    return [
        Claim.from_check(
            "The lazy regime is reached: the weights move like one over alpha.",
            "App. H",
            abs(slope + 1) <= 0.05,
            measured=f"exponent {slope:.3f}",
            threshold="-1 within 0.05",
            why=f"Between alpha {before:g} and {laziest:g}; at the latter weights moved by "
            f"{means[laziest]['weight_change']:.2g}, the kernel by "
            f"{means[laziest]['kernel_change']:.2g}. Threshold is ours.",
        ),
        Claim.at_most(
            "The laziest network's asymmetry is that of the linearised network.",
            "App. F",
            float(gaps.max()),
            0.01,
            why=f"Largest relative difference over networks; median {gaps.median():.2g}. In the worst one "
            f"{switched.iloc[int(gaps.argmax())]:.0f} pairs of a point and a hidden unit changed sides of "
            f"their ReLU, in the median network {switched.median():.0f}. Threshold is ours.",
        ),
    ]


def _plots(config: Lazy, tables: RunTables) -> list[Plot]:
    figure = new_figure(8.4, 4.2)
    with style():
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        curves = tables["curves"].groupby(["alpha", "step"]).mean(numeric_only=True)
        for colour, alpha in zip(COLOURS, config.alphas, strict=False):
            part = curves.loc[alpha]
            part = part[part.index > 0]
            name = "ordinary" if alpha == PLAIN else f"alpha {alpha:g}"
            left.plot(part.index, part["asymmetry"], color=colour, label=name)
        part = curves.loc[config.alphas[-1]]
        part = part[part.index > 0]
        left.plot(part.index, part["theory"], ":", color=INK, label="linearised", linewidth=2.2)
        left.axhline(INDUCED, color=WRONG, linestyle="--", linewidth=1)
        left.set(xscale="log", yscale="log", xlabel="step", ylabel="asymmetry / spread of the target")
        left.set_title("Asymmetry over training")
        _changes(right, tables["ends"])
        for panel in (left, right):
            panel.grid(True)
            panel.legend(
                fontsize=8,
                loc="upper center",
                bbox_to_anchor=(0.5, -0.17),
                ncols=3,
                columnspacing=1.2,
                handlelength=1.6,
            )
    return [
        Plot(
            "asymmetry",
            figure,
            "Lazy training does not make a network invariant",
            "App. H",
            "Left: asymmetry against training steps for several alpha and ordinary training, with "
            "the dashed line of invariance. Right: weights and kernel move less the larger alpha, the "
            "asymmetry does not fall.",
            "Curves are means over networks. Below the dashed line the function would count as invariant. "
            "The dotted curve is the closed form of the linearised network, on which the laziest lies.",
        )
    ]


def _changes(axes: Any, ends: pd.DataFrame) -> None:
    means = ends[ends["alpha"] != PLAIN].groupby("alpha").mean(numeric_only=True)
    for colour, column, name in (
        (0, "weight_change", "weights"),
        (2, "kernel_change", "kernel"),
        (1, "asymmetry", "asymmetry"),
    ):
        axes.plot(means.index, means[column], "o-", color=COLOURS[colour], label=name)
    axes.set(xscale="log", yscale="log", xlabel="alpha", ylabel="relative size at the end", title="Laziness")


lazy = Experiment(
    id="linear/lazy",
    paper=PAPER,
    figure="App. H",
    shows="Scaling a network into the lazy regime does not make it learn the symmetry of its data.",
    config=Lazy,
    presets={
        "quick": Preset(Lazy(orbits=100, networks=3, steps=2000), "a minute"),
        "paper": Preset(Lazy(), "20 minutes in one process"),
    },
    cells=_cells,
    measure=_measure,
    plot=_plots,
    claims=_claims,
    version=2,
)
