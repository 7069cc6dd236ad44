"""Coupling and drift of the two parts of the weights under groups that shear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from symscope.linear import regression_assumptions, regression_flow, second_moments, weight_split
from symscope.linear.weight_parts import coupling, invariant_weights
from symscope.runs import CellContext, CellResults
from symscope_papers.linear.shear.config import Shear
from symscope_papers.linear.training import asymmetry_of, recorded_epochs, training_path


def elements(kind: str, shear: float, translations: int) -> Tensor:
    """Matrices that act on the features (1, x): `(1, x) g = (1, x + a)`, or `(1, 2c - x)`.

    The reflection about c, with the identity, is a group of two for every c. Translations are infinitely
    many: `translations` multiples of the smallest stand for them.

    >>> elements("reflection", 0.5, 3)[1].tolist()
    [[1.0, 1.0], [0.0, -1.0]]
    """
    if kind == "reflection":
        rows = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2 * shear], [0.0, -1.0]]]
    else:
        half = translations // 2
        rows = [[[1.0, k * shear], [0.0, 1.0]] for k in sorted(range(-half, half + 1), key=abs)]
    return torch.tensor(rows, dtype=torch.float64)


def cells(config: Shear) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    reflections = [{"kind": "reflection", "shear": shear} for shear in config.shears]
    return reflections + [{"kind": "translations", "shear": shear} for shear in config.shears if shear > 0]


def measure_cell(config: Shear, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    shear = cell["shear"]
    group = elements(cell["kind"], shear, config.translations)
    generator = torch.Generator().manual_seed(context.run_seed)
    position = torch.rand(config.points, generator=generator, dtype=torch.float64)
    x = torch.stack([torch.ones_like(position), position], 1)
    # the distance from the mirror; under translations only a constant is invariant
    y = (position - shear).abs() if cell["kind"] == "reflection" else torch.ones_like(position)
    whole = torch.einsum("nd,gde->gne", x, group).flatten(0, 1)
    labels = y.repeat(len(group))
    x, whole, labels, group = (t.to(context.device) for t in (x, whole, labels, group))
    moments = second_moments(whole, labels)
    fixed = invariant_weights(group).to(whole)
    start = torch.randn(2, generator=torch.Generator().manual_seed(context.run_seed + 1)).to(whole)
    starts = torch.stack([start, start + fixed[:, 0]])  # one asymmetric part, two symmetric ones
    record = recorded_epochs(config.epochs, config.records)
    path = training_path(whole, labels, starts, config.learning_rate, record)
    asymmetric = weight_split(path, group).asymmetric
    drift = torch.linalg.vector_norm(asymmetric[:, 0] - asymmetric[:, 1], dim=1)
    third = regression_assumptions(whole, labels, group)[2]
    mixed = coupling(moments.xx, group)
    row = {
        "transposes": third.holds,
        "assumption": third.verdict,
        "coupling": mixed.relative,
        "verdict": mixed.verdict,
        "drift": float(drift.max()),
        "limit_asymmetry": _translated(
            regression_flow(moments.xx, moments.xy).limit(starts[0]), whole, group
        ),
    }
    paths = [
        {"epoch": int(epoch), "drift": float(d)} for epoch, d in zip(record.tolist(), drift, strict=True)
    ]
    return {"paths": paths, "groups": [row]}


def _translated(w: Tensor, x: Tensor, group: Tensor) -> float:
    """The largest asymmetry over pairs {identity, g}: it needs no average over the whole group."""
    return max(asymmetry_of(w[None], x, group[[0, i]])[0] for i in range(1, len(group)))
