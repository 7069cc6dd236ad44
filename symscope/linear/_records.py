"""What a tracker writes down: sizes of the symmetric and asymmetric parts of predictions and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import torch
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.groups import EquivariantMaps, Representation, equivariant_maps, invariant_vectors

# a representation on what a layer takes and on what it gives; one alone for a bias
LayerSymmetry = Representation | tuple[Representation, Representation]


@final
@dataclass(frozen=True)
class PartSizes:
    """The sizes of the symmetric and the asymmetric part of one thing."""

    symmetric: float
    asymmetric: float


@final
@dataclass(frozen=True)
class AsymmetryRecord:
    """How symmetric a network is at one step.

    Attributes:
        step: Steps of training before it.
        symmetric: `mean_x |mean_g g^-1 f(g x)|`, the size of the symmetric part of the predictions.
        asymmetry: The asymmetry loss, `mean_x |f(x) - mean_g g^-1 f(g x)|`.
        standard_error: Standard error of the asymmetry, where group elements are sampled; 0 where all are
            used.
        weights: Frobenius norms of the two parts of every weight that was given a representation.
    """

    step: float | int
    symmetric: float
    asymmetry: float
    standard_error: float
    weights: Mapping[str, PartSizes] = field(default_factory=dict)


def layer_spaces(module: nn.Module, weights: Mapping[str, LayerSymmetry]) -> dict[str, EquivariantMaps]:
    """For every named weight, the space of its symmetric values.

    Raises:
        InputError: A parameter that does not exist, or has another shape than its representations.

    >>> from symscope.groups import cyclic, permutation
    >>> swap = permutation(cyclic(2))
    >>> layer_spaces(nn.Linear(2, 2), {"weight": (swap, swap), "bias": swap})["weight"].dimension
    2
    """
    known = dict(module.named_parameters())
    spaces = {}
    for name, reps in weights.items():
        if name not in known:
            raise InputError(f"weights: the module has no parameter {name!r}; it has {', '.join(known)}.")
        space = invariant_vectors(reps) if isinstance(reps, Representation) else equivariant_maps(*reps)
        shape = (
            (space.target.dim,) if isinstance(reps, Representation) else (space.target.dim, space.source.dim)
        )
        if tuple(known[name].shape) != shape:
            raise InputError(
                f"weights: expected {name!r} of shape {shape}, as its representations say, got "
                f"{tuple(known[name].shape)}."
            )
        spaces[name] = space
    return spaces


def part_sizes(space: EquivariantMaps, weight: Tensor) -> PartSizes:
    """Frobenius norms of a weight's projection on its symmetric values, and of the rest.

    >>> from symscope.groups import cyclic, permutation
    >>> swap = permutation(cyclic(2))
    >>> part_sizes(equivariant_maps(swap, swap), torch.tensor([[3.0, 0.0], [0.0, -3.0]]))
    PartSizes(symmetric=0.0, asymmetric=4.242640687119285)
    """
    matrix = weight.detach().to(torch.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    symmetric = space.project(matrix)
    return PartSizes(float(symmetric.norm()), float((matrix - symmetric).norm()))


def table_row(kind: str, record: AsymmetryRecord) -> dict[str, Any]:
    """A record as a row of a table; parts of weights become columns `<name> symmetric`, `<name> asymmetric`.

    >>> table_row("measured", AsymmetryRecord(0, 1.0, 0.5, 0.0, {"w": PartSizes(2.0, 1.0)}))["w asymmetric"]
    1.0
    """
    row: dict[str, Any] = {
        "kind": kind,
        "step": record.step,
        "asymmetry": record.asymmetry,
        "standard_error": record.standard_error,
        "symmetric": record.symmetric,
    }
    for name, sizes in record.weights.items():
        row[f"{name} symmetric"], row[f"{name} asymmetric"] = sizes.symmetric, sizes.asymmetric
    return row
