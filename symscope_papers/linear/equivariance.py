"""Equivariance is learned as invariance is: decay, decoupling, and weights that commute (Fig. 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch

from symscope.data.synthetic import swapped_squares
from symscope.errors import InputError
from symscope.linear import orbit_regression, regression_flow, second_moments, weight_split
from symscope.linear.descent import mean_loss_rate
from symscope.report import COLOURS, INK, new_figure, style
from symscope.runs import CellContext, CellResults, Claim, Experiment, Plot, Preset, RunTables
from symscope_papers.linear import PAPER
from symscope_papers.linear.training import asymmetry_of, decay_fit, dress_asymmetry, recorded_epochs, trained

KINDS = ("nothing", "asymmetric", "symmetric")
SYMMETRIC = ("(w11 + w22) / 2", "(w12 + w21) / 2")
ASYMMETRIC = ("(w11 - w22) / 2", "(w12 - w21) / 2")


@final
@dataclass(frozen=True)
class Equivariance:
    """Config of `linear/equivariance`: 2 x 2 weights trained on labels that swap with the features."""

    points: int = 100
    runs: int = 10
    learning_rate: float = 1e-2
    epochs: int = 6000
    records: int = 200

    def __post_init__(self) -> None:
        if self.points < 2 or self.runs < 2 or self.epochs < 1 or self.records < 4:
            raise InputError(
                f"expected at least 2 points, 2 runs, 1 epoch and 4 records, got {self.points}, "
                f"{self.runs}, {self.epochs} and {self.records}"
            )


def _cells(config: Equivariance) -> list[dict[str, Any]]:
    return [{"shared": kind} for kind in KINDS]


def _cell(config: Equivariance, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    toy = swapped_squares(config.points, context.run_seed)
    whole = toy.completed()
    x, y, group = (t.to(context.device) for t in (whole.features, whole.targets, toy.group))
    generator = torch.Generator().manual_seed(context.seed)
    parts = weight_split(
        torch.randn(config.runs, 2, 2, generator=generator, dtype=torch.float64), toy.group, toy.group
    )
    symmetric, asymmetric = parts.symmetric.to(x), parts.asymmetric.to(x)
    if cell["shared"] == "asymmetric":
        asymmetric = asymmetric[:1].expand_as(asymmetric)
    if cell["shared"] == "symmetric":
        symmetric = symmetric[:1].expand_as(symmetric)
    starts = symmetric + asymmetric
    record = recorded_epochs(config.epochs, config.records)
    # the mean goes over both components of every label
    rate = mean_loss_rate(config.learning_rate, y.numel())
    problem = orbit_regression(second_moments(toy.features.to(x), toy.targets.to(x)), group, group)
    solution = regression_flow(problem.k, problem.c)
    path = trained(x, y, starts, config.learning_rate, record)
    times = rate * record.double()
    paths, runs = [], []
    for run in range(config.runs):
        weights = path[:, run]
        losses = asymmetry_of(weights, x, group, group)
        paths += [
            {"run": run, "epoch": int(epoch), "asymmetry": loss, **_components(w)}
            for epoch, loss, w in zip(record.tolist(), losses, weights.cpu(), strict=True)
        ]
        stepped = solution.descent(starts[run], rate, record)
        limit = solution.limit(starts[run])
        runs.append(
            {
                "run": run,
                **_rates(weights.cpu(), times, solution.rates.cpu(), solution.directions.cpu()),
                "descent_against_training": float((stepped - weights).abs().max()),
                "final_asymmetry": losses[-1] / losses[0],
                "limit_commutator": float((limit @ group[1] - group[1] @ limit).abs().max()),
            }
        )
    return {"paths": paths, "runs": runs}


def _components(w: torch.Tensor) -> dict[str, float]:
    (w11, w12), (w21, w22) = w.tolist()
    values = ((w11 + w22) / 2, (w12 + w21) / 2, (w11 - w22) / 2, (w12 - w21) / 2)
    return dict(zip((*SYMMETRIC, *ASYMMETRIC), values, strict=True))


def _rates(
    weights: torch.Tensor, times: torch.Tensor, eigenvalues: torch.Tensor, directions: torch.Tensor
) -> dict[str, float]:
    """The fitted rate of the asymmetric weights along either eigenvector of K_G, beside its eigenvalue."""
    swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=weights.dtype)
    asymmetric = (weights - swap @ weights @ swap) / 2
    found: dict[str, float] = {}
    for i, name in enumerate(("slow", "fast")):
        sizes = torch.linalg.vector_norm(directions[:, i] @ asymmetric, dim=-1)
        rate, straight, _ = decay_fit(times, sizes)
        found |= {
            f"{name}_rate": rate,
            f"{name}_eigenvalue": float(eigenvalues[i]),
            f"{name}_straightness": straight,
        }
    return found


def _spread(tables: RunTables, shared: str, parts: tuple[str, ...]) -> float:
    paths = tables["paths"]
    by_epoch = paths[paths["shared"] == shared].groupby("epoch")
    return max(float((by_epoch[part].max() - by_epoch[part].min()).max()) for part in parts)


def _claims(config: Equivariance, tables: RunTables) -> list[Claim]:
    runs = tables["runs"]
    error = max(
        float((runs[f"{n}_rate"] / runs[f"{n}_eigenvalue"] - 1).abs().max()) for n in ("slow", "fast")
    )
    straight = float(runs[["slow_straightness", "fast_straightness"]].min().min())
    claims = [
        Claim.at_least(
            "The asymmetric weights decay exponentially.",
            "Fig. 4a, Theorem 4.2.3",
            straight,
            0.999,
            why="R² of straight lines through the logarithm of their size along each eigenvector of K_G, "
            "the worst run; the threshold is ours.",
        ),
        Claim.at_most(
            "They decay at the rates of the eigenvalues of K_G.",
            "Theorem 4.2.3",
            error,
            0.01,
            why="Relative, the worst run.",
        ),
        Claim.at_most(
            "Eq. 5, with (I - ηK)^k for the exponential, is gradient descent itself.",
            "Eq. 5",
            float(runs["descent_against_training"].max()),
            1e-9,
            why="Largest difference of a weight from torch.optim.SGD, over all recorded epochs.",
        ),
        Claim.at_most(
            "The final weights commute with the group.",
            "Corollary 4.3",
            float(runs["limit_commutator"].max()),
            1e-12,
            why="Largest entry of Wg - gW in the limit; training ended at "
            f"{runs['final_asymmetry'].max():.2g} of the first asymmetry loss, or less. The threshold is "
            "ours.",
        ),
    ]
    for kind, mine, other, figure in (
        ("asymmetric", ASYMMETRIC, SYMMETRIC, "Fig. 4b"),
        ("symmetric", SYMMETRIC, ASYMMETRIC, "Fig. 4c"),
    ):
        claims.append(
            Claim.at_most(
                f"Runs that start with the same {kind} weights keep them the same, whatever the others do.",
                f"{figure}, Theorem 4.2.2",
                _spread(tables, kind, mine),
                1e-12,
                why=f"Largest difference between two of {config.runs} runs, over all epochs; the other "
                f"weights differ by up to {_spread(tables, kind, other):.2g}.",
            )
        )
    return claims


def _plots(config: Equivariance, tables: RunTables) -> list[Plot]:
    paths = tables["paths"]
    figure = new_figure(11.0, 4.0)
    with style():
        first, *panels = figure.subplots(1, 3)
        for i, (_, part) in enumerate(paths[paths["shared"] == "nothing"].groupby("run")):
            shown = part[part["asymmetry"] > 0]
            first.plot(shown["epoch"], shown["asymmetry"], color=COLOURS[i % len(COLOURS)])
        dress_asymmetry(first, "(a) asymmetry loss")
        first.set_xlabel("epoch")
        for axes, kind, letter in zip(panels, KINDS[1:], "bc", strict=True):
            mine, other = (ASYMMETRIC, SYMMETRIC) if kind == "asymmetric" else (SYMMETRIC, ASYMMETRIC)
            _draw_components(axes, paths[paths["shared"] == kind], mine, other)
            axes.set(title=f"({letter}) same {kind} start", xlabel="epoch", ylabel="component of the weights")
            axes.grid(True)
    return [
        Plot(
            name="equivariance",
            figure=figure,
            title="Learning (y², x²) from (x, y)",
            source="Fig. 4",
            alt="Three panels against epochs. First: the asymmetry loss on a logarithmic axis falls "
            "exponentially, one line per run, all with one slope in the end. Second and third: the "
            "components of the weights that all runs share lie on one dashed line each, while the others "
            "come from different starts.",
            caption="2 × 2 weights have two symmetric and two asymmetric components. Dashed: the two "
            "that all runs share, drawn for every run. Solid and dotted: the two that differ, a colour "
            "per run. In (a) K_G has two eigenvalues; the slower one decides in the end.",
        )
    ]


def _draw_components(axes: Any, paths: Any, mine: tuple[str, ...], other: tuple[str, ...]) -> None:
    early = paths[paths["epoch"] <= paths["epoch"].max() / 4]  # later nothing moves that the eye could see
    for i, (_, run) in enumerate(early.groupby("run")):
        for part, line in zip(other, ("-", ":"), strict=True):
            axes.plot(
                run["epoch"],
                run[part],
                line,
                color=COLOURS[i % len(COLOURS)],
                linewidth=1.4,
                label=part if i == 0 else None,
            )
        for j, part in enumerate(mine):
            name = "shared by all runs" if i == j == 0 else None
            axes.plot(run["epoch"], run[part], "--", color=INK, label=name)
    axes.legend(fontsize=9)


equivariance = Experiment(
    id="linear/equivariance",
    paper=PAPER,
    figure="Fig. 4",
    shows="A linear map trained on equivariant data comes to commute with the group, exponentially fast.",
    config=Equivariance,
    presets={
        "quick": Preset(Equivariance(points=50, runs=5, epochs=5000, records=100), "ten seconds"),
        "paper": Preset(Equivariance(), "half a minute"),
    },
    cells=_cells,
    measure=_cell,
    plot=_plots,
    claims=_claims,
)
