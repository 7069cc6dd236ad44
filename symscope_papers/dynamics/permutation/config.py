"""Config of `dynamics/permutation`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least
from symscope_papers.dynamics.strategies.config import check_setting


@final
@dataclass(frozen=True)
class Permutation:
    """Config of `dynamics/permutation`: App. C.1, mini-batches of 200 as in the authors' scripts.

    Attributes:
        nodes: Nodes of a graph.
        graphs: Number of graphs.
        channels: Channels of the first layer.
        invariant: Numbers after pooling.
        hidden: Hidden units of the head.
        runs: Repetitions, each from its own A_0.
        epochs: Steps of gradient descent.
        passes: Times AUGMENTED sees each mini-batch in an epoch.
        rate: Learning rate.
        batch: Graphs of a mini-batch.
        scripts: Do what the authors' scripts do where that differs from the paper's text.
        block: Runs of one cell.
        together: Train the runs of a cell side by side.
        precision: Precision of training: "mixed", "single" or "double".
        check_runs: Runs that are trained in both precisions.
        check_epochs: Epochs of the runs that are trained in both precisions.
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
    scripts: bool = False
    block: int = 10
    together: bool = True
    precision: str = "double"
    check_runs: int = 1
    check_epochs: int = 10

    def __post_init__(self) -> None:
        check_setting(self)
        check_at_least(self, 2, "nodes")
        check_at_least(self, 1, "graphs", "channels", "invariant", "hidden")
