"""What leaving points out gives: residuals, predictions, and which irreps they depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from symscope.spectral.irrep_blocks import Frequency


@final
@dataclass(frozen=True)
class IrrepShare:
    """How much of what holds a missing point in place comes from one irrep.

    A missing point left out alone has the residual `(P y)_i / P_ii`, and `P_ii = sum_rho P_ii(rho)` is what
    a bump at that point costs the kernel. Weakening the kernel by 1 % on an irrep that is not the trivial one
    lowers the error by `share` %.

    Attributes:
        irrep: Name in `groups.irreps(group)`; of a conjugate pair, the first.
        dim: Dimension of the irrep.
        copies: 2 for a conjugate pair.
        stiffness: `P_ii(rho)`, mean over missing points; infinite where the kernel does not see the irrep.
        share: `P_ii(rho) / P_ii`, mean over missing points; all shares sum to 1.
        weight: The share it would have if the kernel were equally strong everywhere: `copies dim^2 / |G|` on
            free orbits.
        trivial: Whether it is the trivial irrep, the labels' own: it makes the numerator, not only the bump.
        limits: Whether the share of an irrep that is not trivial is below its weight: bumps are cheap there,
            which holds generalisation back.
    """

    irrep: str
    dim: int
    copies: int
    stiffness: float
    share: float
    weight: float
    trivial: bool
    limits: bool


@final
@dataclass(frozen=True, eq=False)
class LeaveOut:
    """Residuals at every missing point, set after set; made by `leave_out_orbits` and the functions under it.

    Attributes:
        residual: True label minus prediction.
        prediction: Prediction after training on all points that are not in the point's missing set.
        label: True label.
        sets: Missing set each row belongs to.
        samples: Sample whose orbit holds the point.
        elements: Group element of the point; the smallest one where several give the same point.
        irreps: Shares of every irrep in the stiffness of the missing points.
        points: Number of different points, missing ones included.
        explanation: What was special, in words; empty if nothing was.
        invariance_error: `|K - projected K| / |K|` where `leave_out_orbits` had to project the kernel on
            invariant ones, 0 where it was invariant.
    """

    residual: Float[Tensor, "p *c"]
    prediction: Float[Tensor, "p *c"]
    label: Float[Tensor, "p *c"]
    sets: Int64[Tensor, "p"]
    samples: Int64[Tensor, "p"]
    elements: Int64[Tensor, "p"]
    irreps: tuple[IrrepShare, ...]
    points: int
    explanation: str
    invariance_error: float = 0.0

    @property
    def right(self) -> Bool[Tensor, "p"]:
        """Whether a prediction has its label's sign; of vectors, the largest entry at the same place."""
        predicted, true = (values.reshape(len(self.label), -1) for values in (self.prediction, self.label))
        if true.shape[1] > 1:
            return predicted.argmax(1) == true.argmax(1)
        return (predicted.sign() == true.sign())[:, 0]

    def accuracy(self) -> Float[Tensor, "sets"]:
        """The share of missing points that are `right`, for each missing set.

        >>> from symscope.groups import cyclic
        >>> from symscope.spectral import leave_out
        >>> profile = torch.tensor([[[2.0, 0.5], [1.5, 1.4]], [[1.5, 1.4], [3.0, 0.5]]], dtype=torch.float64)
        >>> signs = torch.tensor([1.0, -1.0], dtype=torch.float64)
        >>> missing = torch.tensor([[[True, False], [False, False]], [[False, False], [True, False]]])
        >>> leave_out(profile, signs, missing, cyclic(2), ridge=0.0).accuracy().tolist()
        [0.0, 0.0]
        """
        right = self.right.to(self.prediction.dtype)
        return torch.stack([right[self.sets == one].mean() for one in self.sets.unique()])

    def table(self) -> list[dict[str, Any]]:
        """The irreps as rows, largest share first, ready for `pandas.DataFrame`."""
        rows = [
            {
                "irrep": one.irrep,
                "dim": one.dim,
                "copies": one.copies,
                "stiffness": one.stiffness,
                "share": one.share,
                "weight": one.weight,
                "trivial": one.trivial,
                "limits": one.limits,
            }
            for one in self.irreps
        ]
        return sorted(rows, key=lambda row: -float(row["share"]))

    def point_table(self) -> list[dict[str, Any]]:
        """The missing points as rows, for `pandas.DataFrame` and the files it writes.

        Vectors get a column for each number: `label 0`, `label 1`, and so on.

        >>> from symscope.groups import cyclic
        >>> from symscope.spectral import leave_out
        >>> profile = torch.tensor([[[2.0, 0.5]]], dtype=torch.float64)
        >>> missing, label = torch.tensor([[False, True]]), torch.tensor([1.0], dtype=torch.float64)
        >>> [row] = leave_out(profile, label, missing, cyclic(2), ridge=0.0).point_table()
        >>> list(row), round(row["prediction"], 6)
        (['set', 'sample', 'element', 'label', 'prediction', 'residual', 'right'], 0.25)
        """
        count = len(self.residual)
        columns: dict[str, list[Any]] = {
            "set": self.sets.tolist(),
            "sample": self.samples.tolist(),
            "element": self.elements.tolist(),
        }
        for name, values in (
            ("label", self.label),
            ("prediction", self.prediction),
            ("residual", self.residual),
        ):
            flat = values.reshape(count, -1)
            for i in range(flat.shape[1]):
                columns[name if self.label.ndim == 1 else f"{name} {i}"] = flat[:, i].tolist()
        columns["right"] = self.right.tolist()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def irrep_shares(
    frequencies: Sequence[Frequency],
    diagonals: Float[Tensor, "f p"],
    even: Float[Tensor, "f p"],
    unseen: Bool[Tensor, "f"],
) -> tuple[IrrepShare, ...]:
    """Shares from each irrep's diagonal `P_ii(rho)`; those of irreps the kernel does not see are infinite."""
    finite, endless = diagonals[~unseen].sum(0), diagonals[unseen].sum(0)
    rows = []
    for f, frequency in enumerate(frequencies):
        diagonal, infinite = diagonals[f], bool(unseen[f])
        here = diagonal / torch.where(endless > 1e-12, endless, finite).clamp_min(1e-300)
        share = float(torch.where((endless > 1e-12) == infinite, here, 0 * here).mean())
        stiffness = float("inf") if infinite else float(diagonal.mean())
        rows.append(
            IrrepShare(
                frequency.name,
                frequency.dim,
                frequency.copies,
                stiffness,
                share,
                float(even[f].mean()),
                frequency.index == 0,
                frequency.index != 0 and share < float(even[f].mean()) * (1 - 1e-9),
            )
        )
    return tuple(rows)
