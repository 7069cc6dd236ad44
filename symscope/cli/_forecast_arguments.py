"""What the options of `symscope forecast` mean: a training, and elements beside the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from symscope.errors import InputError

if TYPE_CHECKING:
    from symscope.forecasting import TrainingOptions


def training_options(steps: int | None, batch: int | None, optimiser: str) -> TrainingOptions:
    """The training that --steps, --batch and --optimiser describe.

    >>> training_options(None, None, "sgd:0.02:0.5").optimiser.text
    'sgd at 0.02 with momentum 0.5'
    """
    from symscope.forecasting import TrainingOptions
    from symscope.training import Optimiser

    if not optimiser:
        return TrainingOptions(steps, batch)
    kind, *numbers = optimiser.split(":")
    usual = [1e-3] if kind == "adam" else [0.02, 0.9]  # learning rate, and the momentum of sgd
    try:
        given = [float(one) for one in numbers]
    except ValueError:
        given = []
    if len(given) < len(numbers) or len(given) > len(usual):
        raise InputError(
            f"--optimiser {optimiser}: expected adam or sgd, with the rate and for sgd the momentum: "
            "adam:1e-3, sgd:0.02:0.9"
        )
    rate, momentum = (given + usual[len(given) :] + [0.0])[:2]
    return TrainingOptions(steps, batch, Optimiser(kind, rate, momentum=momentum))


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
