"""How fast the asymmetric part of the weights decays: per irrep, in total, and what never does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import FiniteGroup, Representation, multiplicities
from symscope.linear._closed_flow import RegressionFlow
from symscope.linear._components import IsotypicComponent, isotypic_components
from symscope.linear._extremes import ExtremeRates, extreme_rates
from symscope.linear._orbit_regression import OrbitRegression
from symscope.numerics import checked, may_be_infinite

__all__ = [
    "ExtremeRates",
    "IrrepRates",
    "extreme_rates",
    "irrep_rates",
    "time_to_asymmetry",
]


@final
@dataclass(frozen=True, eq=False)
class IrrepRates:
    """The decay of the weights on one isotypic component of the features.

    Attributes:
        irrep: Name of the irrep.
        rates: The eigenvalues of `K_G` on it, ascending, one for each copy of the irrep (for compact groups
            one for each dimension); zero where the data do not reach it.
        asymmetric: The dimension of the asymmetric weights there; 0 where weights are symmetric anyway.
    """

    irrep: str
    rates: Float[Tensor, " copies"]
    asymmetric: int

    @property
    def slowest(self) -> float:
        """The rate that decides in the long run; zero when some part never decays."""
        return float(self.rates[0])

    @property
    def half_life(self) -> float:
        """Flow time in which the slowest part halves; infinite when it never does."""
        return math.log(2) / self.slowest if self.slowest > 0 else math.inf


@checked
def irrep_rates(problem: OrbitRegression, rank_tolerance: float | None = None) -> tuple[IrrepRates, ...]:
    """Which asymmetric components decay, and how fast: the eigenvalues of `K_G` on every irrep.

    `K_G` commutes with the group, so it has blocks, one for each irrep; each rate on an irrep of dimension
    `d_rho` occurs that many times and is listed once.

    Args:
        problem: Regression whose features are under an orthogonal representation of a listed or a compact
            group (`feature_representation` makes one from matrices).
        rank_tolerance: Rates up to this fraction of the largest count as zero; by default d times the spacing
            of floating-point numbers at one.

    Returns:
        One entry for each irrep that occurs in the features. Those with `asymmetric == 0` hold no asymmetry:
        the invariant features, when labels are invariant.

    Raises:
        InputError: Matrices instead of a representation, or one that is not orthogonal.

    >>> from symscope.groups import cyclic, permutation
    >>> from symscope.linear import orbit_regression, second_moments
    >>> x = torch.tensor([[1.0, 2.0, 4.0]])
    >>> problem = orbit_regression(second_moments(x, torch.tensor([1.0])), permutation(cyclic(3)))
    >>> for part in irrep_rates(problem):
    ...     print(part.irrep, part.rates.round(decimals=6).tolist(), part.asymmetric)
    k=0 [49.0] 0
    k=1, k=2 [7.0] 2
    """
    rep = problem.features
    if not isinstance(rep, Representation):
        raise InputError(
            "expected features under a representation; feature_representation(matrices) makes one of "
            "matrices that form a group."
        )
    labels = problem.labels
    assert labels is None or isinstance(labels, Representation)
    parts = isotypic_components(rep)
    values = [_rates_on(problem.k, part) for part in parts]
    spacing = torch.finfo(problem.k.dtype).eps
    tolerance = rep.dim * spacing if rank_tolerance is None else rank_tolerance
    floor = tolerance * max(float(v.max()) for v in values)
    return tuple(
        IrrepRates(part.irrep, torch.where(v <= floor, 0.0, v), _asymmetric(part, rep, labels))
        for part, v in zip(parts, values, strict=True)
    )


@checked
@may_be_infinite
def time_to_asymmetry(solution: RegressionFlow, asymmetric: Tensor, level: float) -> float:
    """The flow time after which the asymmetric part of the weights is down to a fraction of what it was.

    Solves `|e^{-K t} w_k| = level |w_k|`.

    Args:
        solution: The flow of the problem.
        asymmetric: `w_k(0)` or `W_k(0)`, from `weight_split`.
        level: The fraction, between 0 and 1.

    Returns:
        The time; infinity when the part that never decays is larger than that. Divide by the learning rate
        for steps.

    Raises:
        InputError: A level not between 0 and 1, or an asymmetric part of another shape.

    >>> from symscope.linear import regression_flow
    >>> k = torch.diag(torch.tensor([1.0, 2.0], dtype=torch.float64))
    >>> wk = torch.tensor([0.0, 5.0], dtype=torch.float64)
    >>> round(time_to_asymmetry(regression_flow(k, 0 * wk), wk, 0.01), 6)  # log(100) / 2
    2.302585
    """
    if not 0 < level < 1:
        raise InputError(f"level: expected a fraction between 0 and 1, got {level}.")
    if asymmetric.shape != solution.minimum.shape:
        raise InputError(
            f"expected weights of shape {tuple(solution.minimum.shape)}, got {tuple(asymmetric.shape)}."
        )
    columns = asymmetric.to(solution.rates).reshape(len(solution.rates), -1)
    squares = (solution.directions.mT @ columns).square().sum(1)
    total = float(squares.sum())
    if total == 0:
        return 0.0
    shares = squares / total
    if float(shares[solution.unseen].sum()) >= level**2:
        return math.inf

    def left(time: float) -> float:
        return float((shares * torch.exp(-2 * solution.rates * time)).sum()) - level**2

    late = 1 / float(solution.rates[-1])
    while left(late) > 0:
        late *= 2
        if not math.isfinite(late):
            return math.inf
    from scipy.optimize import brentq  # only here: it costs as much to import as the rest of the package

    return float(brentq(left, 0.0, late, xtol=1e-14 * late, rtol=1e-13))


def _rates_on(k: Tensor, part: IsotypicComponent) -> Tensor:
    basis = part.basis.to(k)
    block = basis.mT @ k @ basis
    values = torch.linalg.eigvalsh((block + block.mT) / 2)
    return values.reshape(-1, part.repeats).mean(1)


def _asymmetric(part: IsotypicComponent, rep: Representation, labels: Representation | None) -> int:
    """Dimension of the weights on a component, less that of the symmetric ones."""
    if labels is None:
        return 0 if part.invariant else part.dimension
    if part.index is None or not isinstance(rep.group, FiniteGroup):
        return part.dimension * labels.dim - _commuting_dimension(part, rep, labels)
    pair = 2 if part.repeats > _irrep_dimension(rep, part.index) else 1
    copies = int(multiplicities(rep)[part.index])
    return part.dimension * labels.dim - pair * copies * int(multiplicities(labels)[part.index])


def _irrep_dimension(rep: Representation, index: int) -> int:
    from symscope.groups import irreps

    assert isinstance(rep.group, FiniteGroup)
    return irreps(rep.group)[index].dim


def _commuting_dimension(part: IsotypicComponent, rep: Representation, labels: Representation) -> int:
    """Dimension of the equivariant maps from the labels into one component."""
    from symscope.groups import equivariant_maps

    maps = equivariant_maps(labels, rep).basis.reshape(-1, rep.dim, labels.dim)
    inside = torch.einsum("dk,bdm->bkm", part.basis, maps).flatten(1)
    return int(torch.linalg.matrix_rank(inside)) if len(inside) else 0
