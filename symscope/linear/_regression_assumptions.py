"""The five assumptions of the theory, checked on data, group and training, each with a verdict in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import CompactGroup, FiniteGroup, PermutationGroup, Representation, unitarity_error
from symscope.linear._weighted_elements import act
from symscope.linear.descent import flow_time
from symscope.linear.group_averages import (
    ORTHOGONAL,
    SAME_MATRIX,
    LinearSymmetry,
    averager,
    check_fit,
    dimension,
    is_orthogonal,
)
from symscope.numerics import checked

# Moved points looked up per generator; more would take minutes and hardly ever change the answer.
LARGEST_LOOKUP = 4096
_FLOW = 0.1  # decay rates of descent within a tenth of the flow's: ours, the paper says "sufficiently small"


@final
@dataclass(frozen=True)
class RegressionAssumption:
    """One assumption of the theory, checked.

    Attributes:
        number: Number in the paper.
        name: What it is about.
        holds: None where it was not needed or could not be checked.
        measured: How far it is from holding: 0 is exact, infinite is beyond the range of numbers; None where
            nothing was measured.
        verdict: What was found, in words.
    """

    number: int
    name: str
    holds: bool | None
    measured: float | None
    verdict: str


@checked
def regression_assumptions(
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "labels *m"],
    features: LinearSymmetry,
    labels: LinearSymmetry | None = None,
    learning_rate: float | None = None,
    tolerance: float = 1e-9,
) -> tuple[RegressionAssumption, ...]:
    """The paper's Assumptions 1 to 5 for a data set as it is trained on, orbits included or not.

    Args:
        x: Features of the whole data set.
        y: Labels `[n]` (invariant) or `[n, m]`.
        features: How the group acts on features.
        labels: How it acts on labels; None where they do not move.
        learning_rate: Learning rate of gradient descent on the summed loss; without it Assumption 2 is not
            checked.
        tolerance: Distance, relative to the largest point, at which two points count as the same.

    Returns:
        Five verdicts in order. For invariant labels 4 and 5 are not needed, for others 1 and 3.

    Raises:
        InputError: Shapes that do not fit, or a compact group, whose orbits no finite data set completes:
            check a finite subgroup.

    >>> from symscope.data.synthetic import absolute_value
    >>> toy = absolute_value(5, seed=0)
    >>> for a in regression_assumptions(toy.features, toy.targets, toy.group)[:3]:
    ...     print(a.number, a.verdict)
    1 fails: 5 of 5 moved points are not in the data (second moments are not invariant, by 11 %).
    2 not checked: no learning rate was given.
    3 holds: the transpose of every element is in the group.
    """
    labels_2d = y if y.ndim == 2 else y[:, None]
    check_fit(torch.empty(x.shape[1], labels_2d.shape[1]), features, labels)
    if len(x) != len(y):
        raise InputError(f"expected a label for each of {len(x)} points, got {len(y)}.")
    if isinstance(features, Representation) and isinstance(features.group, CompactGroup):
        raise InputError(
            f"expected a finite group: no data set holds a whole orbit of {features.group.name}. Check a "
            "finite subgroup, for example C8 for SO(2)."
        )
    wide_x, wide_y = x.to(torch.float64), labels_2d.to(torch.float64)
    orbits = _orbits(wide_x, wide_y, features, labels, tolerance)
    flow = _small_steps(wide_x, learning_rate)
    if labels is None:
        first = RegressionAssumption(1, "data invariance", *orbits)
        rest = (_transposes(features), _unneeded(4, "data equivariance"), _unneeded(5, "orthogonal group"))
        return (first, flow, *rest)
    fourth = RegressionAssumption(4, "data equivariance", *orbits)
    one, three = _unneeded(1, "data invariance"), _unneeded(3, "closed under transposition")
    return (one, flow, three, fourth, _orthogonality(features, labels))


def _unneeded(number: int, name: str) -> RegressionAssumption:
    other = "equivariant" if number in (4, 5) else "invariant"
    return RegressionAssumption(number, name, None, None, f"not needed: it is about {other} labels.")


def _orbits(
    x: Tensor, y: Tensor, features: LinearSymmetry, labels: LinearSymmetry | None, tolerance: float
) -> tuple[bool, float, str]:
    """Whether every generator maps the data to themselves; products of generators then do as well."""
    here = torch.cat([x, y], 1)
    scale = max(float(torch.linalg.vector_norm(here, dim=1).max()), 1e-300)
    looked = min(len(x), LARGEST_LOOKUP)
    worst, missing, total = 0.0, 0, 0
    for g in _generators(features):
        moved_y = y[:looked] if labels is None else act(labels, g, y[:looked])
        there = torch.cat([act(features, g, x[:looked]), moved_y], 1)
        nearest = torch.cat([_nearest(chunk, here) for chunk in there.split(256)]) / scale
        worst = max(worst, float(nearest.max()))
        missing += int((nearest > tolerance).sum())
        total += looked
    moments = _moment_invariance_error(x, y, features, labels)
    seen = "" if looked == len(x) else f" (the first {looked} of {len(x)} were moved)"
    average = f"second moments are not invariant, by {100 * moments:.2g} %"
    if missing:
        words = f"fails: {missing} of {total} moved points are not in the data{seen} ({average})."
        return False, worst, words
    if moments > tolerance**0.5:
        return (
            False,
            moments,
            f"fails: orbits are complete, but some points are there more often ({average}).",
        )
    return True, worst, f"holds: every moved point is in the data with its label{seen}."


def _nearest(points: Tensor, here: Tensor) -> Tensor:
    return torch.cdist(points, here, compute_mode="donot_use_mm_for_euclid_dist").amin(1)


def _moment_invariance_error(
    x: Tensor, y: Tensor, features: LinearSymmetry, labels: LinearSymmetry | None
) -> float:
    """The larger relative distance of `X^T X` and `X^T Y` from their group averages."""
    errors = []
    for moment, right in ((x.mT @ x, features), (x.mT @ y, labels)):
        away = torch.linalg.matrix_norm(moment - averager(features, right)(moment))
        errors.append(float(away / torch.linalg.matrix_norm(moment).clamp(min=1e-300)))
    return max(errors)


def _generators(symmetry: LinearSymmetry) -> list:
    if isinstance(symmetry, Tensor):
        eye = torch.eye(symmetry.shape[1]).to(symmetry)
        return [g for g, matrix in enumerate(symmetry) if not torch.equal(matrix, eye)]
    return list(symmetry.group.generators)


def _small_steps(x: Tensor, learning_rate: float | None) -> RegressionAssumption:
    name = "gradient flow"
    if learning_rate is None:
        return RegressionAssumption(2, name, None, None, "not checked: no learning rate was given.")
    largest = torch.linalg.matrix_norm(x, 2).square()[None]
    time = flow_time(largest, learning_rate, 1)
    holds = time.rate_error <= _FLOW
    return RegressionAssumption(
        2, name, holds, time.rate_error, f"{'holds' if holds else 'fails'}: {time.verdict}"
    )


def _transposes(features: LinearSymmetry) -> RegressionAssumption:
    name = "closed under transposition"
    if is_orthogonal(features) and isinstance(features, Representation):
        return RegressionAssumption(
            3, name, True, 0.0, "holds: the group is orthogonal, g^T is the inverse of g."
        )
    if isinstance(features, Representation):
        if not isinstance(features.group, FiniteGroup):
            words = f"not checked: the elements of {features.group.name} are not listed."
            return RegressionAssumption(3, name, None, None, words)
        matrices = features.matrices
    else:
        matrices = features.to(torch.float64)
    flat = matrices.reshape(len(matrices), -1)
    distance = _nearest(matrices.mT.reshape(len(matrices), -1), flat)
    worst = float(distance.max())
    outside = int((distance > SAME_MATRIX * max(1.0, float(flat.abs().max()))).sum())
    if outside == 0:
        return RegressionAssumption(
            3, name, True, worst, "holds: the transpose of every element is in the group."
        )
    words = (
        f"fails: the transposes of {outside} of {len(matrices)} elements are not among them (nearest at "
        f"distance {worst:.2g}): the symmetric and the asymmetric part drive each other, see coupling."
    )
    return RegressionAssumption(3, name, False, worst, words)


def _orthogonality(features: LinearSymmetry, labels: LinearSymmetry) -> RegressionAssumption:
    worst = max(_orthogonality_error(symmetry) for symmetry in (features, labels))
    holds = worst <= ORTHOGONAL
    words = (
        "holds: every element preserves lengths."
        if holds
        else f"fails: some element stretches (g g^T differs from the identity by {worst:.2g})."
    )
    return RegressionAssumption(5, "orthogonal group", holds, worst, words)


def _orthogonality_error(symmetry: LinearSymmetry) -> float:
    if isinstance(symmetry, Representation):
        permutes = symmetry.permutation is not None or isinstance(symmetry.group, PermutationGroup)
        return 0.0 if permutes and symmetry.unitary else unitarity_error(symmetry)
    eye = torch.eye(dimension(symmetry), dtype=symmetry.dtype, device=symmetry.device)
    return float((symmetry @ symmetry.mT - eye).abs().max())
