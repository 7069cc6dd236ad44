"""The operations a wide network is made of: plain values, to be inspected, compared and pickled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from torch import Tensor

from symscope.errors import InputError
from symscope.kernels.activations._dual import Dual
from symscope.kernels.infinite._sliding_windows import Window
from symscope.numerics import checked


@final
@dataclass(frozen=True)
class LayerWeights:
    """How a layer with weights acts on kernels, A being the average over its inputs (fan-in).

    `K <- w_var A(K) + b_var`, `Theta <- w_var A(Theta) + w_rate A(K) + b_rate`. In the NTK parameterisation
    the rates equal the variances; in the standard one they are the fan-in and 1; they are zero for what is
    not trained.
    """

    w_var: float
    b_var: float
    w_rate: float
    b_rate: float


@final
@dataclass(frozen=True)
class Input:
    """The data themselves."""


@final
@dataclass(frozen=True)
class Dense:
    """A fully connected layer on vectors."""

    features_in: int
    features_out: int
    weights: LayerWeights


@final
@dataclass(frozen=True)
class Conv:
    """A convolution; one window per axis of positions."""

    channels_in: int
    channels_out: int
    windows: tuple[Window, ...]
    weights: LayerWeights


@final
@dataclass(frozen=True)
class Pad:
    """Padding of positions; mode is "zeros", "circular", "reflect" or "replicate"."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    mode: str


@final
@dataclass(frozen=True)
class Pool:
    """Average pooling: the window sum over `divisor`, or over the positions really covered if it is None."""

    windows: tuple[Window, ...]
    divisor: float | None


@checked
@final
@dataclass(frozen=True)
class AdaptivePool:
    """Average pooling to `sizes` positions, which divide those there are; None leaves an axis as it is."""

    sizes: tuple[int | None, ...]

    @checked
    def pool(self, positions: tuple[int, ...]) -> Pool:
        """The pooling it is over so many positions.

        >>> AdaptivePool((2, None)).pool((6, 5)).windows[0].size
        3
        """
        widths = [n // (size or n) for n, size in zip(positions, self.sizes, strict=True)]
        return Pool(tuple(Window(width, width) for width in widths), float(math.prod(widths)))


@final
@dataclass(frozen=True)
class GlobalPool:
    """The mean over all positions; `keep` leaves axes of length one, `axes` is how many there must be."""

    keep: bool
    axes: int | None = None


@final
@dataclass(frozen=True)
class Flatten:
    """Positions become features; `features` is the length the module promised, where it did."""

    features: int | None = None


@final
@dataclass(frozen=True)
class Unflatten:
    """Features of the data become channels and positions."""

    shape: tuple[int, ...]


@final
@dataclass(frozen=True)
class Normalise:
    """Division by the root mean square: over channels at each position, or over positions too.

    `over` is "channels" or "all"; `eps` is added to the mean square; `centred` subtracts the mean first
    (LayerNorm, not RMSNorm), which is zero for Gaussians.
    """

    over: str
    eps: float
    shape: tuple[int, ...] | None = None
    centred: bool = True


@final
@dataclass(frozen=True)
class Activate:
    """An elementwise activation."""

    dual: Dual


@final
@dataclass(frozen=True)
class Scale:
    """Multiplication by a constant."""

    factor: float


@final
@dataclass(frozen=True, eq=False)
class Affine:
    """`factor * x + shift` of the data by constants that broadcast with a batch, as in standardising."""

    factor: Tensor
    shift: Tensor


@final
@dataclass(frozen=True)
class Sum:
    """The sum of branches (residual connections)."""


Operation = (
    Input
    | Dense
    | Conv
    | Pad
    | Pool
    | AdaptivePool
    | GlobalPool
    | Flatten
    | Unflatten
    | Normalise
    | Activate
    | Scale
    | Affine
    | Sum
)


@final
@dataclass(frozen=True)
class Node:
    """One step of a network.

    Attributes:
        operation: The operation.
        inputs: Indices of the earlier nodes it acts on.
        name: Name in the user's module, for messages.
    """

    operation: Operation
    inputs: tuple[int, ...]
    name: str


@final
class UnsupportedLayer(InputError):  # noqa: N818 - named for what is wrong
    """A layer without an infinite-width kernel; names the layer and points to the finite-width one.

    >>> UnsupportedLayer("features.2", "MaxPool2d", "a maximum is not Gaussian").layer
    'features.2'
    """

    def __init__(self, layer: str, kind: str, reason: str) -> None:
        super().__init__(
            f"layer {layer!r} ({kind}) has no infinite-width form: {reason}. "
            "Use the finite-width kernel instead: symscope.kernels.empirical_ntk(module)."
        )
        self.layer = layer
