"""Fig. 1a: is a graph connected? S_10 acts on 10 x 10 adjacency matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import torch

from symscope.data.synthetic import block_graphs
from symscope.dynamics import DeclaredNetwork, TrainingProblem, declare_network
from symscope.dynamics.layer_steps import batch_normalisation
from symscope.errors import InputError
from symscope.groups import permutation, symmetric, trivial
from symscope.networks.losses import binary_cross_entropy_loss
from symscope.runs import CellContext, CellResults, Claim, Experiment, Plot, Preset, RunTables
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.strategies import (
    check_setting,
    mini_batches,
    strategy_cells,
    strategy_rows,
)
from symscope_papers.dynamics.strategies_claims import closer_claims, common_claims
from symscope_papers.dynamics.strategies_figures import strategy_plots


@final
@dataclass(frozen=True)
class Permutation:
    """Config of `dynamics/permutation`: App. C.1, mini-batches of 200 as in the authors' scripts.

    Attributes:
        nodes: Of a graph.
        graphs: How many.
        channels: Of the first layer.
        invariant: Numbers after pooling.
        hidden: Of the head.
        runs: Repetitions, each from its own A_0.
        epochs: Steps of gradient descent.
        passes: Times AUGMENTED sees each mini-batch in an epoch.
        rate: Learning rate.
        batch: Graphs of a mini-batch.
        initial: Scale of A_0: "standard", the paper's text, or "fan-in", the scripts for images.
        block: Runs of one cell.
        together: Train the runs of a cell side by side.
        precision: "mixed", "single" or "double".
        check_runs: Runs that are trained in both precisions.
        check_epochs: For how many epochs.
    """

    nodes: int = 10
    graphs: int = 1000
    channels: int = 32
    invariant: int = 64
    hidden: int = 32
    runs: int = 30
    epochs: int = 50
    passes: int = 25
    rate: float = 1e-5
    batch: int = 200
    initial: str = "standard"
    block: int = 10
    together: bool = True
    precision: str = "double"
    check_runs: int = 1
    check_epochs: int = 10

    def __post_init__(self) -> None:
        check_setting(self)
        if self.nodes < 2 or min(self.graphs, self.channels, self.invariant, self.hidden) < 1:
            raise InputError("nodes: expected 2 or more; graphs, channels, invariant, hidden: 1 or more")


def graph_network(nodes: int, channels: int, invariant: int, hidden: int) -> DeclaredNetwork:
    """Adjacency matrices -> channels of matrices -> invariant numbers (normalised) -> hidden -> 1.

    >>> graph_network(10, 32, 64, 32).parameters  # 3200 x 100 + 64 x 3200 + 32 x 64 + 32
    526880
    """
    group = symmetric(nodes)
    v = permutation(group)
    matrices = v * v
    return declare_network(
        [
            matrices,
            channels * matrices,
            trivial(group, invariant),
            trivial(group, hidden),
            trivial(group, 1),
        ],
        ["leaky_relu", [batch_normalisation(), "leaky_relu"], "leaky_relu", ()],
    )


def graph_problem(config: Permutation, seed: int, dtype: torch.dtype, device: str) -> TrainingProblem:
    """The network on the graphs, entries shifted to -1/2 and 1/2; label 1 for connected ones."""
    data = block_graphs(config.graphs, config.nodes, seed=seed, dtype=dtype)
    labels = data.labels.to(dtype)[:, None]
    x, y = mini_batches(data.x.flatten(1) - 0.5, labels, config.batch)
    network = graph_network(config.nodes, config.channels, config.invariant, config.hidden)
    return TrainingProblem(network, binary_cross_entropy_loss, x.to(device), y.to(device))


def _cell(config: Permutation, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    return strategy_rows(config, cell, context, graph_problem)


def _claims(config: Permutation, tables: RunTables) -> list[Claim]:
    whole = replace(config, initial=Permutation.initial) == Permutation()
    return [*common_claims(config, tables, whole=whole), *closer_claims(tables)]


def _plots(config: Permutation, tables: RunTables) -> list[Plot]:
    return strategy_plots(config, tables, source="Fig. 1a", task="graphs under permutations of their nodes")


permutations = Experiment(
    id="dynamics/permutation",
    paper=PAPER,
    figure="Fig. 1a",
    shows="Classifying graphs from an equivariant start: augmented training leaves E by sampling noise only, "
    "far more slowly than nominal training.",
    config=Permutation,
    presets={
        "quick": Preset(
            Permutation(nodes=8, graphs=200, channels=8, invariant=16, hidden=8, runs=6, batch=40, block=6),
            "half a minute on one core",
        ),
        "paper": Preset(Permutation(), "half a minute on an H200"),
    },
    cells=strategy_cells,
    measure=_cell,
    plot=_plots,
    claims=_claims,
)
