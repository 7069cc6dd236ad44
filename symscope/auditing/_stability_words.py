"""Would augmented training come back to the symmetry? The stability number, for networks that declare it."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from symscope.auditing._subject import Subject
from symscope.data import LabelledData, MeasuredData
from symscope.dynamics import DeclaredNetwork, TrainingProblem, build_module, stability
from symscope.errors import InputError

MOST_SAMPLES = 64
UNKNOWN = (
    "Not available: the stability number is known for networks that declare the representations of their "
    "layers (symscope.dynamics.declare_network)."
)


def stability_words(subject: Subject) -> str:
    """Whether augmented training near equivariant layers returns to them, in a sentence.

    Args:
        subject: Network and data.
    """
    network = getattr(subject.module, "network", None)
    layers = getattr(subject.module, "matrices", None)
    if not isinstance(network, DeclaredNetwork) or not callable(layers):
        return UNKNOWN
    x = subject.data.x[:MOST_SAMPLES].flatten(1).double()
    if isinstance(subject.data, LabelledData):
        width = subject.outputs(subject.data.x[:1]).shape[1]
        y = functional.one_hot(subject.data.labels[:MOST_SAMPLES], width).double()
    elif isinstance(subject.data, MeasuredData):
        y = subject.data.targets[:MOST_SAMPLES].double()
    else:
        return "Not available: the data has no classes or numbers for each sample."
    try:
        own = [layer.detach().double().cpu() for layer in layers()]
        weights = build_module(network, own, equivariant=True).matrices()  # projected on equivariant ones
        at = [layer.detach() for layer in weights]
        result = stability(TrainingProblem(network, _squared, x, y), at)
    except InputError as error:
        return f"Not available: {error}"
    rate = f"rate {result.growth_rate:.2g}, penalty that makes it stable {result.stabilising_penalty:.2g}"
    return f"Augmented training near the equivariant part of the layers is {result.verdict} ({rate})."


def _squared(outputs: Tensor, targets: Tensor) -> Tensor:
    """Squared distance of each sample."""
    return (outputs - targets).square().sum(-1)
