"""Residuals where the kernel is zero on some irreps: the limit of a vanishing ridge.

There the inverse P is infinite. A residual on missing points must then be orthogonal to every function of
these irreps; what is left is found from their values at the missing points, orbit by orbit, not from the
projector, whose small eigenvalues (the squares) would drown in rounding.

`(S + U / ridge) r = w` minimises `1/2 r^T S r - w^T r` with a penalty on `U r`; as the ridge vanishes the
penalty becomes the constraint `U r = 0`, solved by the null-space method (Nocedal and Wright, Numerical
Optimization, sec. 16.2) in a basis from the singular value decomposition of the functions themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from symscope.spectral._missing_sets import MissingSet
from symscope.spectral.irrep_blocks import Frequency, Quotient

ORTHOGONAL = 1e-12  # what functions of length 1 leave on orthogonal directions by rounding


def unseen_residual(
    stiff: Float[Tensor, "p p"],
    weights: Float[Tensor, "p c"],
    unseen: Sequence[Frequency],
    missing: MissingSet,
    points: Quotient,
    size: float,
) -> tuple[Float64[Tensor, "p c"], float]:
    """`(stiff + U / ridge)^-1 weights` as the ridge vanishes, U the projector on the unseen irreps.

    Args:
        stiff: What all other irreps give to `P_MM`.
        weights: `(P y)_M`.
        unseen: The irreps on which the kernel is zero.
        missing: The missing points.
        points: Quotient that names the different points.
        size: What the kernel may be there, all the same: its blocks are zero to rounding only.

    Returns:
        The residual, and how far it is from the one with `size` in place of the ridge.
    """
    return constrained_residual(stiff, weights, *_unseen_directions(unseen, missing, points), size)


def constrained_residual(
    stiff: Float[Tensor, "p p"],
    weights: Float[Tensor, "p c"],
    turn: Float64[Tensor, "p p"],
    lengths: Float64[Tensor, "p"],
    size: float,
) -> tuple[Float64[Tensor, "p c"], float]:
    """The same for any unseen functions, whose lengths along orthonormal directions are known.

    Args:
        stiff: What all other irreps give to `P_MM`.
        weights: `(P y)_M`.
        turn: The directions, as columns.
        lengths: How long unseen functions are along each.
        size: What the kernel may be there, all the same.
    """
    stiff, weights = stiff.double(), weights.double()
    turned, wanted = turn.T @ stiff @ turn, turn.T @ weights
    free = lengths <= ORTHOGONAL
    limit = torch.zeros_like(wanted)
    limit[free] = torch.linalg.solve(turned[free][:, free], wanted[free])
    turned.diagonal().add_(lengths.square() / size)
    # unit diagonal: large and small entries stand side by side (van der Sluis, Numer. Math. 14, 1969)
    unit = turned.diagonal().rsqrt()
    factor = torch.linalg.cholesky(unit[:, None] * turned * unit)
    near = unit[:, None] * torch.cholesky_solve(unit[:, None] * wanted, factor)
    return turn @ limit, float((turn @ (near - limit)).abs().max())


def _unseen_directions(
    unseen: Sequence[Frequency], missing: MissingSet, points: Quotient
) -> tuple[Float64[Tensor, "p p"], Float64[Tensor, "p"]]:
    """Orthonormal directions on the missing points, and how long the unseen functions are along each."""
    count = len(missing.samples)
    turn, lengths = (torch.zeros(*shape, dtype=torch.float64) for shape in ((count, count), (count,)))
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[Tensor, Tensor]] = {}
    order = missing.position.argsort(stable=True)
    for places in order.split(torch.bincount(missing.position).tolist()):
        stabiliser = points.stabilisers[int(missing.samples[places[0]])]
        elements = missing.elements[places]
        key = (tuple(stabiliser.tolist()), tuple(elements.tolist()))
        if key not in known:
            values = torch.cat([_values(one, elements, stabiliser) for one in unseen], dim=1)
            vectors, singular, _ = torch.linalg.svd(values, full_matrices=True)
            own = values.new_zeros(len(values))
            own[: len(singular)] = singular
            known[key] = (vectors, own)
        turn[places[:, None], places], lengths[places] = known[key]
    return turn, lengths


def _values(
    frequency: Frequency, elements: Int64[Tensor, "p"], stabiliser: Int64[Tensor, "_"]
) -> Float64[Tensor, "p r"]:
    """Orthonormal functions of one irrep at points of one orbit: what the projector is the product of."""
    fixed = frequency.matrices[stabiliser].mean(0)  # the projector on vectors the stabiliser fixes
    rows = (frequency.matrices[elements] @ fixed).flatten(1)
    root = (frequency.weight / frequency.dim * len(stabiliser)) ** 0.5
    return root * (torch.view_as_real(rows).flatten(1) if rows.is_complex() else rows)
