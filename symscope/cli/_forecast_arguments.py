"""What the options of `symscope forecast` mean: a training, and elements beside the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from symscope.errors import InputError

if TYPE_CHECKING:
    from symscope.forecasting import TrainingOptions


def training_options(steps: int | None, batch: int | None, optimiser: str) -> TrainingOptions:
    """The training that --steps, --batch and --optimiser describe."""
    from symscope.forecasting import TrainingOptions
    from symscope.training import Optimiser

    if not optimiser:
        return TrainingOptions(steps, batch)
    kind, _, rate = optimiser.partition(":")
    try:
        speed = float(rate) if rate else (1e-3 if kind == "adam" else 0.02)
    except ValueError:
        raise InputError(f"--optimiser {optimiser}: expected adam or sgd, with the rate: adam:1e-3") from None
    chosen = Optimiser(kind, speed, momentum=0.9 if kind == "sgd" else 0.0)
    return TrainingOptions(steps, batch, chosen)


def own_elements(data: str, limit: int | None) -> tuple[str, ...] | None:
    """In which transformation each sample is, where the file with the data says it."""
    from symscope.data import read_elements

    path = Path(data)
    elements = read_elements(path) if path.suffix == ".npz" else None
    if elements is not None and limit is not None:
        raise InputError(
            f"--limit: {path} says in which transformation each sample is, so that all are taken; leave it "
            "out, or save fewer samples"
        )
    return elements
