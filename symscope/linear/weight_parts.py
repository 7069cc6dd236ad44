"""Weights in two parts, a symmetric and an asymmetric one; and whether they mix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import Quadrature, Representation
from symscope.linear._orbit_regression import check_labels
from symscope.linear.group_averages import LinearSymmetry, averager, check_fit, dimension
from symscope.numerics import checked

__all__ = [
    "Coupling",
    "WeightSplit",
    "coupling",
    "invariant_weights",
    "weight_split",
]

FIXED = 1e-9  # relative eigenvalue of sum (g - I)^T (g - I) under which a direction counts as fixed
DECOUPLED = 1e-9  # coupling, relative to K, that rounding explains


@final
@dataclass(frozen=True, eq=False)
class WeightSplit:
    """Weights in two orthogonal parts, which add up to them.

    Attributes:
        symmetric: `w_r`, whose predictions are invariant, or `W_r`, which commutes with the group.
        asymmetric: `w_k` or `W_k`, the rest.
    """

    symmetric: Tensor
    asymmetric: Tensor


@checked
def weight_split(
    weights: Tensor,
    features: LinearSymmetry,
    labels: LinearSymmetry | None = None,
    quadrature: Quadrature | None = None,
) -> WeightSplit:
    """The symmetric and the asymmetric part of weights (Theorems 3.3.2 and 4.2.2).

    Invariant: `w_r` is the nearest of the weights with `g w = w` for all g. Where g^T is in the group with g
    (Assumption 3) that is `R w / |G|`, and `w_k` lies in ker R as in the paper. Where it is not, the paper's
    complement of ker R holds weights that are not invariant; the invariant ones are taken here, so that
    `w_k = 0` always means an invariant model. Equivariant: `W_r = mean_g g^T W g'`.

    Args:
        weights: `[..., d]`, or with labels `[..., d, m]`.
        features: How the group acts on features.
        labels: How it acts on labels; None for a single invariant output.
        quadrature: Elements that stand for a compact group.

    Raises:
        InputError: Shapes that do not fit; with labels, a group that is not orthogonal.

    >>> from symscope.groups import permutation, symmetric
    >>> parts = weight_split(torch.tensor([1.0, 2.0, 6.0]), permutation(symmetric(3)))
    >>> parts.symmetric.tolist(), parts.asymmetric.tolist()
    ([3.0, 3.0, 3.0], [-2.0, -1.0, 3.0])
    """
    trailing = 1 if labels is None else 2
    if weights.ndim < trailing:
        raise InputError(
            f"expected weights {'[..., d]' if labels is None else '[..., d, m]'}, got shape "
            f"{tuple(weights.shape)}."
        )
    check_fit(weights[..., None] if labels is None else weights, features, labels)
    symmetric = symmetric_projection(features, labels, quadrature)(weights)
    return WeightSplit(symmetric, weights - symmetric)


def symmetric_projection(
    features: LinearSymmetry, labels: LinearSymmetry | None = None, quadrature: Quadrature | None = None
) -> Callable[[Tensor], Tensor]:
    """The function from weights to their symmetric part, for many weights in turn.

    >>> swap = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    >>> symmetric_projection(swap)(torch.tensor([[1.0, 3.0]]).double()).round(decimals=12).tolist()
    [[2.0, 2.0]]
    """
    if labels is not None:
        check_labels(torch.empty(1, dimension(labels)), features, labels)
        return averager(features, labels, quadrature)
    if isinstance(features, Representation) and features.unitary:
        average = averager(features, None, quadrature)
        return lambda w: average(w[..., None])[..., 0]
    basis = invariant_weights(features)
    return lambda w: w @ basis.to(w) @ basis.to(w).mT


@checked
def invariant_weights(features: LinearSymmetry) -> Float[Tensor, "d k"]:
    """An orthonormal basis of the weights whose predictions are invariant, `g w = w` for every g.

    Args:
        features: Matrices acting as `X g`, which need not be a whole group: generators or samples will do; or
            a representation of a finite group.

    >>> shear = torch.tensor([[[1.0, 0.5], [0.0, 1.0]]], dtype=torch.float64)
    >>> invariant_weights(shear).abs()
    tensor([[1.],
            [0.]], dtype=torch.float64)
    """
    if isinstance(features, Tensor):
        matrices = features.to(torch.float64)
    else:
        generators = list(features.group.generators) or [features.group.identity]
        matrices = torch.stack([features(g).mT for g in generators])
    if matrices.is_complex():
        raise InputError(f"expected a real representation, {features!r} is complex.")
    moves = matrices - torch.eye(dimension(features), dtype=torch.float64, device=matrices.device)
    values, vectors = torch.linalg.eigh(torch.einsum("gij,gik->jk", moves, moves))
    return vectors[:, values <= FIXED * max(1.0, float(values[-1]))]


@final
@dataclass(frozen=True)
class Coupling:
    """How much the flow mixes the symmetric and the asymmetric part.

    Attributes:
        absolute: The largest rate at which a unit vector of one part drives the other.
        relative: That rate over the largest eigenvalue of K.
        decoupled: Whether it is zero up to rounding.
        verdict: Whether the parts mix, in words.
    """

    absolute: float
    relative: float
    decoupled: bool
    verdict: str


@checked
def coupling(
    k: Float[Tensor, "d d"], features: LinearSymmetry, labels: LinearSymmetry | None = None
) -> Coupling:
    """Whether the two parts of the weights evolve independently under `dW/dt = C - K W` (Theorem 3.3.2).

    Invariant: the norm of `P K (I - P)`, P the projection on invariant weights. Equivariant: the norm of
    `K - mean_g g^T K g`, which bounds it.

    Args:
        k: `K_G`, or `X^T X` of data whose orbits are not complete.
        features: How the group acts on features.
        labels: How it acts on labels.

    >>> k = torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float64)
    >>> flip = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]]], dtype=torch.float64)
    >>> print(coupling(k, flip).verdict)
    coupled: one part drives the other at up to 33 % of the fastest rate.
    """
    check_fit(k, features, features)
    project = symmetric_projection(features, labels)
    # P on one side of K, I - P on the other
    there = project((k - project(k)).mT) if labels is None else k - averager(features, features)(k)
    absolute = float(torch.linalg.matrix_norm(there, 2))
    largest = float(torch.linalg.matrix_norm(k, 2))
    relative = absolute / largest if largest > 0 else 0.0
    decoupled = relative <= DECOUPLED
    words = (
        "decoupled: the symmetric and the asymmetric part evolve independently."
        if decoupled
        else f"coupled: one part drives the other at up to {100 * relative:.2g} % of the fastest rate."
    )
    return Coupling(absolute, relative, decoupled, words)
