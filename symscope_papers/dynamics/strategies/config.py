"""What the configs of the three experiments of Fig. 1 share, and their strategies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

import torch

from symscope_papers.config_bounds import check_at_least, check_between, check_one_of, check_positive

DTYPES = {"mixed": torch.float32, "single": torch.float32, "double": torch.float64}


@runtime_checkable  # the test suite checks it
class Setting(Protocol):
    """What every config of these experiments has."""

    @property
    def runs(self) -> int:
        """Repetitions, each from its own A_0."""

    @property
    def epochs(self) -> int:
        """Steps of gradient descent."""

    @property
    def passes(self) -> int:
        """Times AUGMENTED sees each mini-batch in an epoch."""

    @property
    def rate(self) -> float:
        """Learning rate."""

    @property
    def batch(self) -> int:
        """Samples of a mini-batch."""

    @property
    def scripts(self) -> bool:
        """Do what the authors' scripts do where that differs from the paper's text."""

    @property
    def block(self) -> int:
        """Runs of one cell."""

    @property
    def together(self) -> bool:
        """Train the runs of a cell side by side."""

    @property
    def precision(self) -> str:
        """Precision: "mixed" (backward in half), "single" (split products on a GPU) or "double"."""

    @property
    def check_runs(self) -> int:
        """Runs that are trained in both precisions."""

    @property
    def check_epochs(self) -> int:
        """Epochs of the runs that are trained in both precisions."""


@final
@dataclass(frozen=True)
class Strategy:
    """A way to train, as figures name it.

    Attributes:
        name: Name in tables.
        label: Label in legends.
        kind: Strategy of `symscope_papers.dynamics.strategies.paths.path`.
        weights: Probabilities of the elements, where they are not all alike.
    """

    name: str
    label: str
    kind: str
    weights: tuple[float, ...] | None = None


EQUIVARIANT = Strategy("equivariant", "EQUIVARIANT", "equivariant")
AUGMENTED = Strategy("augmented", "AUGMENTED", "augmented")
NOMINAL = Strategy("nominal", "NOMINAL", "nominal")
THREE = (EQUIVARIANT, AUGMENTED, NOMINAL)
SCRIPTED_EQUIVARIANT = Strategy("equivariant", "EQUIVARIANT", "projected layer")


def check_setting(config: Setting) -> None:
    """Raise unless the shared fields of a config make sense."""
    check_at_least(config, 1, "runs", "epochs", "passes", "batch", "block")
    check_positive(config, "rate")
    check_one_of(config, DTYPES, "precision")
    check_between(config, 0, config.runs, "check_runs")
    check_between(config, 1, config.epochs, "check_epochs")


def lower_precision(config: Setting) -> str:
    """What is compared with double precision: the config's own, or single where that is double."""
    return "single" if config.precision == "double" else config.precision
