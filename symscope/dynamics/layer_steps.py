"""What stands between the linear layers: nonlinearities, normalisation and pooling that keep equivariance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import final

import torch
from torch import Tensor

from symscope.errors import InputError, nearest
from symscope.groups import Representation, pair_orbits, trivial
from symscope.numerics import explained

__all__ = [
    "LayerStep",
    "batch_normalisation",
    "group_pooling",
    "norm_gate",
    "pointwise",
    "rms_normalisation",
    "summands",
]


def _identity(x: Tensor) -> Tensor:
    return x  # not a lambda: modules that hold it can be pickled


POINTWISE: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": _identity,
    "relu": torch.relu,
    "leaky_relu": partial(torch.nn.functional.leaky_relu, negative_slope=0.01),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "softplus": torch.nn.functional.softplus,
    "gelu": torch.nn.functional.gelu,
    "square": torch.square,
}
POOLS = ("mean", "sum", "max")
KINKED = ("relu", "leaky_relu", "max")  # words of step names: their slopes jump


def _same(space: Representation) -> Representation:
    return space


@final
@dataclass(frozen=True)
class LayerStep:
    """One fixed (weightless) function on a layer's space.

    Attributes:
        name: What messages and reports call it.
        function: `(x [..., n, dim], space) -> [..., n, dim of target(space)]`, n samples in a batch.
        target: The space it maps to, given the space it gets.
    """

    name: str
    function: Callable[[Tensor, Representation], Tensor]
    target: Callable[[Representation], Representation] = _same

    def __repr__(self) -> str:
        return self.name

    @property
    def kinked(self) -> bool:
        """Whether its slope is known to jump, going by its name."""
        return any(word in self.name for word in KINKED)


@explained
def pointwise(function: str | Callable[[Tensor], Tensor], name: str | None = None) -> LayerStep:
    """A scalar function applied to every coordinate; equivariant on permutation representations.

    Args:
        function: A name ("tanh", "leaky_relu", ...), or your own function of tensors.
        name: What to call your own function.

    Raises:
        InputError: A name that is not known.

    >>> pointwise("leaky_relu")
    leaky_relu
    """
    if isinstance(function, str):
        if function not in POINTWISE:
            raise InputError(
                f"expected a pointwise nonlinearity, got {function!r}: {nearest(function, POINTWISE)}"
            )
        name, function = function, POINTWISE[function]
    called = name or str(getattr(function, "__name__", "pointwise"))
    return LayerStep(called, partial(_pointwise, function))


@explained
def norm_gate(function: str | Callable[[Tensor], Tensor] = "tanh") -> LayerStep:
    """Each copy of a representation scaled by a function of its length: `x -> x f(|x|) / |x|`.

    Equivariant on every unitary representation, where pointwise functions are not.

    >>> from symscope.groups import cyclic, permutation
    >>> x = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    >>> norm_gate("square").function(x, permutation(cyclic(2))).tolist()
    [[15.0, 20.0]]
    """
    inner = pointwise(function)
    return LayerStep(f"norm_gate({inner.name})", partial(_norm_gate, inner))


@explained
def batch_normalisation(epsilon: float = 1e-5) -> LayerStep:
    """Each copy of a representation brought to mean 0 and variance 1 over the batch and its coordinates.

    Nothing is learnt or remembered. On representations that do not permute coordinates only the mean square
    is brought to 1: subtracting a mean would break equivariance. One group element acts on a whole batch, so
    this is equivariant as a function of the batch, also while training.

    Args:
        epsilon: Added to the variance.

    >>> from symscope.groups import cyclic, permutation
    >>> x = torch.tensor([[1.0, 3.0], [5.0, 7.0]], dtype=torch.float64)
    >>> batch_normalisation(0.0).function(x, permutation(cyclic(2))).mean().item()
    0.0
    """
    return LayerStep("batch_normalisation", partial(_batch_normalisation, epsilon))


@explained
def rms_normalisation(epsilon: float = 1e-5) -> LayerStep:
    """Each sample divided by its root mean square: equivariant on every unitary representation.

    >>> from symscope.groups import cyclic, permutation
    >>> x = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    >>> rms_normalisation(0.0).function(x, permutation(cyclic(2))).square().mean().item()
    1.0
    """
    return LayerStep("rms_normalisation", partial(_rms_normalisation, epsilon))


@explained
def group_pooling(kind: str = "mean") -> LayerStep:
    """Each orbit of coordinates of a permutation representation pooled into one invariant number.

    Args:
        kind: "mean", "sum" or "max".

    Raises:
        InputError: Another kind; later, when it is declared after a layer that has no permutation
            representation.

    >>> from symscope.groups import permutation, symmetric
    >>> v = permutation(symmetric(9))
    >>> group_pooling().target(v * v)  # the diagonal and the rest are orbits of their own
    2 1 of S9
    """
    if kind not in POOLS:
        raise InputError(f"expected pooling by {', '.join(POOLS)}, got {kind!r}: {nearest(kind, POOLS)}")
    return LayerStep(f"group_pooling({kind})", partial(_pool_orbits, kind), _pooled_space)


@explained
def summands(space: Representation) -> tuple[tuple[int, Representation], ...]:
    """The summands of a space as (copies, representation); a space that is no sum is its own."""
    return space.summands or ((1, space),)


def _by_parts(x: Tensor, space: Representation, change: Callable[[Tensor, Representation], Tensor]) -> Tensor:
    """`change` applied to `[..., n, copies, dim]` of every summand, and the results put side by side."""
    pieces = x.split([k * rep.dim for k, rep in summands(space)], dim=-1)
    changed = [
        change(piece.unflatten(-1, (k, rep.dim)), rep).flatten(-2)
        for (k, rep), piece in zip(summands(space), pieces, strict=True)
    ]
    return changed[0] if len(changed) == 1 else torch.cat(changed, dim=-1)


def _pointwise(function: Callable[[Tensor], Tensor], x: Tensor, space: Representation) -> Tensor:
    return function(x)


def _norm_gate(inner: LayerStep, x: Tensor, space: Representation) -> Tensor:
    def gate(part: Tensor, rep: Representation) -> Tensor:
        # a length with a derivative at zero, where the direction is undefined
        length = (part.square().sum(dim=-1, keepdim=True) + torch.finfo(part.dtype).tiny).sqrt()
        return part * (inner.function(length, rep) / length)

    return _by_parts(x, space, gate)


def _batch_normalisation(epsilon: float, x: Tensor, space: Representation) -> Tensor:
    def normalise(part: Tensor, rep: Representation) -> Tensor:
        axes = (-3, -1)
        if rep.permutation is not None:
            part = part - part.mean(dim=axes, keepdim=True)
        return part * (part.square().mean(dim=axes, keepdim=True) + epsilon).rsqrt()

    return _by_parts(x, space, normalise)


def _rms_normalisation(epsilon: float, x: Tensor, space: Representation) -> Tensor:
    return x * (x.square().mean(dim=-1, keepdim=True) + epsilon).rsqrt()


@lru_cache(maxsize=64)  # a representation is its own key: it never changes
def _orbits(rep: Representation) -> list[Tensor]:
    if rep.permutation is None:
        raise InputError(
            f"expected a permutation representation for group pooling, got {rep!r}: declare a layer to "
            "trivial(group, channels) instead, which is linear pooling."
        )
    orbit = pair_orbits(trivial(rep.group), rep).orbit
    assert orbit is not None
    return [(orbit == k).nonzero()[:, 0] for k in range(int(orbit.max()) + 1)]


def _pool_orbits(kind: str, x: Tensor, space: Representation) -> Tensor:
    def pool(part: Tensor, rep: Representation) -> Tensor:
        orbits = [part.index_select(-1, orbit.to(part.device)) for orbit in _orbits(rep)]
        pooled = [o.amax(dim=-1) if kind == "max" else getattr(o, kind)(dim=-1) for o in orbits]
        return torch.stack(pooled, dim=-1)

    return _by_parts(x, space, pool)


def _pooled_space(space: Representation) -> Representation:
    return trivial(space.group, sum(k * len(_orbits(rep)) for k, rep in summands(space)))
